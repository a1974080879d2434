"""Limits of the job: each is counted when it is reached, on /metrics and, where something is lost, as a finding."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import ModuleType

import pytest
from fleets import MINUTE, NOW, SECOND, Fleet, connected, left_out
from gauge_rows import beat
from record_bytes import connection_record

from clientscope import presence
from clientscope.findings.conditions import Condition
from clientscope.profiles import Thresholds
from clientscope.records.enums import Kind
from streaming.findings import clients, entry, fleet, inputs, problems, upgrades
from streaming.findings import presence as closings
from streaming.findings.inputs import ConnectionChange
from streaming.gauges import Gauges, heartbeats
from streaming.job_metrics import JobMetrics
from streaming.limits import Limit, Overflow
from udfs.rules.engine import push


def change(number: int, kind: Kind, gateway_id: str = "gw-1", client: str = "orders-1", at_ms: int = 1_000) -> ConnectionChange:
    """A connection's record."""
    return ConnectionChange(at_ms, kind, number, "c", 1, gateway_id, 1, number, "10.0.0.1", "User:a", client)


def many_secrets(job: Fleet) -> None:
    for number in range(5):
        job.push(instance=1, settings={"sasl.password": f"canary-{number}"})


def many_names(job: Fleet) -> None:
    for number in range(5):
        job.close(job.connect(f"orders{number}x"), principal="User:a", client_id=f"orders{number}x", client_address="10.0.0.1")


def many_gateways(job: Fleet) -> None:
    for number in range(5):
        beat = connection_record(number, kind=Kind.HEARTBEAT, connection_id=-1, gateway_id=f"gw-{number}", heartbeat_interval_ms=5_000)
        job.engine.apply(connected([(job.now, beat)], number))


def many_starts(job: Fleet) -> None:
    for number in range(5):
        job.now += SECOND
        job.push(instance=number, settings={"retries": str(number)})


def rotated_secrets(job: Fleet) -> None:
    names = ("sasl.password", "ssl.key.password", "ssl.keystore.password", "ssl.truststore.password", "sasl.oauthbearer.client.secret")
    for name in names:
        for value in ("canary", f"canary of {name}"):
            job.now += SECOND
            job.push(instance=1, settings={name: value})


def unknown_names(job: Fleet) -> None:
    job.push(settings={f"linger.msx{number}": "5" for number in range(5)})


@pytest.mark.parametrize(
    ("limit", "number", "module", "patched", "happens"),
    [
        ("secrets", 3, problems, {"MOST_SECRETS": 3}, many_secrets),
        ("closing_clients", 2, closings, {"MOST_NAMES": 3}, many_names),
        ("closing_origins", 2, closings, {"MOST_ORIGINS": 3}, many_names),
        ("closed_connections", 2, closings, {"MOST_CLOSED": 3}, many_names),
        ("left_clients", 2, closings, {"MOST_LEFT": 3}, many_names),
        ("gateways", 2, presence, {"MOST_GATEWAYS": 3}, many_gateways),
        ("requesting_clients", 2, upgrades, {"MOST_CLIENTS": 3}, lambda job: job.are_connected(range(5))),
        ("searched_names", 1, push, {"MOST_SEARCHED": 3}, unknown_names),
        ("starts", 2, clients, {"STARTS": replace(clients.STARTS, most=3)}, many_starts),
        ("evidence", 2, entry, {"EVIDENCE": replace(entry.EVIDENCE, most=3)}, rotated_secrets),
        ("judged", 1, fleet, {"JUDGED": replace(fleet.JUDGED, most=1)}, lambda job: job.client() and job.later(20 * MINUTE)),
    ],
)
def test_each_limit_of_findings_counts_beyond_it_and_nothing_below(
    monkeypatch: pytest.MonkeyPatch,
    limit: str,
    number: int,
    module: ModuleType,
    patched: dict[str, object],
    happens: Callable[[Fleet], object],
) -> None:
    ample = Fleet()
    happens(ample)
    assert left_out(ample.engine)[limit] == 0
    for name, value in patched.items():
        monkeypatch.setattr(module, name, value)
    small = Fleet()
    happens(small)
    small.write()
    assert left_out(small.engine)[limit] == number
    (found,) = (each.limit for each in small.engine.limits if each.limit.name == limit)
    others = {"gateways": 'gateway "gw-4" of broker 1', "requesting_clients": "some of those who have the most"}
    whose = others.get(limit, "some of principal User:a")
    sentence = f"the job {found.does} {found.most} {found.of} and has left out {whose}"
    said = [each for each in small.findings("OP004") if each.message.startswith(sentence)]
    assert [each.severity for each in said] == ([] if found.severity is None else [found.severity])


