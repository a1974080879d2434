"""F27: a secret's finding waits for nobody, neither for results nor for gauges that work off a backlog."""

from __future__ import annotations

from pathlib import Path

import confluent_kafka
import pytest
from conftest import RunningBroker
from kafka import KafkaConsumer, TopicPartition
from observe import read_all
from patience import LIMIT_S, until
from record_bytes import config_record, setting
from stream_job import StreamJob

from clientscope.records.topics import CONFIGS, FINDINGS, RESULTS

pytestmark = pytest.mark.faults

BACKLOG, LEFT = 400_000, 100_000
"""Pushes that wait; and how many still do, at the least, once the finding is there."""


def test_finding_of_a_new_secret_is_ahead_of_a_backlog(own: RunningBroker, tmp_path: Path) -> None:
    producer = confluent_kafka.Producer({"bootstrap.servers": own.internal, "linger.ms": 20, "compression.type": "lz4"})
    push = config_record(setting("acks", "all"), client_id="backlog")
    for number in range(BACKLOG):
        producer.produce(CONFIGS, push, b"%d" % number)
        if number % 10_000 == 0:
            producer.flush()
    assert producer.flush(LIMIT_S) == 0
    leaks = 0

    def found_ahead() -> bool:
        """One that was pushed before the query knew where its topic ends is part of the backlog, so more are pushed."""
        nonlocal leaks
        leaks += 1
        secret = config_record(setting("sasl.password", f"hunter2-canary-{leaks}"), client_id=f"leaky{leaks}x")
        producer.produce(CONFIGS, secret, b"leaky%d" % leaks)
        assert producer.flush(LIMIT_S) == 0
        return any(b'"SK001"' in (message.value or b"") for message in read_all(own.internal, FINDINGS))

    job = StreamJob(own.internal, tmp_path, "--quality", "off")
    try:
        job.start()
        with KafkaConsumer(bootstrap_servers=own.internal) as consumer:
            until(found_ahead)
            results = TopicPartition(RESULTS, 0)
            assert consumer.end_offsets([results])[results] < BACKLOG - LEFT
    finally:
        job.processes.stop()
