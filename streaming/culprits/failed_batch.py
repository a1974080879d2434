"""Batch at which a query fails: its range from Spark's failure, its records from Kafka."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass

from kafka import TopicPartition

from clientscope.kafka.access import Kafka
from clientscope.kafka.reader import OffsetRange, TopicReader
from streaming.failures import Failure

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


def failed_range(failure: Failure) -> Range:
    """What the batch was to read that failed, by Spark's own word; nothing where it says nothing."""
    first, end = (
        {(topic, number): offset for topic, partitions in (offsets or {}).items() for number, offset in partitions.items()}
        for offsets in (failure.position, failure.planned_to)
    )
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
