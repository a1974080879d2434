"""What each check makes of what it finds: group members, clocks, listeners, rights; and the rights that docs/security.md asks for."""

from __future__ import annotations

import re
import shlex
from itertools import pairwise
from typing import Any

import pytest
from kafka.errors import TopicAuthorizationFailedError, UnknownTopicOrPartitionError
from places import ROOT

from clientscope.commands.doctor import bypassing, clocks, topics
from clientscope.commands.doctor.listeners import AdvertisedListener, advertised, judge
from clientscope.commands.doctor.probing import Probed
from clientscope.commands.doctor.result import Outcome
from clientscope.kafka.groups import DescribedGroup, DescribedMember
from clientscope.records.topics import BY_NAME, CONFIGS, CONNECTIONS, JOB, STATUS, TELEMETRY, USED_BY, used_by
from sinks.dashboard.state import reader
from streaming import job


def group(name: str, *clients: str) -> DescribedGroup:
    return DescribedGroup(name, "classic", "Stable", "range", tuple(DescribedMember(client, "10.0.0.1", "") for client in clients))


def test_group_members() -> None:
    undescribed = DescribedGroup("g", "classic", "", "", None)
    assert bypassing.judge([undescribed, group("own", "clientscope-deliver")], set(), complete=True).outcome is Outcome.NOT_CHECKED
    assert bypassing.judge([group("g", "a", "b")], {"a", "b"}, complete=True).outcome is Outcome.OK
    found = bypassing.judge([group("g", "a", "b"), group("h", *(f"c{number}" for number in range(9)))], {"a"}, complete=True)
    assert found.outcome is Outcome.WARNING
    assert found.text.startswith("10 group members were recorded by no gateway: 'b' of group 'g', ") and ", and 5 more; " in found.text
    assert bypassing.judge([group("g", "b")], {"a"}, complete=False).outcome is Outcome.NOT_CHECKED


def test_names_of_groups_are_bounded_and_secrets_hidden() -> None:
    found = bypassing.judge([group("x" * 5_000, "sasl.password=hunter2-Xy\x1b[31m")], set(), complete=True)
    assert "hunter2" not in found.text and "\x1b" not in found.text and len(found.text) < 500


@pytest.mark.parametrize(
    ("ahead_ms", "outcome", "words"),
    [
        (80, Outcome.OK, "0.1 s ahead of"),
        (-400, Outcome.OK, "0.4 s behind"),
        (2_500, Outcome.WARNING, "2.5 s ahead of"),
        (-60_000, Outcome.PROBLEM, "60.0 s behind"),
    ],
)
def test_a_record_that_arrives(ahead_ms: int, outcome: Outcome, words: str) -> None:
    found = clocks.judge(ahead_ms)
    assert found.outcome is outcome and words in found.text
    assert bool(found.command) == (outcome is not Outcome.OK)


def test_the_newest_record_is_a_bound() -> None:
    assert clocks.bounded(-5_000).outcome is Outcome.PROBLEM and "at least 5.0 s behind" in clocks.bounded(-5_000).text
    for age in (None, 3_600_000, -500):
        assert clocks.bounded(age).outcome is Outcome.NOT_CHECKED


GATEWAY, BROKER, NOBODY, SILENT = Probed(keys=frozenset({18, 1324})), Probed(keys=frozenset({18})), Probed("no connection"), Probed()


def test_advertised() -> None:
    found = advertised(
        3,
        {
            "advertised.listeners": "CLIENT://gw-3:9092, INTERNAL://[fd00::3]:19092,ODD://nowhere,BAD",
            "listener.security.protocol.map": "CLIENT:SASL_SSL,INTERNAL:PLAINTEXT",
            "inter.broker.listener.name": "INTERNAL",
        },
    )
    assert found == [
        AdvertisedListener(3, "CLIENT", "gw-3", 9092, "SASL_SSL", False),
        AdvertisedListener(3, "INTERNAL", "fd00::3", 19092, "PLAINTEXT", True),
    ]
    assert advertised(1, {"listeners": "SSL://b:1", "advertised.listeners": None})[0].protocol == "SSL"
    assert advertised(1, {}) == []


