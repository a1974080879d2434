"""Limits of the job: each is counted when it is reached, on /metrics and, where something is lost, as a finding."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType

import pytest
from fleets import Fleet, left_out
from gauge_rows import beat

from clientscope import presence
from streaming.findings import entry, problems, upgrades
from streaming.findings import liveness as closings
from streaming.gauges import Gauges
from streaming.job_metrics import JobMetrics
from streaming.limits import Limit, Overflow
from udfs.rules.engine import pushed_config


def many_secrets(job: Fleet) -> None:
    for number in range(5):
        job.push(instance=1, settings={"sasl.password": f"canary-{number}"})


def many_places(job: Fleet) -> None:
    for number in range(5):
        job.push(f"app{number}x", instance=number + 1, settings={"sasl.password": "canary"})


def many_names(job: Fleet) -> None:
    for number in range(5):
        job.close(job.connect(f"orders{number}x"))


def many_gateways(job: Fleet) -> None:
    for number in range(5):
        job.heartbeat(gateway=f"gw-{number}")


def unknown_names(job: Fleet) -> None:
    job.push(settings={f"linger.msx{number}": "5" for number in range(5)})


@pytest.mark.parametrize(
    ("limit", "number", "module", "patched", "happens"),
    [
        ("secrets", 3, problems, {"MOST_SECRETS": 3}, many_secrets),
        ("places", 1, entry, {"MOST_PLACES_KEPT": 3}, many_places),
        ("closings", 2, closings, {"MOST_CLOSINGS": 3}, many_names),
        ("closed_connections", 2, closings, {"MOST_CLOSED": 3}, many_names),
        ("left_clients", 2, closings, {"MOST_LEFT": 3}, many_names),
        ("gateways", 2, presence, {"MOST_GATEWAYS": 3}, many_gateways),
        ("requesting_clients", 2, upgrades, {"MOST_CLIENTS": 3}, lambda job: job.are_connected(range(5))),
        ("searched_names", 1, pushed_config, {"MOST_SEARCHED": 3}, unknown_names),
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
    assert [each.severity for each in said] == [found.severity]


def test_a_secret_in_many_records_is_named_in_the_newest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(entry, "MOST_REACHED", 3)
    known = entry.FindingEntry("f", "SK001", "leak")
    for number in (1, 2, 3, 3, 4):
        known.reached("gw-1", f"clientscope.configs-0@{number}")
    assert known.written_to == [f"clientscope.configs-0@{number}" for number in (2, 3, 4)]


def test_gauges_count_gateways_beyond_the_limit_and_say_which(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(presence, "MOST_GATEWAYS", 2)
    known = Gauges({}, now=0.0)
    known.apply([beat(0, gateway=f"gw-{number}") for number in range(3)], now=0.0)
    full, _ = known.limits
    reported = full.condition(1_000)
    assert full.count == 1
    assert reported is not None
    assert (reported.code, reported.failing, reported.severity) == ("OP004", True, "high")
    assert 'gateway "gw-2" of broker 1' in reported.message
    changes = known.apply([beat(1, gateway="gw-2"), beat(1, gateway="gw-1", host="edge")], now=0.0)
    assert list(changes) == ['["c",1,"gw-1"]'], "those of the same batch that have room"


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
