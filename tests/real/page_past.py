"""History of a made-up fleet, as the job would have written it, for tests and screenshots of the page."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from page_fleet import HOSTILE, Fleet
from past_tables import DAY_MS, HOUR_MS, MINUTE_MS, append, client_facts, connection, finding, gauge, heartbeat, push, setting

from clientscope.catalog.value_states import ValueState
from clientscope.model.enums import Kind

DAYS = 40
SILENT_HOURS = range(50, 62)
"""So many hours ago the job didn't run."""


def write(fleet: Fleet, folder: Path) -> None:
    """All tables below a folder."""
    times = [fleet.now_ms - number * HOUR_MS // 2 for number in range(DAYS * 48) if number // 2 not in SILENT_HOURS]
    software = {member.software for member in fleet.members}
    of = {one: sum(member.connections for member in fleet.members if member.software == one) for one in software}
    series = [(ms, *one) for ms in times for one in of.items()]
    append(folder, "gauges", [gauge(ms, _then(count, ms, fleet.now_ms, name), name, version) for ms, (name, version), count in series])
    rows = []
    for number, member in enumerate(fleet.members):
        who = member.names
        began = fleet.now_ms - (number % 11 + 1) * DAY_MS
        rows += [connection(ms, Kind.PRESENT, number, **who) for ms in range(began, fleet.now_ms, 6 * HOUR_MS)]
        rows.append(heartbeat(fleet.now_ms - 2 * MINUTE_MS, **who, heartbeat_interval_ms=10 * MINUTE_MS))
        rows.append(connection(began - DAY_MS, Kind.CLOSED, 1_000 + number, **{**who, "software_version": "0.9.1"}))
    rows.append(connection(fleet.now_ms - 2 * DAY_MS, Kind.CLOSED, 9_999, client_id=HOSTILE, principal="' OR 1=1 --"))
    append(folder, "connections", rows)
    member = fleet.members[0]
    withheld = setting("sasl.jaas.config", None, value_state=int(ValueState.KEY_INFIX), value_length=90, value_digest=bytes(range(32)))
    who = member.names
    starts = [(setting("acks", "all" if number else "0"), setting("linger.ms", str(5 * number)), withheld) for number in range(5)]
    append(folder, "pushes", [push(fleet.now_ms - (number + 1) * DAY_MS, *start, **who) for number, start in enumerate(starts)])
    minutes = range(fleet.now_ms - 2 * DAY_MS, fleet.now_ms, 5 * MINUTE_MS)
    append(folder, "client_facts", [row for ms in minutes for row in _measured(ms, who, fleet.now_ms - ms < DAY_MS // 2)])
    append(
        folder,
        "findings",
        [
            finding(fleet.now_ms - 9 * DAY_MS, 1, severity="critical", code="SK001", message=f"A password is pushed {HOSTILE}: rotate it."),
            finding(fleet.now_ms - 8 * DAY_MS, 2, message="records are lost whenever a broker fails over: set acks=all", client_count=12),
            finding(fleet.now_ms - 3 * DAY_MS, 3, "resolved", severity="medium", code="FL002", message="upgrade librdkafka"),
            finding(fleet.now_ms - 10 * MINUTE_MS, 4, severity="low", message="let batches fill"),
        ],
    )


def _measured(ms: int, who: dict[str, Any], consumes: bool) -> list[dict[str, Any]]:
    """What a client said of itself at a time: as a producer of two instances, and perhaps as a consumer."""
    day, spike = 1 + 0.5 * math.sin(2 * math.pi * (ms % DAY_MS) / DAY_MS), 8 if ms // (5 * MINUTE_MS) % 97 == 0 else 1
    producer = {
        "request_latency_avg_ms": 4.2 * day, "request_latency_max_ms": 61 * day * spike, "queue_time_avg_ms": 5.4 * day,
        "queue_time_max_ms": 40 * day * spike, "record_rate": 1_630 * day, "byte_rate": 711_000 * day, "request_rate": 81 * day,
        "batch_size_avg_bytes": 4_115 * day, "buffer_available_bytes": 33_521_664 - 2e6 * day * spike, "buffer_total_bytes": 33_554_432.0,
        "record_errors": 0.0, "record_retries": 3.0 * (spike - 1), "throttle_time_max_ms": 0.0,
    }  # fmt: skip
    consumer = {
        "poll_interval_max_ms": 21_000 * day * spike, "poll_idle_ratio": 0.4 / day, "lag_max_records": 1_200 * day * spike,
        "fetch_latency_avg_ms": 240 / day, "fetch_latency_max_ms": 501.0, "record_rate": 930 * day, "byte_rate": 260_000 * day,
        "request_rate": 12 * day, "fetch_rate": 8 * day, "fetch_size_avg_bytes": 32_000 * day, "rebalances": float(spike > 1),
        "rebalances_failed": 0.0, "rebalance_latency_max_ms": 33.0 if spike > 1 else None, "throttle_time_max_ms": 0.0,
    }  # fmt: skip
    rows = [client_facts(ms + instance, "producer", instance, **{**who, **producer}) for instance in (1, 2)]
    return [*rows, *([client_facts(ms, "consumer", 3, **{**who, **consumer})] if consumes else [])]


def _then(count: int, ms: int, now_ms: int, name: str) -> int:
    day = math.sin(2 * math.pi * (ms % DAY_MS) / DAY_MS)
    age = (now_ms - ms) / (DAYS * DAY_MS)
    return max(0, round(count * (1 + 0.15 * day + (0.8 * age if name == "librdkafka" else -0.5 * age))))
