"""Clients that push metrics, as `/metrics` shows them: by version, bounded, and without those that are gone."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from prometheus_client import generate_latest

from streaming.job_metrics import JobMetrics
from streaming.reporting_clients import COLUMNS, MOST_SERIES, OTHER, RECENT_MS, ReportingClients

NOW_MS = 1_790_000_040_000
FACTS = COLUMNS[COLUMNS.index("terminating") + 1 :]


def row(number: int, at_ms: int = NOW_MS, **changed: Any) -> dict[str, Any]:
    """One push of an instance."""
    made = {
        "at_ms": at_ms, "cluster": "c", "principal": None, "address": "10.0.0.1", "instance_id": f"{number:032x}",
        "client_kind": "producer", "software_name": "apache-kafka-java",
        "software_version": "4.4.0", "terminating": False,
    }  # fmt: skip
    return {**made, **dict.fromkeys(FACTS), **changed}


def samples(clients: ReportingClients, now_ms: int = NOW_MS) -> dict[tuple[str, ...], float]:
    """By name without its prefix, and values of labels."""
    families = clients.families(now_ms)
    found = (
        (sample.name.removeprefix("clientscope_stream_client_"), *sample.labels.values()) for each in families for sample in each.samples
    )
    return dict(zip(found, (sample.value for each in families for sample in each.samples), strict=True))


def taken(*rows: dict[str, Any], most: int = 100) -> ReportingClients:
    clients = ReportingClients(most)
    clients.take(pa.Table.from_pylist(list(rows)), NOW_MS)
    return clients


JAVA = ("producer", "apache-kafka-java", "4.4.0")


def test_a_version_has_how_many_report_and_the_spread_of_their_newest_facts() -> None:
    pushes = [
        row(1, NOW_MS - 60_000, queue_time_max_ms=9_000.0),
        *(row(each, queue_time_max_ms=1_000.0 * each) for each in (1, 2, 3)),
        row(4),
    ]
    found = samples(taken(*pushes))
    assert found["instances", *JAVA] == 4
    spread = {key[-1]: value for key, value in found.items() if key[0] == "queue_time_max_seconds"}
    assert spread == {"0.5": 2.0, "0.9": 2.8, "1": 3.0}, "seconds, of those that say it"
    assert not [key for key in found if key[0] == "request_latency_max_seconds"], "what nobody says isn't 0"


def test_counts_are_added_over_all_pushes() -> None:
    clients = taken(row(1, record_errors=2.0, record_retries=0.0), row(2, record_errors=3.0), row(3))
    clients.take(pa.Table.from_pylist([row(1, record_errors=4.0, terminating=True)]), NOW_MS)
    found = samples(clients)
    assert (found["record_errors_total", *JAVA], found["record_retries_total", *JAVA], found["instances", *JAVA]) == (9, 0, 2)


def test_a_client_that_ends_or_falls_silent_reports_no_more() -> None:
    clients = taken(row(1), row(2, NOW_MS - RECENT_MS), row(3), row(3, NOW_MS + 1, terminating=True))
    assert samples(clients)["instances", *JAVA] == 1
    assert samples(clients, NOW_MS + RECENT_MS) == {}


def test_an_instance_of_another_principal_is_another_client() -> None:
    found = samples(taken(row(1), row(1, address="10.0.0.2"), row(1, principal="User:a"), row(1, address="10.0.0.3", principal="User:a")))
    assert found["instances", *JAVA] == 3


def test_names_that_clients_choose_make_no_more_series_than_there_is_room_for() -> None:
    many = [row(each, software_version=f"{each}", record_errors=1.0) for each in range(MOST_SERIES + 50)]
    found = samples(taken(*many, row(1_000), row(1_001), most=1_000))
    series = [key for key in found if key[0] == "instances"]
    assert (len(series), found["instances", *JAVA], found["instances", "producer", OTHER, OTHER]) == (MOST_SERIES + 1, 2, 51)
    assert found["record_errors_total", "producer", OTHER, OTHER] == 50
    assert sum(value for key, value in found.items() if key[0] == "record_errors_total") == MOST_SERIES + 50


def test_whoever_has_most_instances_is_left_out_first() -> None:
    many = [row(each, software_version="1") for each in range(100)]
    clients = taken(*many, row(1_000, NOW_MS - 1, principal="User:few"), most=50)
    found = samples(clients)
    assert (found["instances", *JAVA], found["instances", "producer", "apache-kafka-java", "1"]) == (1, 44)
    assert clients.full.count == 56


def test_the_jobs_metrics_show_them() -> None:
    metrics = JobMetrics()
    assert b"clientscope_stream_client_instances{" not in generate_latest(metrics.registry)
    clients, now_ms = taken(row(1, lag_max_records=5.0, client_kind="consumer"), row(2, client_kind=None)), [NOW_MS]
    metrics.client_facts(lambda: clients.families(now_ms[0]))
    text = generate_latest(metrics.registry).decode()
    labels = 'client_software_name="apache-kafka-java",client_software_version="4.4.0"'
    assert f'clientscope_stream_client_instances{{client_kind="other",{labels}}} 1.0' in text
    assert f'clientscope_stream_client_lag_max_records{{client_kind="consumer",{labels},quantile="1"}} 5.0' in text
    now_ms[0] += RECENT_MS
    assert b"clientscope_stream_client_instances{" not in generate_latest(metrics.registry), "though its query may be parked"
