"""A broker for clients whose settings a gateway sees, and what it has recorded of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path

import kafka
from conftest import RunningBroker, start_broker
from observe import read_all

from clientscope.records.codec import ClientConfigRecord, decode
from clientscope.records.layouts import Origin
from clientscope.records.topics import CONFIGS

CANARY = b"canary-record"
"""Of what clients produce: no record of the gateway's has it."""
TOPICS = {name: {"num_partitions": 1, "replication_factor": 1} for name in ("orders", "piped")}


@contextmanager
def running_cluster(folder: Path, extra: Mapping[str, str] | None = None) -> Iterator[RunningBroker]:
    started, broker = start_broker(folder, extra=extra)
    try:
        with closing(kafka.KafkaAdminClient(bootstrap_servers=broker.internal)) as client:
            client.create_topics(TOPICS, wait_for_metadata=True)
        yield broker
    finally:
        started.stop()


def recorded(internal: str) -> dict[str, dict[str, str]]:
    """The settings in the newest record of each client, by its client.id."""
    found: dict[str, dict[str, str]] = {}
    for message in read_all(internal, CONFIGS):
        assert CANARY not in message.value
        record = decode(ClientConfigRecord, message.value)
        assert record.origin == Origin.OBSERVED
        found[record.client_id or ""] = {each.config_key: each.config_value or "" for each in record.configs}
    return found
