"""Owner of ``clientscope.job``: one job at a time, by a transactional id (KIP-98).

A job that starts takes the id over from the one before. The broker then refuses what the older one still writes, and the older one stops
once it reads that another owns the topic. A fenced producer alone says less: the coordinator also fences one whose transaction took too
long, so what counts is the newest `JobOwner`.
"""

from __future__ import annotations

import logging
import os
import socket
import threading
import time
import uuid
from collections.abc import Callable, Sequence
from dataclasses import replace

from kafka.errors import KafkaError, TransactionalIdAuthorizationFailedError

from clientscope.background import Background
from clientscope.clock import now_ms
from clientscope.errors import ClientscopeError
from clientscope.kafka.access import Kafka
from clientscope.kafka.compacted import Follower, read_compacted
from clientscope.kafka.writer import Producer, abandon, new_producer
from clientscope.model.codec import encode_whole
from clientscope.model.topics import JOB
from streaming.checkpoints.job_records import JobOwner, JobRecord, JobState, QueryProgress

log = logging.getLogger(__name__)

TRANSACTIONAL_ID = "clientscope-stream"

HANDOVER_S = 5.0
"""Time that an older job has to notice and to stop its queries, before a newer one starts its own."""

_LOOK_S, _WRITE_S = 1.0, 5.0
_TIMEOUT_S = 10.0
_COMMIT_S, _BETWEEN_READS_S = 2.0, 0.05


class Replaced(ClientscopeError):
    """A newer job has started on this cluster."""

    def __init__(self, by: JobOwner) -> None:
        super().__init__(f"replaced by {by.process}, which started later", "one cluster has one job: stop the one that isn't wanted")


def read_job(kafka: Kafka) -> JobState:
    """What the topic says now, for commands.

    Raises:
        KafkaError, TimeoutError: it can't be read to its end.
    """
    state = JobState()
    state.take(dict(read_compacted(kafka, JOB)))
    return state


class JobTopic(Background):
    """Reads and writes the topic; from any thread. When it stops it writes the last progress, and that this job has stopped.

    Attributes:
        replaced: the error of a job that was replaced; None while it isn't.
    """

    def __init__(self, kafka: Kafka) -> None:
        """
        Raises:
            KafkaError: no broker answers.
        """
        self.replaced: Replaced | None = None
        self._kafka = kafka
        process = f"clientscope stream, process {os.getpid()} on {socket.gethostname()}"
        self._owner = JobOwner(run=uuid.uuid4().hex, process=process, started_ms=now_ms(), running=True)
        self._lock = threading.RLock()
        self._follower = Follower(kafka, JOB)
        self._state = JobState()
        self._producer: Producer | None = None
        self._progress: dict[str, QueryProgress] = {}
        self._written_s = 0.0
        super().__init__("job-topic")

    def take_over(self) -> float:
        """Makes this job the owner, and follows the topic from then on.

        Returns:
            Seconds to wait before queries start, since another job may still run them.

        Raises:
            Replaced: another job has started at the same moment.
            KafkaError, TimeoutError: the topic can't be read or written.
        """
        with self._lock:
            before = self.read().owner
            try:
                self._producer = self._new_producer()
                self._commit(self._producer, [self._owner])
            except TransactionalIdAuthorizationFailedError:
                raise
            except KafkaError:
                # Fenced: by a job that started at the same moment, whose record is on the topic, or by the older one, which does it once.
                if self._producer is not None:
                    abandon(self._producer)
                if self._reads(lambda: self._state.owner != before, _COMMIT_S):
                    self._require_ownership()
                self._producer = self._new_producer()
                self._commit(self._producer, [self._owner])
        self.start()
        if before is None or not before.running:
            return 0.0
        log.warning("takes over from %s: if that still runs, it stops now", before.process)
        return HANDOVER_S

    @property
    def state(self) -> JobState:
        """What the topic said when it was last read or written."""
        return self._state

    def read(self) -> JobState:
        """What the topic says now.

        Raises:
            KafkaError, TimeoutError: it can't be read to its end.
        """
        with self._lock:
            self._state.take(self._follower.read_to_end())
            if not self._follower.has_begun:  # an empty answer must not look like an empty topic
                raise TimeoutError(f"{JOB} is gone")
            return self._state

    def write(self, *records: JobRecord) -> None:
        """Writes records, all of them or none.

        Raises:
            Replaced: another job owns the topic now.
            KafkaError, TimeoutError: Kafka doesn't take them.
        """
        with self._lock:
            if self._producer is not None:
                try:
                    self._commit(self._producer, records)
                except KafkaError as error:
                    log.info("%s could not be written, and is written again: %s", JOB, type(error).__name__)
                    abandon(self._producer)
                    self._producer = None
                else:
                    return
            self._reads(lambda: not self._owns, _COMMIT_S)
            self._require_ownership()
            self._producer = self._new_producer()
            self._commit(self._producer, records)

    def restore(self) -> None:
        """Writes all that is known once more, after the topic was deleted and made again.

        Raises:
            KafkaError, TimeoutError, Replaced: as `write`.
        """
        with self._lock:
            log.error("%s was deleted and made again: what this job knows is written to it", JOB)
            self.write(*self._state.records.values(), self._owner)

    def note(self, progress: QueryProgress) -> None:
        """Has a query's progress written within a few seconds; returns at once."""
        self._progress[progress.query] = progress

    def _run(self) -> None:
        while not self._stopping.wait(_LOOK_S):
            self._look()
        if self.replaced is None:
            self._written_s = 0.0
            self._look([replace(self._owner, running=False)])

    def _look(self, last: Sequence[JobRecord] = ()) -> None:
        try:
            with self._lock:
                self._state.take(self._follower.news())
                self._require_ownership()
                progress = dict(self._progress)
                if (progress or last) and time.monotonic() - self._written_s >= _WRITE_S:
                    self.write(*progress.values(), *last)
                    self._written_s = time.monotonic()
                    for query, written in progress.items():
                        if self._progress[query] is written:  # else there is a newer one already
                            del self._progress[query]
        except Replaced as replaced:
            self.replaced = replaced
        except (KafkaError, TimeoutError, OSError) as error:
            log.warning("%s could not be followed, and is followed later: %s", JOB, type(error).__name__)
        except Exception:  # a job that no longer looks would never see that it was replaced
            log.exception("%s could not be followed, and is followed later", JOB)

    @property
    def _owns(self) -> bool:
        return self._state.owner is not None and self._state.owner.run == self._owner.run

    def _require_ownership(self) -> None:
        if self._state.owner is not None and not self._owns:
            raise Replaced(self._state.owner)

    def _reads(self, expected: Callable[[], bool], patience_s: float) -> bool:
        """Reads until something is so; False if it isn't in time. A transaction's records are readable a moment after its commit."""
        deadline = time.monotonic() + patience_s
        while True:
            self.read()
            if expected() or time.monotonic() > deadline:
                return expected()
            time.sleep(_BETWEEN_READS_S)

    def _new_producer(self) -> Producer:
        producer = new_producer(self._kafka, "clientscope-stream", transactional_id=TRANSACTIONAL_ID)
        producer.init_transactions()
        return producer

    def _commit(self, producer: Producer, records: Sequence[JobRecord]) -> None:
        producer.begin_transaction()
        sent = [producer.send(JOB, key=each.key.encode(), value=encode_whole(each)) for each in records]
        producer.flush(timeout=_TIMEOUT_S)
        for future in sent:
            future.get(timeout=_TIMEOUT_S)
        producer.commit_transaction()
        self._state.take({each.key: encode_whole(each) for each in records})
