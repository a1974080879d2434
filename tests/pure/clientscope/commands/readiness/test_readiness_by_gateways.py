"""`clientscope readiness` without a log: what gateways recorded, from Kafka or by the verdicts of serve, through the command."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from command_runs import Listed, Run
from record_bytes import connection_record, heartbeat

from clientscope.clock import now_ms, utc
from clientscope.commands.readiness import sources
from clientscope.commands.readiness.sources import GatewayRecords
from clientscope.model.codec import encode_whole
from clientscope.model.enums import Kind
from clientscope.model.status import BrokerStatus

NOW = now_ms()


HOUR = 3600 * 1000


OLD = ((3, 0), (0, 2), (1, 3))


NEW = ((18, 3), (3, 9), (0, 9), (1, 12))


LIBRDKAFKA = {"software_name": "librdkafka", "software_version": "1.0.0"}


PYTHON = {"software_name": "kafka-python", "software_version": "3.0.12"}


def used(*versions: tuple[int, int], kind: Kind = Kind.PRESENT, **fields: Any) -> bytes:
    """A record of a connection that requested these versions."""
    requested = tuple(versions)
    named = {"client_id": "orders-1", "principal": "User:alice", "address": "10.0.0.1"}
    return connection_record(1, kind=kind, **{**named, **fields}, requested_versions=requested)


def broker(version: str, number: int = 1) -> bytes:
    status = BrokerStatus(
        id=f"c/{number}", cluster="c", broker=number, software_version=version, source="inferred", apis={}, told_ms=1, interval_ms=1000
    )
    return encode_whole(status)


MIXED = (
    (NOW - 3 * HOUR, used(*OLD)),
    (NOW - 2 * HOUR, used(*OLD, client_id="orders-2", kind=Kind.CLOSED)),
    (NOW - HOUR, used(*NEW, client_id="orders-3", **PYTHON)),
    (NOW - HOUR, used(*NEW, client_id="billing-1", principal="User:bob", **PYTHON)),
    (NOW - HOUR, used((18, 0), (0, 2), client_id="legacy-1", principal="User:bob", **LIBRDKAFKA)),
    (NOW, heartbeat(9)),
)
"""Of 4.0.0: two that break and one that is fine of one application, one that is fine, and one that chose an old version."""


class Topics:
    """Records that are read in place of a broker's."""

    def __init__(self) -> None:
        self.found = GatewayRecords()

    def write(self, records: Iterable[tuple[int, bytes | None]], *status: bytes) -> None:
        self.found.add_connections(records)
        self.found.add_status(status)


@pytest.fixture
def topics(monkeypatch: pytest.MonkeyPatch) -> Topics:
    """The reading from Kafka itself is in tests/real."""
    written = Topics()
    monkeypatch.setattr(sources, "read_records", lambda kafka: written.found)
    return written


def test_clients_are_judged_by_what_gateways_recorded(topics: Topics, listed: Listed) -> None:
    topics.write(MIXED, broker("3.9–4.0"), broker("4.0", 2))
    found = {row["application"]: row for row in listed()}
    assert {name: (row["readiness"], row["breaks"], row["fine"]) for name, row in found.items()} == {
        "orders": ("breaks", 2, 1), "legacy": ("breaks", 1, 0), "billing": ("fine", 0, 1),
    }  # fmt: skip
    orders = found["orders"]
    assert (orders["principal"], orders["last_old"], orders["last_seen"]) == ("User:alice", utc(NOW - 2 * HOUR), utc(NOW - HOUR))
    assert "never seen to send ApiVersions" in orders["reason"]
    assert "the broker (3.9.0) serves up to" in found["legacy"]["reason"], "of several brokers the oldest counts"


def test_without_the_brokers_release_what_a_client_passed_over_is_unknown(topics: Topics, run: Run, listed: Listed) -> None:
    topics.write(MIXED[-2:])
    assert [row["readiness"] for row in listed()] == ["unknown"]
    assert "--broker-release" in run()[2]
    topics.write((), broker("3.9"), broker("", 2))
    assert [row["readiness"] for row in listed()] == ["unknown"], "one broker's release isn't known"
    assert [row["readiness"] for row in listed("--broker-release", "3.9")] == ["breaks"]
    assert "--broker-release" not in run("--broker-release", "3.9")[2]


def test_without_a_record_there_is_nothing_to_judge(topics: Topics, run: Run) -> None:
    topics.write([(NOW, heartbeat(1))])
    status, out, err = run()
    assert (status, out) == (2, "")
    assert "no client in the 1 records of clientscope.connections" in err


def test_an_upgraded_client_is_judged_by_what_it_used_since(topics: Topics, run: Run, listed: Listed) -> None:
    topics.write([(NOW - 3 * HOUR, used(*OLD)), (NOW - 2 * HOUR, used(*OLD, client_id="orders-2")), (NOW - HOUR, used(*NEW, **PYTHON))])
    since = utc(NOW - HOUR - 60_000)
    (row,) = listed("--since", since)
    assert (row["readiness"], row["clients"], row["last_old"]) == ("fine", 1, utc(NOW - 2 * HOUR))
    assert listed("--since", since.replace("Z", "")) == [row], "a time without a zone is UTC"
    assert "which are not judged: 2." in run("--since", since)[2]
    status, out, err = run("--since", utc(NOW + HOUR))
    assert (status, out) == (2, "") and f"the latest is of {utc(NOW - HOUR)}" in err
    assert run("--since", "yesterday")[0] == 2


def test_names_are_redacted_and_escaped(topics: Topics, run: Run) -> None:
    topics.write(
        [
            (NOW, used(*OLD, client_id="AKIAIOSFODNN7EXAMPLE")),
            (NOW, used(*OLD, client_id="=1+1\x1b<script>alert(1)</script>", principal="User:<b>")),
        ]
    )
    page = Path("page.html")
    for output in ("table", "csv", "json"):
        out = run("-o", output, "--html", "page.html")[1]
        assert "AKIA" not in out and "\x1b" not in out
    assert "<script" not in page.read_text() and "&lt;script&gt;" in page.read_text()
    assert "gateways&#39; records of connections · times are UTC" in page.read_text()
    assert re.search(r"<b>2</b> <span[^>]*>records read", page.read_text())


def test_what_could_not_be_judged_is_unknown_and_printed(topics: Topics, run: Run) -> None:
    topics.write(MIXED[3:4])
    assert [run("--fail-on", each)[0] for each in ("breaks", "unknown")] == [0, 0]
    passed = {"client_id": None, "principal": None, "security_protocol": "SSL"}
    topics.write((NOW, used(**passed, address=f"10.0.0.{number % 2}")) for number in range(5))
    topics.write([(NOW, b"\0\0nothing")])
    status, _, err = run("--fail-on", "unknown")
    assert status == 1, "a record that can't be decoded"
    assert "or that sent nothing: 2." in err
    topics.found.clients = sources.SeenClients(limit=10)
    topics.write((NOW + number, used(*NEW, client_id=f"o{number}", address=f"10.0.0.{number}", principal=None)) for number in range(30))
    status, out, err = run("-o", "json")
    assert json.loads(out)[0]["clients"] <= 10
    assert f"Clients beyond {sources.MOST_CLIENTS:,}, which were forgotten" in err
