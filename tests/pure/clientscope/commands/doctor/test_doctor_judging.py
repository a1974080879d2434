"""What each check makes of what it finds: group members, clocks, listeners, rights; and the rights that docs/security.md asks for."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from golden import is_golden
from kafka.errors import TopicAuthorizationFailedError, UnknownTopicOrPartitionError
from places import ROOT

from clientscope.commands.doctor import cluster
from clientscope.commands.doctor.listeners import AdvertisedListener, Probed, advertised, judge
from clientscope.commands.doctor.result import CheckResult
from clientscope.records.topics import BY_NAME, CONFIGS, CONNECTIONS, JOB, STATUS, USED_BY, used_by
from sinks.dashboard.state import reader
from streaming import job

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


LISTENERS = [
    ("CLIENT", False, False, GATEWAY), ("CLIENT", False, False, BROKER), ("CLIENT", False, False, NOBODY), ("CLIENT", False, False, SILENT),
    ("INTERNAL", True, True, BROKER), ("INTERNAL", True, True, GATEWAY), ("REPLICATION", True, False, NOBODY),
    ("OTHER", False, False, BROKER),
]  # fmt: skip
"""Name, whether it is for brokers, whether clientscope itself uses it, and what answers."""


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


def test_it_is_what_the_job_and_the_page_read_and_write() -> None:
    read = {topic for query in job.QUERIES.values() for topic in query.reads} | {*job.RECORDED, JOB}
    written = {topic for query in job.QUERIES.values() for topic in query.writes} | {STATUS, JOB}
    assert tuple(map(set, used_by("stream", client_telemetry=True))) == (read, written)
    assert set(USED_BY["serve"].reads) == set(reader.TOPICS)


def rights() -> Iterator[CheckResult]:
    telemetry = described(telemetry={"DESCRIBE"})
    yield from cluster.judge_rights(telemetry, "User:g", "gateway")
    yield from cluster.judge_rights(telemetry, "User:g", "gateway", client_telemetry={"gateway"})
    yield from cluster.judge_rights(telemetry, "User:s", "stream", client_telemetry={"stream"})
    yield from cluster.judge_rights(described(results={"DESCRIBE"}), "User:me", "")  # of another process they may be missing
    denied = {name: {"error_code": error.errno, "authorized_operations": None} for name, error in DENIED.items()}
    yield from cluster.judge_rights(described() | denied, "User:a b", "gateway")
    yield from cluster.judge_rights({name: {"error_code": 0, "authorized_operations": None} for name in BY_NAME}, "User:me", "")


DENIED = {CONFIGS: TopicAuthorizationFailedError, CONNECTIONS: UnknownTopicOrPartitionError}


def judged() -> dict[str, list[CheckResult]]:
    return {
        "a record that arrives": [cluster.judge_clock(ahead_ms) for ahead_ms in (80, -400, 2_500, -60_000)],
        "the newest record is a bound": [cluster.bounded(age) for age in (-5_000, None, 3_600_000, -500)],
        "listeners": [
            judge(AdvertisedListener(1, name, "h", 9092, "PLAINTEXT", inside), probed, "CLIENT", own=own)
            for name, inside, own, probed in LISTENERS
        ],
        "rights": [*rights()],
    }


def test_what_is_made_of_what_is_found() -> None:
    text = ""
    for name, results in judged().items():
        text += f"{name}\n"
        for each in results:
            text += f"  {each.outcome.value}: {each.text}\n" + "".join(f"    {more}\n" for more in (each.remedy, each.command) if more)
    assert is_golden(text, __file__, "judged.txt")
