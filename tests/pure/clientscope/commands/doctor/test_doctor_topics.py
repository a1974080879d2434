"""Rights by topics, and the rights that docs/security.md asks for."""

from __future__ import annotations

import re
import shlex
from itertools import pairwise
from typing import Any

from kafka.errors import TopicAuthorizationFailedError, UnknownTopicOrPartitionError
from places import ROOT

from clientscope.commands.doctor.result import Outcome
from clientscope.commands.doctor.topics import judge
from clientscope.records.topics import BY_NAME, CONFIGS, CONNECTIONS, JOB, STATUS, TELEMETRY, USED_BY, used_by
from sinks.dashboard.state import reader
from streaming import job


def described(**allowed: set[str]) -> dict[str, Any]:
    """All topics; those that aren't given have all rights."""
    every = {"DESCRIBE", "READ", "WRITE", "DESCRIBE_CONFIGS"}
    given = {f"clientscope.{name}": operations for name, operations in allowed.items()}
    return {name: {"error_code": 0, "authorized_operations": given.get(name, every)} for name in BY_NAME}


def test_needed_is_what_the_documentation_says() -> None:
    documented: dict[str, tuple[set[str], set[str]]] = {}
    for line in (ROOT / "docs" / "security.md").read_text().splitlines():
        if line.startswith("kafka-acls.sh"):
            words = shlex.split(line, comments=True)
            named = [word for flag, word in pairwise(words) if flag == "--topic"]
            who = words[words.index("--allow-principal") + 1].removeprefix("User:")
            reads, writes = documented.setdefault(who, (set(), set()))
            reads.update(named if "Read" in words else ())
            writes.update(named if "Write" in words else ())
    needed = {name: used_by(name, client_telemetry=True) for name in USED_BY}
    assert {name: (set(of.reads), set(of.writes)) for name, of in needed.items()} == {name: documented[name] for name in USED_BY}


def test_a_gateway_writes_clients_metrics_where_it_records_them() -> None:
    here = described(telemetry={"DESCRIBE"})
    (without,) = judge(here, "User:g", "gateway")
    assert without.outcome is Outcome.OK
    (found,) = judge(here, "User:g", "gateway", client_telemetry={"gateway"})
    assert found.text == f"User:g lacks rights of gateway: Write on {TELEMETRY}; DescribeConfigs on {TELEMETRY}"
    (reads,) = judge(here, "User:s", "stream", client_telemetry={"stream"})
    assert reads.text == f"User:s lacks rights of stream: Read on {TELEMETRY}; DescribeConfigs on {TELEMETRY}"


def test_it_is_what_the_job_and_the_page_read_and_write() -> None:
    read = {topic for query in job.QUERIES.values() for topic in query.reads} | {*job.RECORDED, JOB}
    written = {topic for query in job.QUERIES.values() for topic in query.writes} | {STATUS, JOB}
    assert tuple(map(set, used_by("stream", client_telemetry=True))) == (read, written)
    assert set(USED_BY["serve"].reads) == set(reader.TOPICS)


def test_all_rights_in_one_line() -> None:
    (found,) = judge(described(), "User:me", "")
    assert (found.outcome, found.text) == (Outcome.OK, "User:me has the rights of gateway, stream, serve, deliver, findings")


def test_rights_of_another_process_may_be_missing() -> None:
    found = list(judge(described(results={"DESCRIBE"}), "User:me", ""))
    assert [(each.outcome, re.findall(r"of (\w+):", each.text)) for each in found] == [
        (Outcome.OK, []),
        (Outcome.WARNING, ["stream"]),
        (Outcome.WARNING, ["serve"]),
    ]


def test_the_chosen_process_and_what_to_paste() -> None:
    (found,) = judge(described(status={"DESCRIBE", "READ", "DESCRIBE_CONFIGS"}), "User:a b", "gateway")
    assert found.outcome is Outcome.PROBLEM
    assert found.text == f"User:a b lacks rights of gateway: Write on {STATUS}"
    assert found.command == f"kafka-acls.sh --add --allow-principal 'User:a b' --operation Write --topic {STATUS}"


def test_denied_missing_and_unknown() -> None:
    topics = described()
    topics[CONFIGS] = {"error_code": TopicAuthorizationFailedError.errno, "authorized_operations": None}
    topics[CONNECTIONS] = {"error_code": UnknownTopicOrPartitionError.errno, "authorized_operations": None}
    (found,) = judge(topics, "User:me", "gateway")
    assert found.text == f"User:me lacks rights of gateway: Write on {CONFIGS}"
    silent = {name: {"error_code": 0, "authorized_operations": None} for name in BY_NAME}
    assert [each.outcome for each in judge(silent, "User:me", "")] == [Outcome.NOT_CHECKED]
