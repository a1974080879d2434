"""Which of several copies delivers: the one to which Kafka's group coordinator gives the first partition of ``clientscope.deliveries``.

The others stand by.  Findings are few however large the fleet is, so copies are for when one dies, not for throughput; and were the
findings divided among them, each copy would tell of its part of a group in a message of its own.
"""

from __future__ import annotations

import threading
from contextlib import suppress
from typing import Literal

from kafka import ConsumerRebalanceListener, KafkaConsumer, TopicPartition
from kafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor
from kafka.errors import KafkaError

from clientscope.kafka_access import Kafka, access
from clientscope.records.topics import DELIVERIES

GROUP = "clientscope-deliver"

SESSION_MS = 6_000
"""A copy that says nothing for so long has lost its turn; brokers take no less by default (group.min.session.timeout.ms)."""

_HAND_OVER_S = 20.0
_JOIN_MS = 3_000
_POLL_MS = 1_000

Whose = Literal["unknown", "ours", "another's"]


class Turn:
    """Membership in the group, in a thread of its own.

    A poll that returns before joining is over begins to join anew with the next one, so it must wait for that.
    """

    def __init__(self, kafka: Kafka) -> None:
        """``term`` counts how often a turn of ours has ended.

        Raises:
            KafkaError: no broker answers.
        """
        self.term = 0
        self._whose: Whose = "unknown"
        self._released = threading.Event()
        self._ended = threading.Event()
        self._consumer = KafkaConsumer(
            **access(kafka).client_arguments(),
            client_id="clientscope-deliver",
            group_id=GROUP,
            enable_auto_commit=False,
            auto_offset_reset="latest",
            session_timeout_ms=SESSION_MS,
            heartbeat_interval_ms=SESSION_MS // 4,
            max_poll_interval_ms=60_000,
            partition_assignment_strategy=[StickyPartitionAssignor],  # a copy that joins takes nobody's turn
        )
        self._consumer.subscribe([DELIVERIES], listener=_Listener(self))
        self._thread = threading.Thread(target=self._run, name="deliver-turn", daemon=True)
        self._thread.start()

    def whose(self) -> Whose:
        """Whose turn it is; whoever delivers and finds it isn't theirs calls `release` once it has ended."""
        return self._whose

    def release(self) -> None:
        """We have ended: the next copy may begin.  One that waits in vain begins nevertheless."""
        self._released.set()

    def is_alive(self) -> bool:
        """Whether its thread runs."""
        return self._thread.is_alive()

    def close(self) -> None:
        """Leaves the group, so that another copy goes on at once."""
        self._released.set()
        self._ended.set()
        self._thread.join(_JOIN_MS / 1000 + 5)

    def _run(self) -> None:
        try:
            while not self._ended.is_set():
                try:
                    self._consumer.poll(timeout_ms=_JOIN_MS if self._whose == "unknown" else _POLL_MS, max_records=1)
                    assigned = self._consumer.assignment()
                    if assigned:
                        self._consumer.pause(*assigned)
                except KafkaError:
                    self._ended.wait(1.0)  # deliver's own topics say that Kafka is away; the consumer comes back by itself
        finally:
            self._whose = "unknown"
            with suppress(KafkaError):
                self._consumer.close()

    def revoked(self) -> None:
        """Waits until we have ended, so that the next copy sees all that we have written."""
        was = self._whose
        if was == "ours":
            self._released.clear()  # before anybody sees that it has ended
            self.term += 1
        self._whose = "unknown"
        if was == "ours":
            self._released.wait(_HAND_OVER_S)

    def assigned(self, partitions: set[TopicPartition]) -> None:
        """What the coordinator decided."""
        self._whose = "ours" if TopicPartition(DELIVERIES, 0) in partitions else "another's"


class _Listener(ConsumerRebalanceListener):  # type: ignore[misc]  # kafka-python has no types
    def __init__(self, turn: Turn) -> None:
        self._turn = turn

    def on_partitions_revoked(self, revoked: object) -> None:
        self._turn.revoked()

    def on_partitions_assigned(self, assigned: set[TopicPartition]) -> None:
        self._turn.assigned(set(assigned))

    def on_partitions_lost(self, lost: object) -> None:
        self._turn.revoked()
