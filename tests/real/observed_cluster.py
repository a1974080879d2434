"""A broker for clients whose settings a gateway sees."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path

import kafka
from conftest import RunningBroker, start_broker

CANARY = b"canary-record"
"""Of what clients produce: no record of the gateway's has it."""
TOPICS = {"orders": {"num_partitions": 1, "replication_factor": 1}}


@contextmanager
def running_cluster(folder: Path, extra: Mapping[str, str] | None = None) -> Iterator[RunningBroker]:
    started, broker = start_broker(folder, extra=extra)
    try:
        with closing(kafka.KafkaAdminClient(bootstrap_servers=broker.internal)) as client:
            client.create_topics(TOPICS, wait_for_metadata=True)
        yield broker
    finally:
        started.stop()
