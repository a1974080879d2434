"""Writer of records that waits for Kafka's acknowledgement.

What of kafka-python 3.0.12 is worked around:

- An idempotent producer that was refused once for want of a right, or for a record's size, refuses or sends nothing from then on
  (producer/transaction_manager.py:417-423 makes both fatal): `ends_producer` says after which errors another one is made. To
  be removed once a producer continues after these.
- It has no ``buffer.memory``: what is sent and not acknowledged has no bound of its own. A `TopicWriter` waits for each call's records, and
  the gateway's publisher counts its own.
- ``close(timeout=0)`` raises where a record was not sent, before it has ended the producer's thread (producer/kafka.py:695): `abandon`. To
  be removed once it closes first.
- A producer without the right to write retries until ``delivery_timeout_ms``, so `clientscope.topics.verify` checks at the start.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from types import MappingProxyType
from typing import Any, TypeAlias

from kafka import KafkaProducer
from kafka.errors import KafkaError, MessageSizeTooLargeError
from kafka.partitioner.default import murmur2

from clientscope.kafka.access import Kafka, access, bootstrapped

MOVED = "clientscope.moved"
"""Header of a tombstone that clears a key's old place, in a partition that its producers no longer write to: it says nothing of the key."""

Producer: TypeAlias = KafkaProducer

_TIMEOUT_S = 30.0

Headers = list[tuple[str, bytes]]


def new_producer(kafka: Kafka, client_id: str, **settings: int | str) -> Producer:
    """An idempotent producer that waits for all replicas in sync, and by default for nothing to send with a record.

    Raises:
        KafkaError: no broker answers.
    """
    settings = {"acks": "all", "linger_ms": 0, **settings}
    return bootstrapped(KafkaProducer, **access(kafka).client_arguments(), client_id=client_id, **settings)


def ends_producer(error: BaseException) -> bool:
    """Whether the producer that raised it is of no use any more."""
    return isinstance(error, MessageSizeTooLargeError) or not getattr(error, "retriable", False)


def abandon(producer: Producer) -> None:
    """Ends a producer that is of no use any more, whatever it has still to send."""
    producer._sender.force_close()
    with suppress(KafkaError):
        producer.close(timeout=0)


class LastingProducer:
    """A producer whose place another one takes once an error has ended it.

    Args:
        settings: as `new_producer` has them.

    Raises:
        KafkaError: no broker answers.
    """

    def __init__(self, kafka: Kafka, client_id: str, **settings: int | str) -> None:
        self._make = partial(new_producer, kafka, client_id, **settings)
        self._producer = self._make()
        self._ended = False

    def get(self) -> Producer:
        """The producer, or a new one.

        Raises:
            KafkaError: no broker answers.
        """
        if self._ended:
            fresh = self._make()
            ended, self._producer, self._ended = self._producer, fresh, False
            abandon(ended)
        return self._producer

    def failed(self, error: BaseException) -> None:
        """It has raised an error, of which it may have ended. From any thread."""
        self._ended = self._ended or ends_producer(error)

    def close(self, timeout_s: float) -> None:
        """Ends it; waits for what is on its way."""
        if self._ended:
            abandon(self._producer)
        else:
            self._producer.close(timeout=timeout_s)


def partition_of(key: bytes, partitions: Sequence[int]) -> int:
    """Where producers put the records of a key, as Kafka's default partitioner does.

    Args:
        partitions: all of the topic, in order.
    """
    return partitions[int(murmur2(key) & 0x7FFFFFFF) % len(partitions)]


class TopicWriter:
    """Writes records to one topic, and returns once Kafka has acknowledged them. For one thread at a time.

    kafka-python rather than Spark's batch writer: the few changed series are in the driver already, and a Spark job to
    write them would take longer than the writing.
    """

    def __init__(self, kafka: Kafka, topic: str, client_id: str = "clientscope-stream") -> None:
        self._topic = topic
        self._producer = LastingProducer(kafka, client_id)

    def write(
        self,
        records: Mapping[str, bytes | None] | Mapping[bytes, bytes | None],
        headers: Mapping[str, Headers] = MappingProxyType({}),
    ) -> None:
        """A None value is a tombstone.

        Args:
            headers: by key, of those that have any.

        Raises:
            KafkaError: a record was not acknowledged within half a minute; others may have been.
        """
        self._write(lambda producer: [self._send(producer, key, value, headers) for key, value in records.items()])

    def clear(self, partition: int, keys: Iterable[bytes]) -> None:
        """Clears a partition of keys that have newer records in another one.

        Raises:
            KafkaError: as `write`.
        """
        marked: Headers = [(MOVED, b"")]
        self._write(lambda producer: [producer.send(self._topic, key=key, partition=partition, headers=marked) for key in keys])

    def _write(self, send: Callable[[Producer], list[Any]]) -> None:
        producer = self._producer.get()
        try:
            sent = send(producer)
            deadline = time.monotonic() + _TIMEOUT_S
            producer.flush(timeout=_TIMEOUT_S)
            for future in sent:
                future.get(timeout=max(0.0, deadline - time.monotonic()))
        except KafkaError as error:
            self._producer.failed(error)
            raise

    def close(self) -> None:
        """Ends it; waits for what is on its way."""
        self._producer.close(_TIMEOUT_S)

    def _send(self, producer: Producer, key: str | bytes, value: bytes | None, headers: Mapping[str, Headers]) -> Any:
        of_key = headers.get(key) if isinstance(key, str) else None
        return producer.send(self._topic, key=key.encode() if isinstance(key, str) else key, value=value, headers=of_key)
