"""Checks of the cluster: brokers, topics and rights, clocks."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import closing
from shlex import quote
from typing import Any

from kafka.errors import KafkaError, TopicAuthorizationFailedError, UnknownTopicOrPartitionError

from clientscope.cluster.api_versions import AnswerState, ask
from clientscope.cluster.software import find_all
from clientscope.commands.doctor.result import CLIENT_ID, CheckResult, Situation, not_checked, ok, problem, warning
from clientscope.errors import EnvironmentProblem
from clientscope.kafka.admin import configs, connected
from clientscope.kafka.reader import OffsetRange, TopicReader
from clientscope.model.topics import BY_NAME, CONNECTIONS, STATUS, USED_BY, used_by
from clientscope.topics import lacking, other_settings


def check_brokers(situation: Situation) -> Iterator[CheckResult]:
    """Each broker of the cluster, at the address that the bootstrap servers' listener advertises."""
    if situation.access is None:
        yield not_checked("the settings of Kafka, or one of their files, can't be used: see files")
        return
    try:
        timeout_ms = int(situation.timeout_s * 1000)
        situation.admin = connected(situation.access, CLIENT_ID, timeout_ms)
        arguments = {**situation.access.client_arguments(), "client_id": CLIENT_ID, "request_timeout_ms": timeout_ms}
        cluster = ask(arguments, with_software=True)
    except EnvironmentProblem as error:
        yield problem(str(error), error.hint or "")
        return
    situation.brokers = find_all(cluster.answers, {}, {})
    for broker in situation.brokers:
        name = f"broker {broker.broker} at {broker.host}:{broker.port}"
        if broker.state == AnswerState.ANSWERED:
            software = " ".join(filter(None, (broker.software_name, broker.software_version))) or "unknown software"
            how = f", {broker.source}" if broker.source else ""
            yield ok(f"{name}: {software}{how}")
        elif broker.fenced:
            yield warning(f"{name}: fenced, so it is registered and not running", "start it, or unregister it")
        else:
            reason = next(each.reason for each in cluster.answers if each.broker.id == broker.broker)
            yield problem(f"{name}: {broker.state} ({reason[:200]})", "start the broker, or correct what its listener advertises")


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
    yield from judge_rights(described, situation.access.principal, situation.process, client_telemetry)


def judge_rights(
    described: Mapping[str, Mapping[str, Any]], principal: str, process: str, client_telemetry: Collection[str] = ()
) -> Iterator[CheckResult]:
    """Rights by topics as DescribeTopics has them. If no process is chosen, one that may run is enough: others may have other principals.

    Args:
        described: by topic, with ``error_code`` and ``authorized_operations``.
        client_telemetry: processes that have ``--client-telemetry``.
    """
    by_process = {name: _lacking(described, *used_by(name, name in client_telemetry)) for name in USED_BY if process in ("", name)}
    runs = any(not each for each in by_process.values())
    if not any("DESCRIBE" in (each.get("authorized_operations") or ()) or each["error_code"] for each in described.values()):
        yield not_checked("the brokers don't show rights; each process checks its own when it starts")
        return
    if complete := [name for name, lacks in by_process.items() if not lacks]:
        yield ok(f"{principal} has the rights of {', '.join(complete)}")
    for name, lacks in by_process.items():
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
            there = described[name]["error_code"] != UnknownTopicOrPartitionError.errno
            if there and operation in lacking(described[name], {operation}):
                lacks.setdefault(operation, []).append(name)
    return lacks


def _servers(situation: Situation) -> str:
    return quote(situation.kafka.bootstrap_servers.replace(" ", ""))


_WAIT_S = 8.0
"""Gateways and the job write every five seconds by default."""

_WARN_MS, _WRONG_MS = 1_000, 10_000


def check_clocks(situation: Situation) -> Iterator[CheckResult]:
    """The difference between this machine's clock and the brokers', if a gateway or the job runs; else what the newest record says.

    Brokers stamp records of clientscope's topics with their own time (LogAppendTime). The next record that arrives was stamped a moment
    ago; nothing is written to find that out. If none arrives, the newest one is a bound: a broker's time can't be before it.
    """
    if situation.admin is None or situation.access is None:
        yield not_checked("no broker answers")
        return
    try:
        with closing(TopicReader(situation.access, CLIENT_ID, silence_s=_WAIT_S)) as reader:
            ranges = reader.ranges(STATUS, CONNECTIONS)
            if not ranges:
                yield not_checked(f"{STATUS} and {CONNECTIONS} are missing")
                return
            reader.seek({partition: OffsetRange(max(first, end - 1), end) for partition, (first, end) in ranges.items()})
            ends = {partition: end for partition, (_, end) in ranges.items()}
            yield _compare(reader, ends)
    except (KafkaError, TimeoutError) as error:
        yield not_checked(f"{STATUS} can't be read ({type(error).__name__}): see rights")


def _compare(reader: TopicReader, ends: dict[object, int]) -> CheckResult:
    deadline, newest = time.monotonic() + _WAIT_S, 0
    while (left := deadline - time.monotonic()) > 0:
        for partition, records in reader.poll(min(left, 0.5)).items():
            for record in records:
                if record.offset >= ends[partition]:
                    return judge_clock(int(time.time() * 1000) - record.timestamp)
                newest = max(newest, record.timestamp)
    return bounded(int(time.time() * 1000) - newest if newest else None)


def judge_clock(ahead_ms: int) -> CheckResult:
    """A clock that is ahead of the broker's by so many ms (negative: behind), a record's way to here included."""
    where = "ahead of" if ahead_ms >= 0 else "behind"
    text = f"this machine's clock is {abs(ahead_ms) / 1000:.1f} s {where} the brokers', a record's way to here included"
    remedy = "synchronise both by NTP: ages and times of clients are wrong by as much"
    if abs(ahead_ms) >= _WRONG_MS:
        return problem(text, remedy, "timedatectl status")
    if abs(ahead_ms) >= _WARN_MS:
        return warning(text, remedy, "timedatectl status")
    return ok(text)


def bounded(age_ms: int | None) -> CheckResult:
    """By the newest record's age on this machine's clock, which can't be negative; None if there is no record."""
    if age_ms is not None and age_ms < -_WARN_MS:
        return problem(
            f"this machine's clock is at least {-age_ms / 1000:.1f} s behind the brokers': the newest record is from its future",
            "synchronise both by NTP", "timedatectl status",
        )  # fmt: skip
    since = (
        "there is no record"
        if age_ms is None
        else f"the newest is from {age_ms / 1000:,.0f} s ago by this clock, which may be ahead by as much"
    )
    return not_checked(f"no record arrived within {_WAIT_S:.0f} s; {since}", "start a gateway, then check again")
