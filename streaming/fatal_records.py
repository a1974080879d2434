"""Search for the record that kills a query's Python workers; all queries then continue without it.

A kernel never raises on bad bytes, so what a worker dies of is a bug of ours, of Arrow or of numpy. It must not stop a query for good. The
records that a query would read next are run again over halves of their offsets, by its step in Spark's own workers, until single ones are
left.
"""

from __future__ import annotations

import json
import logging
import math
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing

from kafka import TopicPartition
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everybody knows it

from clientscope.clock import now_ms
from clientscope.digest import DigestKey
from clientscope.errors import ClientscopeError
from clientscope.kafka.access import KafkaAccess
from clientscope.kafka.reader import OffsetRange
from clientscope.kafka.writer import TopicWriter
from clientscope.model.codec import encode
from clientscope.model.quarantine import QuarantineRecord
from clientscope.model.topics import QUARANTINE
from streaming.checkpoints.job_records import SkippedRecord
from streaming.failures import understood
from streaming.job_checkpoints import Checkpoints
from streaming.job_metrics import CRASHED
from streaming.sources import LIVE, between
from udfs.kernels.quarantine import digest

log = logging.getLogger(__name__)

Step = Callable[[DataFrame], DataFrame]
"""What a query's workers do: from a topic's records to rows."""

Ranges = Mapping[TopicPartition, OffsetRange]

MOST_PER_HOUR = 10
_HOUR_MS = 3_600_000
_LONGEST_S = 120.0


class FatalRecords:
    """Searches the batch that a query failed at; from any thread, one search at a time.

    Args:
        checkpoints: know where queries are, and keep which records are skipped.
        steps: of each query that is searched.
        report: called with a topic and the number of its records that were found.
    """

    def __init__(
        self,
        spark: SparkSession,
        kafka: KafkaAccess,
        checkpoints: Checkpoints,
        digest_key: DigestKey | None,
        steps: Mapping[str, Step],
        report: Callable[[str, int], None],
    ) -> None:
        self._spark, self._kafka, self._checkpoints = spark, kafka, checkpoints
        self._digest_key, self._steps, self._report = digest_key, steps, report
        self._lock = threading.Lock()

    def search(self, query: str) -> bool:
        """Whether it has found what kills this query's workers. That is quarantined then, and skipped from each query's next start on.

        Raises:
            ClientscopeError: more were found within an hour than can be bad luck.
            PySparkException, Py4JJavaError, KafkaError, TimeoutError: it could not be found out.
        """
        with self._lock:
            known = self._checkpoints.topic.read().all(SkippedRecord)
            found_ms = now_ms()
            recent = sum(place.found_ms > found_ms - _HOUR_MS for place in known)
            found: dict[SkippedRecord, bytes] = {}
            try:
                for record, value in self._fatal(self._steps[query], self._checkpoints.next_records(query, LIVE.most), known, found_ms):
                    place = record.topic, record.partition, record.offset
                    log.error("%s, partition %d, offset %d kills its decoder; it is quarantined", *place)
                    found[record] = value
                    if recent + len(found) > MOST_PER_HOUR:
                        raise ClientscopeError(
                            f"query {query}: {recent + len(found)} records within an hour killed the process that decoded them",
                            "so many have one cause: an update of clientscope, pyarrow or numpy, or a client that writes them on purpose;"
                            " see docs/cluster.md, Records that kill",
                        )
            except TimeoutError:  # what was found until then is worth a start without it
                if not found:
                    raise
            if not found:
                return False
            self._quarantine(found)
            self._checkpoints.topic.write(*found)
            self._report(next(iter(found)).topic, len(found))
        return True

    def _fatal(self, step: Step, ranges: Ranges, known: list[SkippedRecord], found_ms: int) -> Iterator[tuple[SkippedRecord, bytes]]:
        """Those that a worker dies of, each with its value."""

        def records(chosen: Ranges) -> DataFrame:
            return between(self._spark, self._kafka, chosen, known)

        for place in fatal_offsets(ranges, lambda chosen: _kills(step(records(chosen))), time.monotonic() + _LONGEST_S):
            rows = records(place).select("topic", "partition", "offset", F.unix_millis("timestamp"), "value").collect()
            for topic, partition, offset, timestamp_ms, value in rows:
                record = SkippedRecord(topic=topic, partition=partition, offset=offset, timestamp_ms=timestamp_ms, found_ms=found_ms)
                yield record, bytes(value or b"")  # a tombstone kills by its key

    def _quarantine(self, found: Mapping[SkippedRecord, bytes]) -> None:
        """Quarantines records as the history queries do: under a key that is the same if this is interrupted and repeated."""
        records: dict[str, bytes | None] = {}
        for record, value in found.items():
            key = json.dumps((record.topic, record.partition, record.offset), separators=(",", ":"))
            records[key] = encode(
                QuarantineRecord(
                    version=1,
                    topic=record.topic,
                    partition=record.partition,
                    offset=record.offset,
                    timestamp_ms=record.timestamp_ms,
                    reason=CRASHED,
                    length=len(value),
                    digest=digest(value, self._digest_key),
                )
            )
        with closing(TopicWriter(self._kafka, QUARANTINE)) as writer:
            writer.write(records)


def fatal_offsets(ranges: Ranges, kills: Callable[[Ranges], bool], until_s: float = math.inf) -> Iterator[Ranges]:
    """Each offset that kills a worker by itself; none of a range that does only as a whole.

    Args:
        kills: whether a worker dies of these records.
        until_s: by the monotonic clock.

    Raises:
        TimeoutError: there was no time for all of them.
    """
    if ranges and time.monotonic() > until_s:
        raise TimeoutError("there is no time left to search for the record that kills")
    if not ranges or not kills(ranges):
        return
    if sum(end - first for first, end in ranges.values()) == 1:
        yield ranges
        return
    for half in _halves(ranges):
        yield from fatal_offsets(half, kills, until_s)


def _halves(ranges: Ranges) -> tuple[Ranges, Ranges]:
    """Both with as many offsets, to one."""
    left = sum(end - first for first, end in ranges.values()) // 2
    one: dict[TopicPartition, OffsetRange] = {}
    other: dict[TopicPartition, OffsetRange] = {}
    for partition, (first, end) in ranges.items():
        middle = min(end, first + left)
        left -= middle - first
        if first < middle:
            one[partition] = OffsetRange(first, middle)
        if middle < end:
            other[partition] = OffsetRange(middle, end)
    return one, other


def _kills(rows: DataFrame) -> bool:
    """Whether a worker dies of these rows.

    Raises:
        PySparkException, Py4JJavaError: they can't be computed for another reason.
    """
    try:
        rows.write.format("noop").mode("overwrite").save()
    except (PySparkException, Py4JJavaError) as error:  # a job that was aborted is the latter
        if not understood(str(error)).fatal_record:
            raise
        return True
    return False
