"""A gateway whose clock was set back is still the newest process of its name."""

from __future__ import annotations

import logging
import time
from pathlib import Path
from typing import Any

import kafka
import pytest
from conftest import RunningBroker, running_gateway
from observe import connection_records
from patience import LIMIT_S, until
from record_bytes import connection_record, heartbeat

from clientscope.client.raw import RawClient
from clientscope.gateway.place import next_epoch
from clientscope.local.process import free_port
from clientscope.records.topics import CONNECTIONS


@pytest.fixture(scope="module")
def broker(spare: RunningBroker) -> RunningBroker:
    """What is written here would be read by others' tests on the shared one."""
    return spare


def write(broker: Any, gateway_id: str, *values: bytes) -> None:
    with kafka.KafkaProducer(bootstrap_servers=broker.internal) as producer:
        for value in values:
            producer.send(CONNECTIONS, key=gateway_id.encode(), value=value)
        producer.flush(LIMIT_S)


def said(caplog: pytest.LogCaptureFixture) -> list[logging.LogRecord]:
    return [record for record in caplog.records if record.name == "clientscope.gateway.place"]


def test_it_is_the_time_or_one_more_than_the_last(broker: Any, caplog: pytest.LogCaptureFixture) -> None:
    write(
        broker, "epoch-a", heartbeat(0, gateway_id="epoch-a", gateway_epoch=5_000), heartbeat(1, gateway_id="epoch-a", gateway_epoch=4_000)
    )
    write(broker, "epoch-b", heartbeat(0, gateway_id="epoch-b", gateway_epoch=9_000), b"junk")
    assert next_epoch(broker.internal, "epoch-a", 6_000) == 6_000
    assert next_epoch(broker.internal, "epoch-nobody", 6_000) == 6_000
    assert not said(caplog)
    assert next_epoch(broker.internal, "epoch-a", 3_000) == 5_001
    assert [record.levelno for record in said(caplog)] == [logging.WARNING]
    assert next_epoch(broker.internal, "epoch-b", 5_000) == 9_001


def test_it_is_found_behind_what_others_have_written_since(broker: Any) -> None:
    write(broker, "epoch-c", heartbeat(0, gateway_id="epoch-c", gateway_epoch=5_000))
    write(broker, "epoch-d", *(connection_record(number, gateway_id="epoch-d") for number in range(1_500)))
    assert next_epoch(broker.internal, "epoch-c", 1) == 5_001


def test_where_kafka_does_not_tell_the_clock_must_do_and_soon(broker: Any, caplog: pytest.LogCaptureFixture) -> None:
    started = time.monotonic()
    assert next_epoch(f"127.0.0.1:{free_port()}", "epoch-a", 7_000, patience_s=0.5) == 7_000
    assert next_epoch(broker.internal, "epoch-a", 7_000, patience_s=0.0) == 7_000
    assert time.monotonic() - started < 60, "it ends at all"
    assert len(said(caplog)) == 2


def test_a_gateway_started_after_its_clock_was_set_back_is_the_newest(broker: Any, tmp_path: Path) -> None:
    address = f"127.0.0.1:{free_port()}"
    ahead = time.time_ns() // 1_000_000 + 3_600_000
    write(broker, address, heartbeat(0, gateway_id=address, gateway_epoch=ahead))
    with running_gateway(broker.internal, broker.client, tmp_path, listen=address), RawClient.connect(address, "late") as client:
        client.api_versions("late", "1")
        until(lambda: {record.gateway_epoch for record in connection_records(broker.internal, address)}, {ahead, ahead + 1})
