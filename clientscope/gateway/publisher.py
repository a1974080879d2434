"""Publisher of records to Kafka that never blocks its callers."""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from kafka.errors import KafkaError, MessageSizeTooLargeError

from clientscope.clock import now_ms
from clientscope.kafka.access import Kafka
from clientscope.kafka.writer import LastingProducer

log = logging.getLogger(__name__)

QUEUE_BYTES = 64 * 1024 * 1024
"""The most that the values of waiting records take, however few they are."""

BATCHED: Mapping[str, int | str] = MappingProxyType({"linger_ms": 1_000, "batch_size": 512 * 1024, "compression_type": "zstd"})
"""Records of a second go together, where nothing waits for them: a batch is compressed as a whole, and so what they share costs once."""

_RETRY_PAUSE_S = 1.0
_GATHER_S = 0.02
"""How long a record waits for others where nobody waits for it: each request to Kafka costs CPU, whatever is in it.

Not the producer's ``linger_ms``: that would also hold a record for which a client waits.
"""


@dataclass
class _Entry:
    topic: str
    key: str
    value: bytes = field(repr=False)
    at_once: bool
    done: Future[None] = field(default_factory=Future)


class Publisher:
    """A thread with a bounded queue in front of a kafka-python producer.

    A record is kept, and sent again, until Kafka has acknowledged it (acks=all). Only three things lose one: a queue that is
    full, a topic that takes no record of that size, and a stop before the last acknowledgement; each is counted. One that was
    taken counts against the bound until it is acknowledged: the producer itself has no bound (it lacks ``buffer.memory``).

    Attributes:
        acknowledged_ms: when Kafka last acknowledged a record, in ms since the epoch; None before the first.

    Args:
        count: called once for each record, with ``published``, or with ``lost`` and its reason.
        queue_records: most records that are not acknowledged yet.
        batched: settings of the producer by which records wait for others, to be compressed with them; by default none waits.
    """

    def __init__(self, kafka: Kafka, count: Callable[[str, str], None], queue_records: int = 30_000, **batched: int | str) -> None:
        self._count = count
        self._queue: queue.SimpleQueue[_Entry | None] = queue.SimpleQueue()
        self._queue_records = queue_records
        self._outstanding = 0
        self._outstanding_bytes = 0
        self._failing = False
        self.acknowledged_ms: int | None = None
        self._changed = threading.Condition()
        self._hurry = threading.Event()
        self._producer = LastingProducer(
            kafka,
            "clientscope-gateway",
            retry_backoff_ms=200,
            delivery_timeout_ms=30_000,
            request_timeout_ms=10_000,
            max_block_ms=10_000,
            **batched,
        )
        self._thread = threading.Thread(target=self._run, name="publisher", daemon=True)
        self._thread.start()

    def publish(self, topic: str, key: str, value: bytes, at_once: bool = False) -> Future[None]:
        """Takes a record; returns at once, from any thread. The future is done once Kafka has acknowledged it.

        Args:
            at_once: whether it is sent without waiting for others, since a client waits for it.
        """
        entry = _Entry(topic, key, value, at_once)
        with self._changed:
            full = self._outstanding >= self._queue_records or self._outstanding_bytes + len(value) > QUEUE_BYTES
            if not full:
                self._outstanding += 1
                self._outstanding_bytes += len(value)
                self._queue.put(entry)
        if at_once:
            self._hurry.set()
        if full:
            self._count("lost", "queue_full")
            entry.done.set_exception(RuntimeError("the publishing queue is full"))
        return entry.done

    @property
    def room(self) -> int:
        """How many more records would be taken now. From any thread."""
        return self._queue_records - self._outstanding

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
            self._hurry.set()
        self._producer.close(1 if lost else 5)
        return lost

    def _run(self) -> None:
        while (entry := self._queue.get()) is not None:
            if not entry.at_once:
                self._hurry.wait(_GATHER_S)
            self._hurry.clear()
            self._send(entry)
            for _ in range(self._queue.qsize()):
                if (entry := self._queue.get()) is None:
                    return
                self._send(entry)

    def _send(self, entry: _Entry) -> None:
        if self._failing:
            # One a second tries, until one succeeds: a refusal that comes at once must not become a busy loop.
            time.sleep(_RETRY_PAUSE_S)
        try:
            sent = self._producer.get().send(entry.topic, key=entry.key.encode(), value=entry.value)
        except (KafkaError, AssertionError, RuntimeError) as error:
            self._again(entry, error)
        else:
            sent.add_both(lambda result: self._settled(entry, result))

    def _settled(self, entry: _Entry, result: Any) -> None:
        """Called in the producer's thread."""
        if isinstance(result, BaseException):
            self._producer.failed(result)
            self._again(entry, result)
            return
        if self._failing:
            self._failing = False
            log.warning("Kafka acknowledges records again")
        self.acknowledged_ms = now_ms()
        self._count("published", entry.topic)
        self._leave(entry)
        if not entry.done.done():
            entry.done.set_result(None)

    def _again(self, entry: _Entry, error: BaseException) -> None:
        if isinstance(error, MessageSizeTooLargeError):
            self._lose(entry, "too_large")
            return
        self._producer.failed(error)
        if not self._failing:
            self._failing = True
            log.warning("records for %s are not acknowledged (%s); they are kept and sent again", entry.topic, type(error).__name__)
        self._queue.put(entry)

    def _lose(self, entry: _Entry, reason: str) -> None:
        self._count("lost", reason)
        self._leave(entry)
        if not entry.done.done():
            entry.done.set_exception(RuntimeError(reason))

    def _leave(self, entry: _Entry) -> None:
        with self._changed:
            self._outstanding -= 1
            self._outstanding_bytes -= len(entry.value)
            self._changed.notify_all()
