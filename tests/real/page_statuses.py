"""Status records of the processes and brokers of a made-up installation."""

from __future__ import annotations

from collections.abc import Iterator

from clientscope.records.topics import STATUS
from clientscope.status.record import BrokerStatus, ProcessStatus
from sinks.dashboard.state.known import TopicRecord

CLUSTER = "prod-eu-1"
GATEWAYS = ("gw-1", "gw-2", "gw-3")
_MINUTE_MS = 60_000


def statuses(now_ms: int, stale: bool = False) -> Iterator[TopicRecord]:
    """Of every process and broker; with ``stale``, the second gateway fell silent."""
    common = {"release": "0.1.0", "started_ms": now_ms - 26 * 60 * _MINUTE_MS, "told_ms": now_ms, "interval_ms": 30_000}
    lags: dict[str, int] = {"results": 0, "gauges": 3, "findings": 0, "history": 640}
    processes = [
        *(
            ProcessStatus(kind="gateway", id=name, condition="ok", figures={"open_connections": 812}, last_record_ms=now_ms - 900, **common)
            for name in GATEWAYS
        ),
        ProcessStatus(kind="stream", id="spark-1:4711", condition="ok", lag_records=643, lag_ms=900, last_record_ms=now_ms - 900, **common),
        *(
            ProcessStatus(kind="query", id=name, condition="ok", lag_records=lag, lag_ms=lag * 2, last_record_ms=now_ms - 900, **common)
            for name, lag in lags.items()
        ),
        ProcessStatus(kind="deliver", id="host-1:4800", condition="ok", lag_records=0, lag_ms=0, last_record_ms=now_ms - 40_000, **common),
        ProcessStatus(kind="serve", id="host-1:4900", condition="ok", lag_records=0, lag_ms=0, last_record_ms=now_ms - 300, **common),
    ]
    for status in processes:
        at = now_ms - 5 * _MINUTE_MS if stale and status.id == "gw-2" else now_ms
        yield TopicRecord(STATUS, at, status.key, status.model_dump_json().encode())
    ranges = {
        0: (0, 13),
        1: (4, 17),
        2: (1, 10),
        3: (0, 13),
        8: (2, 9),
        9: (1, 9),
        10: (0, 6),
        11: (2, 9),
        12: (0, 4),
        18: (0, 4),
        22: (0, 5),
        60: (0, 2),
        76: (1, 1),
    }
    for number in (1, 2, 3):
        apis = {**ranges, 1: (4, 18), 18: (0, 5)} if number == 3 else ranges
        software = {
            "software_name": "Kafka",
            "software_version": "4.1.0" if number < 3 else "4.2 or 4.3",
            "source": "declared" if number < 3 else "inferred",
        }
        broker = BrokerStatus(
            id=f"{CLUSTER}/{number}",
            cluster=CLUSTER,
            broker=number,
            host=f"kafka-{number}.internal",
            port=9092,
            rack=f"eu-1{'abc'[number - 1]}",
            apis={str(key): versions for key, versions in apis.items()},
            gateway=GATEWAYS[number - 1],
            told_ms=now_ms,
            interval_ms=60_000,
            **software,
        )
        yield TopicRecord(STATUS, now_ms, broker.key, broker.model_dump_json().encode())
