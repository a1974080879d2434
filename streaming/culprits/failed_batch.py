"""The batch that a query fails at: its range from the query's checkpoint, its records from Kafka."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from kafka import KafkaConsumer, TopicPartition

from clientscope.kafka_access import Kafka, access
from streaming.checkpoints import spark_files

log = logging.getLogger(__name__)

Range = Mapping[tuple[str, int], tuple[int, int]]
"""(topic, partition) -> first offset, and the one behind the last."""

_MOST_RECORDS = 1000
_MOST_BYTES = 16 * 1024 * 1024
_SILENCE_S = 30


@dataclass(frozen=True)
class Record:
    """One record, as it lies in Kafka."""

    topic: str
    partition: int
    offset: int
    timestamp_ms: int
    value: bytes


def failed_range(checkpoint: Path) -> Range:
    """What the newest batch of a checkpoint reads, if that batch was begun and not finished; else nothing."""
    files = spark_files.read(checkpoint)
    if files.problems:
        log.warning("the failed batch can't be read from %s: %s", checkpoint, files.problems[0])
        return {}
    if files.planned == files.committed:
        return {}
    first = {(topic, number): offset for topic, partitions in files.position.items() for number, offset in partitions.items()}
    end = {(topic, number): offset for topic, partitions in files.planned_to.items() for number, offset in partitions.items()}
    return {place: (first.get(place, 0), last) for place, last in end.items() if first.get(place, 0) < last}


def fetch(kafka: Kafka, chosen: Range) -> Iterator[list[Record]]:
    """The records of a range that have a value, a thousand at a time, or fewer where they are large.

    Raises:
        TimeoutError: the range's end was not reached.
        KafkaError: Kafka refuses.
    """
    # Whoever reads everything has no need of a group, nor of a broker's own idea of where to begin.
    arguments = {"enable_auto_commit": False, "auto_offset_reset": "earliest", "max_poll_records": _MOST_RECORDS}
    with closing(KafkaConsumer(**access(kafka).client_arguments(), client_id="clientscope-stream", **arguments)) as consumer:
        for (topic, number), (first, end) in chosen.items():
            partition = TopicPartition(topic, number)
            consumer.assign([partition])
            consumer.seek(partition, first)
            chunk: list[Record] = []
            size = silence = 0
            while consumer.position(partition) < end:
                found = consumer.poll(timeout_ms=1000).get(partition, [])
                silence = 0 if found else silence + 1
                if silence > _SILENCE_S:
                    raise TimeoutError(f"{topic}, partition {number}, could not be read up to {end}")
                for record in found:
                    if record.offset < end and record.value is not None:
                        chunk.append(Record(topic, number, record.offset, record.timestamp, record.value))
                        size += len(record.value)
                    if len(chunk) >= _MOST_RECORDS or size >= _MOST_BYTES:
                        yield chunk
                        chunk, size = [], 0
            if chunk:
                yield chunk
