"""Membership in a consumer group of one topic, for its assignment only: nothing is read or committed.

What of kafka-python 3.0.12 is worked around:

- A poll that ends before it has joined the group starts the join again with the next one (coordinator/base.py, ``ensure_active_group``):
  `GroupMember.poll` waits for longer while nothing is known. To be removed once a join outlives a poll.
- The default range assignor gives a partition to any member that joins; the sticky one leaves it.
"""

from __future__ import annotations

from collections.abc import Callable

from kafka import ConsumerRebalanceListener, KafkaConsumer, TopicPartition
from kafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor

from clientscope.kafka.access import Kafka, access
from clientscope.kafka.bootstrap import bootstrapped

JOIN_S = 3.0
_POLL_S = 1.0


class GroupMember:
    """For one thread at a time, which calls `poll` again and again.

    Args:
        session_ms: a member that says nothing for so long has lost what it was assigned.
        assigned: what the coordinator decided: topics and partitions.
        revoked: called before others get what was assigned; the group waits for it.
    """

    def __init__(
        self,
        kafka: Kafka,
        client_id: str,
        group: str,
        topic: str,
        *,
        session_ms: int,
        assigned: Callable[[set[tuple[str, int]]], None],
        revoked: Callable[[], None],
    ) -> None:
        """
        Raises:
            KafkaError: no broker answers.
        """
        self._consumer = bootstrapped(
            KafkaConsumer,
            **access(kafka).client_arguments(),
            client_id=client_id,
            group_id=group,
            enable_auto_commit=False,
            auto_offset_reset="latest",
            session_timeout_ms=session_ms,
            heartbeat_interval_ms=session_ms // 4,
            max_poll_interval_ms=60_000,
            partition_assignment_strategy=[StickyPartitionAssignor],
        )
        self._consumer.subscribe([topic], listener=_Listener(assigned, revoked))

    def poll(self, *, joining: bool) -> None:
        """Does what membership needs.

        Args:
            joining: whether nothing was assigned yet.

        Raises:
            KafkaError: Kafka refuses; the next call tries again.
        """
        self._consumer.poll(timeout_ms=int(1000 * (JOIN_S if joining else _POLL_S)), max_records=1)
        if assigned := self._consumer.assignment():
            self._consumer.pause(*assigned)

    def close(self) -> None:
        """Leaves the group.

        Raises:
            KafkaError: it could not say so.
        """
        self._consumer.close()


class _Listener(ConsumerRebalanceListener):
    def __init__(self, assigned: Callable[[set[tuple[str, int]]], None], revoked: Callable[[], None]) -> None:
        self._assigned, self._revoked = assigned, revoked

    def on_partitions_revoked(self, revoked: object) -> None:
        self._revoked()

    def on_partitions_assigned(self, assigned: set[TopicPartition]) -> None:
        self._assigned({(partition.topic, partition.partition) for partition in assigned})

    def on_partitions_lost(self, lost: object) -> None:
        self._revoked()
