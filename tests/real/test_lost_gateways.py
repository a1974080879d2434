"""A living gateway isn't lost while INTERNAL is away for longer than three heartbeats; a killed one soon is: test_path.py."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from conftest import start_broker
from every import every
from observe import connection_records, metrics, read_all, told_findings
from patience import until
from stream_job import StreamJob

from clientscope.records.enums import Kind
from clientscope.records.topics import GAUGES

BEAT_S = 1.0


def own_values(servers: str) -> list[bool]:
    """Of the gateway as a whole, whether each record has a value, rather than being a tombstone."""
    return [each.value is not None for each in read_all(servers, GAUGES) if len(json.loads(each.key)) == 3]


def last_heartbeat(servers: str) -> int:
    return max(record.sequence for record in connection_records(servers, kind=Kind.HEARTBEAT))


@pytest.mark.long
def test_a_living_gateway_outlives_an_outage_of_internal(tmp_path: Path) -> None:
    started, broker = start_broker(tmp_path / "broker")
    job = StreamJob(broker.internal, tmp_path, "--quality", "off")
    processes = job.processes

    def is_measured() -> bool:
        return metrics(f"{job.page}metrics")[("clientscope_stream_silence_paused",)] == 0

    def beats(number: int) -> None:
        before = last_heartbeat(broker.internal)
        until(lambda: last_heartbeat(broker.internal) >= before + number)

    try:
        job.start()
        job.ready()
        processes.start(
            "gateway", "gateway", "--bootstrap-servers", broker.internal, "--listen", broker.advertised, "--upstream", broker.client,
            "--metrics-listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0", "--heartbeat-interval-ms", str(int(BEAT_S * 1000)),
        )  # fmt: skip
        processes.await_ready("gateway")
        until(is_measured, why="some time after the job's start")
        beats(3)
        assert own_values(broker.internal) == [True]

        started.stop()
        time.sleep(20)  # many heartbeats
        started.start()
        until(lambda: not is_measured())
        back = time.monotonic()
        beats(1)
        print(f"a heartbeat {time.monotonic() - back:.1f} s after Kafka was back")
        until(is_measured)
        beats(5)
        assert all(every(own_values(broker.internal))), "it was never lost"
        assert told_findings(broker.internal, "OP001") == []
    finally:
        processes.stop()
        started.stop()
