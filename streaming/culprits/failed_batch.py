"""Batch at which a query fails: its range from the query's checkpoint, its records from Kafka."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass

from kafka import TopicPartition

from clientscope.kafka.access import Kafka
from clientscope.kafka.reader import OffsetRange, TopicReader
from clientscope.stores.store_path import AnyPath
from streaming.internals import spark_files

log = logging.getLogger(__name__)

Range = Mapping[tuple[str, int], tuple[int, int]]
"""(topic, partition) -> first offset, and the one behind the last."""

_MOST_RECORDS = 1000
_MOST_BYTES = 16 * 1024 * 1024


@dataclass(frozen=True)
class SuspectRecord:
    """One record, as it lies in Kafka."""

    topic: str
    partition: int
    offset: int
    timestamp_ms: int
    value: bytes


def failed_range(checkpoint: AnyPath) -> Range:
    """What the newest batch of a checkpoint reads, if that batch was begun and not finished; else nothing."""
    files = spark_files.read(checkpoint)
    if unread := files.problems or files.unknown:
        log.warning("the failed batch can't be read from %s: %s", checkpoint, unread[0])
        return {}
    if files.planned == files.committed:
        return {}
    first = {(topic, number): offset for topic, partitions in files.position.items() for number, offset in partitions.items()}
    end = {(topic, number): offset for topic, partitions in files.planned_to.items() for number, offset in partitions.items()}
    return {place: (first.get(place, 0), last) for place, last in end.items() if first.get(place, 0) < last}


def fetch(kafka: Kafka, chosen: Range) -> Iterator[list[SuspectRecord]]:
    """The records of a range that have a value, a thousand at a time, or fewer where they are large.

    Raises:
        TimeoutError: the range's end was not reached.
        KafkaError: Kafka refuses.
    """
    with closing(TopicReader(kafka, "clientscope-stream")) as reader:
        for (topic, number), (first, end) in chosen.items():
            partition = TopicPartition(topic, number)
            reader.seek({partition: OffsetRange(first, end)})
            chunk: list[SuspectRecord] = []
            size = 0
            for record in (record for batches in reader.read() for record in batches.get(partition, ())):
                if record.offset < end and record.value is not None:
                    chunk.append(SuspectRecord(topic, number, record.offset, record.timestamp, record.value))
                    size += len(record.value)
                if len(chunk) >= _MOST_RECORDS or size >= _MOST_BYTES:
                    yield chunk
                    chunk, size = [], 0
            if chunk:
                yield chunk
