"""A living gateway isn't lost while INTERNAL is away for longer than three heartbeats; a killed one is soon lost."""

from __future__ import annotations

import json
import signal
import time
from pathlib import Path
from typing import Any

import pytest
from conftest import start_broker
from observe import metrics, read_all
from patience import LIMIT_S, until
from steady_load import open_findings

from clientscope.demo.fleet import Fleet
from clientscope.local.process import free_port
from clientscope.records.codec import decode
from clientscope.records.connection_record import ClientConnectionRecord
from clientscope.records.enums import Kind
from clientscope.records.topics import CONNECTIONS, GAUGES

BEAT_S = 1.0


def own_values(servers: str) -> list[tuple[int, dict[str, Any] | None]]:
    """What was said of the gateway as a whole, and when by the broker's clock; None for a tombstone."""
    of_gateway = [each for each in read_all(servers, GAUGES) if len(json.loads(each.key)) == 3]
    return [(each.timestamp, None if each.value is None else json.loads(each.value)) for each in of_gateway]


def last_heartbeat(servers: str) -> tuple[int, int]:
    """Sequence and the broker's time."""
    records = ((decode(ClientConnectionRecord, each.value), each.timestamp) for each in read_all(servers, CONNECTIONS))
    return max((record.sequence, at) for record, at in records if record.kind == Kind.HEARTBEAT)


@pytest.mark.long
def test_a_living_gateway_outlives_an_outage_of_internal_and_a_killed_one_is_lost(tmp_path: Path) -> None:
    started, broker = start_broker(tmp_path / "broker")
    processes = Fleet(tmp_path / "logs", lambda line: None)
    page = f"127.0.0.1:{free_port()}"

    def is_measured() -> bool:
        return metrics(f"http://{page}/metrics")[("clientscope_stream_silence_paused",)] == 0

    def beats(number: int) -> None:
        before = last_heartbeat(broker.internal)[0]
        until(lambda: last_heartbeat(broker.internal)[0] >= before + number)

    try:
        processes.start(
            "stream", "stream", "--bootstrap-servers", broker.internal, "--checkpoint-dir", str(tmp_path / "checkpoints"),
            "--history-dir", str(tmp_path / "history"), "--driver-memory", "1g", "--quality", "off", "--metrics-listen", page,
        )  # fmt: skip
        processes.await_ready("stream", timeout_s=LIMIT_S)
        processes.start(
            "gateway", "gateway", "--bootstrap-servers", broker.internal, "--listen", broker.advertised, "--upstream", broker.client,
            "--metrics-listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0", "--heartbeat-interval-ms", str(int(BEAT_S * 1000)),
        )  # fmt: skip
        processes.await_ready("gateway")
        until(is_measured, why="some time after the job's start")
        beats(3)
        assert [value is not None for _, value in own_values(broker.internal)] == [True]

        started.stop()
        time.sleep(20)  # many heartbeats
        started.start()
        until(lambda: not is_measured())
        back = time.monotonic()
        beats(1)
        print(f"a heartbeat {time.monotonic() - back:.1f} s after Kafka was back")
        until(is_measured)
        beats(5)
        assert None not in [value for _, value in own_values(broker.internal)], "it was never lost"
        assert open_findings(broker.internal, "OP001") == []

        processes.signal("gateway", signal.SIGKILL)
        until(lambda: own_values(broker.internal)[-1][1] is None)
        silent_ms = own_values(broker.internal)[-1][0] - last_heartbeat(broker.internal)[1]
        print(f"lost {silent_ms} ms after its last heartbeat")
        assert silent_ms > 3 * BEAT_S * 1000
        until(lambda: [state for state, _ in open_findings(broker.internal, "OP001")], ["open"])
    finally:
        processes.stop()
        started.stop()
