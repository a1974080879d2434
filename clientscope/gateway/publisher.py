"""Publishing to Kafka without ever making anybody wait."""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

from kafka import KafkaProducer
from kafka.errors import KafkaError, MessageSizeTooLargeError

from clientscope.kafka_access import Kafka, access

log = logging.getLogger(__name__)

QUEUE_RECORDS = 10_000
_RETRY_PAUSE_S = 1.0


@dataclass
class _Entry:
    topic: str
    key: str
    value: bytes = field(repr=False)
    done: Future[None] = field(default_factory=Future)


class Publisher:
    """A thread with a bounded queue in front of a kafka-python producer.

    A record is kept, and sent again, until Kafka has acknowledged it (acks=all). Only three things lose one: a queue that is
    full, a topic that takes no record of that size, and a stop before the last acknowledgement; each is counted.

    Args:
        count: told ``published``, or ``lost`` with its reason, once a record.
    """

    def __init__(self, kafka: Kafka, count: Callable[[str, str], None]) -> None:
        self._count = count
        self._queue: queue.Queue[_Entry | None] = queue.Queue(QUEUE_RECORDS)
        self._outstanding = 0
        self._changed = threading.Condition()
        self._producer = KafkaProducer(
            **access(kafka).client_arguments(),
            client_id="clientscope-gateway",
            acks="all",
            linger_ms=0,
            retry_backoff_ms=200,
            delivery_timeout_ms=30_000,
            request_timeout_ms=10_000,
            max_block_ms=10_000,
        )
        self._thread = threading.Thread(target=self._run, name="publisher", daemon=True)
        self._thread.start()

    def publish(self, topic: str, key: str, value: bytes) -> Future[None]:
        """Takes a record; returns at once, from any thread. The future is done once Kafka has acknowledged it."""
        entry = _Entry(topic, key, value)
        try:
            with self._changed:
                self._queue.put_nowait(entry)
                self._outstanding += 1
        except queue.Full:
            self._count("lost", "queue_full")
            entry.done.set_exception(RuntimeError("the publishing queue is full"))
        return entry.done

    def close(self, patience_s: float = 10.0) -> int:
        """Waits for what is on its way, ``patience_s`` seconds at most; returns how many records were lost."""
        deadline = time.monotonic() + patience_s
        with self._changed:
            while self._outstanding and (left := deadline - time.monotonic()) > 0:
                self._changed.wait(left)
            lost = self._outstanding
        for _ in range(lost):
            self._count("lost", "stopped")
        if not lost:
            self._queue.put(None)
        self._producer.close(timeout=1 if lost else 5)
        return lost

    def _run(self) -> None:
        while (entry := self._queue.get()) is not None:
            try:
                sent = self._producer.send(entry.topic, key=entry.key.encode(), value=entry.value)
            except (KafkaError, AssertionError, RuntimeError) as error:
                self._again(entry, error)
                time.sleep(_RETRY_PAUSE_S)
                continue
            sent.add_both(lambda result, entry=entry: self._settled(entry, result))

    def _settled(self, entry: _Entry, result: Any) -> None:
        """Called in the producer's thread."""
        if isinstance(result, BaseException):
            self._again(entry, result)
            return
        self._count("published", entry.topic)
        with self._changed:
            self._outstanding -= 1
            self._changed.notify_all()
        if not entry.done.done():
            entry.done.set_result(None)

    def _again(self, entry: _Entry, error: BaseException) -> None:
        if isinstance(error, MessageSizeTooLargeError):
            self._lose(entry, "too_large")
            return
        log.warning("a record for %s is not acknowledged (%s); it is sent again", entry.topic, type(error).__name__)
        try:
            self._queue.put_nowait(entry)
        except queue.Full:
            self._lose(entry, "queue_full")

    def _lose(self, entry: _Entry, reason: str) -> None:
        self._count("lost", reason)
        with self._changed:
            self._outstanding -= 1
            self._changed.notify_all()
        if not entry.done.done():
            entry.done.set_exception(RuntimeError(reason))
