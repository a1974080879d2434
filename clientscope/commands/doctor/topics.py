"""Checks of clientscope's topics: they exist, with the settings that readers need, and each process has its rights."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from shlex import quote
from typing import Any

from kafka.errors import KafkaError, TopicAuthorizationFailedError, UnknownTopicOrPartitionError

from clientscope.commands.doctor.result import CheckResult, not_checked, ok, problem, warning
from clientscope.commands.doctor.situation import Situation
from clientscope.kafka.admin import configs
from clientscope.records.topics import BY_NAME, USED_BY, used_by
from clientscope.topics import other_settings

_CODES = {"Read": "READ", "Write": "WRITE", "DescribeConfigs": "DESCRIBE_CONFIGS"}


def check_topics(situation: Situation) -> Iterator[CheckResult]:
    """Whether all topics are as ``clientscope topics`` creates them."""
    if situation.admin is None:
        yield not_checked("no broker answers")
        return
    codes = {each["name"]: each["error_code"] for each in situation.admin.describe_topics(list(BY_NAME))}
    missing = sorted(name for name in BY_NAME if codes.get(name) == UnknownTopicOrPartitionError.errno)
    denied = sorted(name for name in BY_NAME if codes.get(name) == TopicAuthorizationFailedError.errno)
    there = [name for name in BY_NAME if name not in {*missing, *denied}]
    if missing:
        yield problem(f"missing: {', '.join(missing)}", "create them", f"clientscope topics --bootstrap-servers {_servers(situation)}")
    if denied:
        yield not_checked(f"no right to describe {', '.join(denied)}", "rights, below, has what each process needs")
    wrong, unseen = 0, 0
    for name in there:
        try:
            described = configs(situation.admin, "topic", [name])[name]
        except KafkaError:  # no right to DescribeConfigs, which rights shows
            unseen += 1
            continue
        for key, (found, wanted) in other_settings(BY_NAME[name], described).items():
            wrong += 1
            yield problem(
                f"{name} has {key}={str(found)[:40]}, not {wanted}",
                "set it; max.message.bytes and message.timestamp.type count for what is written from then on",
                f"kafka-configs.sh --bootstrap-server {_servers(situation)} --alter --topic {name} --add-config {key}={wanted}",
            )
    if unseen:
        yield not_checked(f"{unseen} topics don't show their settings: no right to DescribeConfigs")
    if there and not wrong and len(there) > unseen:
        yield ok(f"{len(there) - unseen} topics have the retention, compaction and other settings that they need")


def check_rights(situation: Situation) -> Iterator[CheckResult]:
    """What this principal may do, compared with what each process needs (KIP-430)."""
    if situation.admin is None or situation.access is None:
        yield not_checked("no broker answers")
        return
    described = {each["name"]: each for each in situation.admin.describe_topics(list(BY_NAME))}
    settings = {"gateway": situation.gateway, "stream": situation.stream}
    client_telemetry = {name for name, of in settings.items() if of is not None and of.client_telemetry}
    yield from judge(described, situation.access.principal, situation.process, client_telemetry)


def judge(
    described: Mapping[str, Mapping[str, Any]], principal: str, process: str, client_telemetry: Collection[str] = ()
) -> Iterator[CheckResult]:
    """Rights by topics as DescribeTopics has them. If no process is chosen, one that may run is enough: others may have other principals.

    Args:
        described: by topic, with ``error_code`` and ``authorized_operations``.
        client_telemetry: processes that have ``--client-telemetry``.
    """
    lacking = {name: _lacking(described, *used_by(name, name in client_telemetry)) for name in USED_BY if process in ("", name)}
    runs = any(not each for each in lacking.values())
    if not any("DESCRIBE" in (each.get("authorized_operations") or ()) or each["error_code"] for each in described.values()):
        yield not_checked("the brokers don't show rights; each process checks its own when it starts")
        return
    if complete := [name for name, lacks in lacking.items() if not lacks]:
        yield ok(f"{principal} has the rights of {', '.join(complete)}")
    for name, lacks in lacking.items():
        if not lacks:
            continue
        listed = "; ".join(f"{operation} on {', '.join(topics)}" for operation, topics in lacks.items())
        text = f"{principal} lacks rights of {name}: {listed}"
        operation, topics = next(iter(lacks.items()))
        command = " ".join(f"--topic {topic}" for topic in topics)
        granted = (
            f"kafka-acls.sh --add --allow-principal {quote(principal)} --operation {operation} {command}"
            if principal.startswith("User:")
            else ""
        )
        if runs and not process:
            yield warning(text, f"if {name} has another principal, run this with its settings and --process {name}")
        else:
            yield problem(text, "grant them; docs/security.md has all rights", granted)


def _lacking(described: Mapping[str, Mapping[str, Any]], reads: Collection[str], writes: Collection[str]) -> dict[str, list[str]]:
    """Topics by the operation that is missing; topics that don't exist are left out."""
    lacks: dict[str, list[str]] = {}
    for operation, names in (("Read", reads), ("Write", writes), ("DescribeConfigs", {*reads, *writes})):
        for name in sorted(names):
            topic = described.get(name)
            if topic is None or topic["error_code"] == UnknownTopicOrPartitionError.errno:
                continue
            allowed = topic.get("authorized_operations") or ()
            # Kafka hides such a topic from whoever has neither Read nor Write on it, so DescribeConfigs is unknown.
            denied = topic["error_code"] == TopicAuthorizationFailedError.errno and operation != "DescribeConfigs"
            if denied or ("DESCRIBE" in allowed and _CODES[operation] not in allowed):
                lacks.setdefault(operation, []).append(name)
    return lacks


def _servers(situation: Situation) -> str:
    return quote(situation.kafka.bootstrap_servers.replace(" ", ""))
