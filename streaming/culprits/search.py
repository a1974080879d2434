"""Search for the record that kills a query's workers; all queries then continue without it."""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Callable, Container, Mapping
from contextlib import closing

from clientscope.clock import now_ms
from clientscope.config import StreamSettings
from clientscope.digest import DigestKey
from clientscope.errors import ClientscopeError
from clientscope.kafka.access import KafkaAccess
from clientscope.kafka.writer import TopicWriter
from clientscope.records.topics import QUARANTINE
from streaming.checkpoints.job_records import SkippedRecord
from streaming.checkpoints.job_topic import JobTopic
from streaming.culprits.failed_batch import SuspectRecord, failed_range, fetch
from streaming.culprits.probe import Kernel, Probe
from streaming.failures import Failure
from streaming.job_metrics import CRASHED
from udfs.kernels.quarantine import digest

log = logging.getLogger(__name__)

MOST_PER_HOUR = 10
_HOUR_MS = 3_600_000
_LONGEST_S = 120.0


class Culprits:
    """Searches the batch of a failed query; from any thread, one search at a time.

    Args:
        kernels: what each query's workers run over its records' values.
        report: called with a topic and the number of its records that were found.
    """

    def __init__(
        self,
        settings: StreamSettings,
        topic: JobTopic,
        digest_key: DigestKey | None,
        kernels: Mapping[str, Kernel],
        report: Callable[[str, int], None],
    ) -> None:
        self._topic = topic
        self._settings, self._digest_key, self._kernels, self._report = settings, digest_key, kernels, report
        self._lock = threading.Lock()

    def search(self, query: str, failure: Failure) -> bool:
        """Whether it has found what kills this query's workers. That is quarantined then, and skipped from each query's next start on.

        Raises:
            ClientscopeError: more were found within an hour than can be bad luck.
            KafkaError, TimeoutError, OSError: it could not be found out.
        """
        with self._lock:
            known = {place.place: place for place in self._topic.read().skipped.values()}
            found = self._found(query, failure, known)
            if not found:
                return False
            found_ms = now_ms()
            recent = sum(place.found_ms > found_ms - _HOUR_MS for place in known.values())
            if recent + len(found) > MOST_PER_HOUR:
                raise ClientscopeError(
                    f"query {query}: {recent + len(found)} records within an hour killed the process that decoded them",
                    "so many have one cause: an update of clientscope, pyarrow or numpy, or a client that writes them on purpose;"
                    " see docs/cluster.md, Records that kill",
                )
            self._quarantine(found)
            self._topic.write(*(_skipped(record, found_ms) for record in found))
            self._report(found[0].topic, len(found))
        return True

    def _found(self, query: str, failure: Failure, known: Container[tuple[str | int, ...]]) -> list[SuspectRecord]:
        chosen = failed_range(failure)
        deadline = time.monotonic() + _LONGEST_S
        found: list[SuspectRecord] = []
        with Probe(self._kernels[query]) as probe:
            for chunk in fetch(KafkaAccess.of(self._settings), chosen):
                fresh = [record for record in chunk if (record.topic, record.partition, record.offset) not in known]
                deadly = probe.fatal([record.value for record in fresh], MOST_PER_HOUR + 1 - len(found))
                found += [fresh[position] for position in deadly]
                if time.monotonic() > deadline or len(found) > MOST_PER_HOUR:
                    break
        for record in found:
            log.error("%s, partition %d, offset %d kills its decoder; it is quarantined", record.topic, record.partition, record.offset)
        return found

    def _quarantine(self, found: list[SuspectRecord]) -> None:
        """Quarantines records as the history queries do: under a key that is the same if this is interrupted and repeated."""
        records: dict[str, bytes | None] = {}
        for record in found:
            value = {
                "version": 1,
                "topic": record.topic,
                "partition": record.partition,
                "offset": record.offset,
                "timestamp_ms": record.timestamp_ms,
                "reason": CRASHED,
                "length": len(record.value),
                "digest": digest(record.value, self._digest_key),
            }
            key = json.dumps([record.topic, record.partition, record.offset], separators=(",", ":"))
            records[key] = json.dumps(value, separators=(",", ":")).encode()
        with closing(TopicWriter(KafkaAccess.of(self._settings), QUARANTINE)) as writer:
            writer.write(records)


def _skipped(record: SuspectRecord, found_ms: int) -> SkippedRecord:
    return SkippedRecord(
        topic=record.topic, partition=record.partition, offset=record.offset, timestamp_ms=record.timestamp_ms, found_ms=found_ms
    )