@pytest.mark.parametrize(
    ("name", "inside", "own", "probed", "outcome", "words"),
    [
        ("CLIENT", False, False, GATEWAY, Outcome.OK, "a gateway answers"),
        ("CLIENT", False, False, BROKER, Outcome.PROBLEM, "the broker itself answers, not a gateway"),
        ("CLIENT", False, False, NOBODY, Outcome.PROBLEM, "no connection"),
        ("CLIENT", False, False, SILENT, Outcome.NOT_CHECKED, "no answer to ApiVersions"),
        ("INTERNAL", True, True, BROKER, Outcome.OK, "the broker itself, for clientscope"),
        ("INTERNAL", True, True, GATEWAY, Outcome.WARNING, "on a listener for brokers"),
        ("REPLICATION", True, False, NOBODY, Outcome.WARNING, "no connection"),
        ("OTHER", False, False, BROKER, Outcome.WARNING, "its clients bypass the gateways"),
    ],
)
def test_listeners(name: str, inside: bool, own: bool, probed: Probed, outcome: Outcome, words: str) -> None:
    found = judge(AdvertisedListener(1, name, "h", 9092, "PLAINTEXT", inside), probed, "CLIENT", own=own)
    assert found.outcome is outcome and words in found.text
    assert found.text.startswith(f"{name} of broker 1 advertises h:9092: ")
    assert bool(found.remedy) == (outcome is not Outcome.OK)


def test_a_hostile_host_is_in_no_command() -> None:
    found = judge(AdvertisedListener(1, "CLIENT", "h;rm -rf $HOME", 9092, "PLAINTEXT", False), NOBODY, "CLIENT", own=False)
    assert found.command == "clientscope gateway --listen HOST:9092"


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
    (without,) = topics.judge(here, "User:g", "gateway")
    assert without.outcome is Outcome.OK
    (found,) = topics.judge(here, "User:g", "gateway", client_telemetry={"gateway"})
    assert found.text == f"User:g lacks rights of gateway: Write on {TELEMETRY}; DescribeConfigs on {TELEMETRY}"
    (reads,) = topics.judge(here, "User:s", "stream", client_telemetry={"stream"})
    assert reads.text == f"User:s lacks rights of stream: Read on {TELEMETRY}; DescribeConfigs on {TELEMETRY}"


def test_it_is_what_the_job_and_the_page_read_and_write() -> None:
    read = {topic for query in job.QUERIES.values() for topic in query.reads} | {*job.RECORDED, JOB}
    written = {topic for query in job.QUERIES.values() for topic in query.writes} | {STATUS, JOB}
    assert tuple(map(set, used_by("stream", client_telemetry=True))) == (read, written)
    assert set(USED_BY["serve"].reads) == set(reader.TOPICS)


def test_rights_of_another_process_may_be_missing() -> None:
    found = list(topics.judge(described(results={"DESCRIBE"}), "User:me", ""))
    assert [(each.outcome, re.findall(r"of (\w+):", each.text)) for each in found] == [
        (Outcome.OK, []),
        (Outcome.WARNING, ["stream"]),
        (Outcome.WARNING, ["serve"]),
    ]


def test_denied_missing_and_unknown_rights_and_what_to_paste() -> None:
    here = described()
    here[CONFIGS] = {"error_code": TopicAuthorizationFailedError.errno, "authorized_operations": None}
    here[CONNECTIONS] = {"error_code": UnknownTopicOrPartitionError.errno, "authorized_operations": None}
    (found,) = topics.judge(here, "User:a b", "gateway")
    assert (found.outcome, found.text) == (Outcome.PROBLEM, f"User:a b lacks rights of gateway: Write on {CONFIGS}")
    assert found.command == f"kafka-acls.sh --add --allow-principal 'User:a b' --operation Write --topic {CONFIGS}"
    silent = {name: {"error_code": 0, "authorized_operations": None} for name in BY_NAME}
    assert [each.outcome for each in topics.judge(silent, "User:me", "")] == [Outcome.NOT_CHECKED]
