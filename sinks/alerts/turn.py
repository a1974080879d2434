"""The choice of the copy that delivers: Kafka's group coordinator assigns it the first partition of ``clientscope.deliveries``.

The others are on standby.  Findings are few however large the fleet is, so copies exist for failover, not for throughput.  If the findings
were divided among copies, each copy would send a message of its own about its part of a group.
"""

from __future__ import annotations

import threading
from contextlib import suppress
from typing import Literal

from kafka.errors import KafkaError

from clientscope.kafka.access import Kafka
from clientscope.kafka.group import JOIN_S, GroupMember
from clientscope.records.topics import DELIVERIES

GROUP = "clientscope-deliver"

SESSION_MS = 6_000
"""A copy that says nothing for so long has lost its turn; brokers take no less by default (group.min.session.timeout.ms)."""

_HAND_OVER_S = 20.0

Whose = Literal["unknown", "ours", "another's"]


class DeliveryTurn:
    """Membership in the group, in a thread of its own."""

    def __init__(self, kafka: Kafka) -> None:
        """``term`` counts how often a turn of ours has ended.

        Raises:
            KafkaError: no broker answers.
        """
        self.term = 0
        self._whose: Whose = "unknown"
        self._released = threading.Event()
        self._ended = threading.Event()
        self._member = GroupMember(
            kafka, "clientscope-deliver", GROUP, DELIVERIES, session_ms=SESSION_MS, assigned=self._assigned, revoked=self._revoked
        )
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
        """Leaves the group, so that another copy continues at once."""
        self._released.set()
        self._ended.set()
        self._thread.join(JOIN_S + 5)

    def _run(self) -> None:
        try:
            while not self._ended.is_set():
                try:
                    self._member.poll(joining=self._whose == "unknown")
                except KafkaError:
                    self._ended.wait(1.0)  # deliver's own topics say that Kafka is away; the consumer comes back by itself
        finally:
            self._whose = "unknown"
            with suppress(KafkaError):
                self._member.close()

    def _revoked(self) -> None:
        """Waits until we have ended, so that the next copy sees all that we have written."""
        was = self._whose
        if was == "ours":
            self._released.clear()  # before anybody sees that it has ended
            self.term += 1
        self._whose = "unknown"
        if was == "ours":
            self._released.wait(_HAND_OVER_S)

    def _assigned(self, partitions: set[tuple[str, int]]) -> None:
        """What the coordinator decided."""
        self._whose = "ours" if (DELIVERIES, 0) in partitions else "another's"
