"""Reading a topic to its end, as it stands now."""

from __future__ import annotations

from contextlib import closing
from typing import Any

import kafka


def read_all(bootstrap_servers: str, topic: str) -> list[Any]:
    """Every record that is on a topic at the time of the call, in order."""
    with closing(
        kafka.KafkaConsumer(bootstrap_servers=bootstrap_servers, auto_offset_reset="earliest", enable_auto_commit=False)
    ) as consumer:
        partitions = [kafka.TopicPartition(topic, number) for number in consumer.partitions_for_topic(topic) or ()]
        ends = consumer.end_offsets(partitions)
        consumer.assign(partitions)
        messages: list[Any] = []
        while any(consumer.position(partition) < ends[partition] for partition in partitions):
            for batch in consumer.poll(timeout_ms=500).values():
                messages += batch
        return messages