def test_a_secret_in_many_records_is_named_in_the_newest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(entry, "REACHED", replace(entry.REACHED, most=3))
    known = entry.FindingEntry("f", "SK001", "leak")
    assert [known.reached("gw-1", f"clientscope.configs-0@{number}") for number in (1, 2, 3, 3, 4)] == [False] * 4 + [True]
    assert known.written_to == [f"clientscope.configs-0@{number}" for number in (2, 3, 4)]


def test_texts_that_are_forgotten_are_counted() -> None:
    job = Fleet()
    job.push(settings={"acks": "0"})
    reader = inputs.InputReader(most_texts=3)
    (result,) = job.results()
    first, second = reader.push(result, NOW), reader.push(result, NOW)
    assert reader.full.count > 0
    assert first.settings == second.settings


def test_gauges_count_gateways_beyond_the_limit_and_say_which(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(presence, "MOST_GATEWAYS", 2)
    known = Gauges({}, now=0.0)
    known.apply([beat(0, gateway=f"gw-{number}") for number in range(3)], now=0.0)
    full = next(each for each in known.limits if each.limit.name == "gauge_gateways")
    reported = full.condition(1_000)
    assert full.count == 1
    assert reported is not None
    assert (reported.code, reported.failing, reported.severity) == ("OP004", True, "high")
    assert 'gateway "gw-2" of broker 1' in reported.message
    changes = known.apply([beat(1, gateway="gw-2"), beat(1, gateway="gw-1", host="edge")], now=0.0)
    assert list(changes) == ['["c",1,"gw-1"]'], "those of the same batch that have room"


def test_gauges_count_heartbeats_whose_parts_never_come() -> None:
    known = Gauges({}, now=0.0)
    most = heartbeats.HEARTBEATS_PENDING.most
    for number in range(most + 2):
        known.apply([beat(10 * number, heartbeat_parts=2)], now=0.0)
    assert {each.limit.name: each.count for each in known.limits}["heartbeats"] == 2


def test_the_metric_has_each_limit_from_the_start_and_counts_over_restarts_of_a_query() -> None:
    def value(limit: str) -> float | None:
        return metrics.registry.get_sample_value("clientscope_stream_limit_reached_total", {"limit": limit})

    metrics, job = JobMetrics(), Fleet()
    metrics.limits(job.engine.limits)
    assert {value(each.limit.name) for each in job.engine.limits} == {0.0}
    first, again = (Overflow(Limit("clients", 1, "clients", "")) for _ in range(2))
    first.left_out("=User:a", 3)
    metrics.limits([first])
    metrics.limits([first])
    assert value("clients") == 3
    metrics.limits([again])
    again.left_out("=User:a")
    metrics.limits([again])
    assert value("clients") == 4


def test_a_limit_where_only_time_is_lost_is_no_finding() -> None:
    for severity, expected in ((None, False), ("low", True)):
        full = Overflow(Limit("x", 1, "things", "", severity))  # type: ignore[arg-type]
        full.left_out("=User:a")
        reported: Condition | None = full.condition(1_000)
        assert (reported is not None and reported.failing) is expected


def test_thresholds_are_the_same_after_the_cache_was_cleared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fleet, "JUDGED", replace(fleet.JUDGED, most=1))
    judges = fleet.Judges(Thresholds())
    asked = [judges.limits(rule, f'["User:{number}",null,null]') for number in range(3) for rule in (fleet.DRIFT, fleet.RARE)]
    assert asked == asked[:2] * 3
    assert judges.full.count > 0
