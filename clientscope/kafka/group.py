"""Reader of a compacted topic as a member of a consumer group, which commits how far it has dealt with it.

What of kafka-python 3.0.12 is worked around:

- A poll that ends before it has joined the group starts the join again with the next one (coordinator/base.py, ``ensure_active_group``):
  `GroupReader.poll` waits for longer until partitions are assigned. To be removed once a join outlives a poll.
- The default range assignor gives a partition to any member that joins; the sticky one leaves it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kafka import ConsumerRebalanceListener, KafkaConsumer, OffsetAndMetadata, TopicPartition
from kafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor

from clientscope.kafka.access import Kafka, access, bootstrapped

_JOIN_S = 3.0
_ANSWER_MS = 5_000

_POLL_INTERVAL_MS = 5 * 60_000
"""The longest that the caller may take between two calls of `poll`; then its partitions go to another member."""


class GroupReader:
    """For one thread.  Each change of the assignment begins anew: all partitions are read from their beginnings once more.

    Attributes:
        term: counts assignments; what was read in an earlier one counts no more.
        committed: by partition, up to where the group had dealt with it when the term began; None where it never had.
    """

    def __init__(self, kafka: Kafka, client_id: str, group: str, topic: str, session_ms: int) -> None:
        """
        Raises:
            KafkaError: no broker answers.
        """
        self.term = 0
        self.committed: dict[int, int | None] = {}
        self._topic = topic
        self._ends: dict[TopicPartition, int] = {}
        self._begun = False
        self._listener = _Listener()
        self._consumer = bootstrapped(
            KafkaConsumer,
            **access(kafka).client_arguments(),
            client_id=client_id,
            group_id=group,
            enable_auto_commit=False,
            auto_offset_reset="earliest",
            session_timeout_ms=session_ms,
            heartbeat_interval_ms=session_ms // 4,
            max_poll_interval_ms=_POLL_INTERVAL_MS,
            partition_assignment_strategy=[StickyPartitionAssignor],
        )
        self._consumer.subscribe([topic], listener=self._listener)

    def poll(self, timeout_s: float) -> list[Any]:
        """New records, in the order of their offsets within each partition.

        Raises:
            KafkaError, TimeoutError: Kafka refuses; the next call tries again.
        """
        batches = self._consumer.poll(timeout_ms=int(1000 * (timeout_s if self._listener.is_member else _JOIN_S)))
        if self._listener.is_new or not self._listener.is_member:
            self._begun, self._listener.is_new = False, False
        if not self._begun:
            if self._listener.is_member:
                self._begin()
            return []
        return [record for records in batches.values() for record in records]

    def has_caught_up(self) -> bool:
        """True once everything has been read that was there when the term began; a member without partitions has nothing to read."""
        self._ends = {partition: end for partition, end in self._ends.items() if (self._position(partition) or 0) < end}
        return self._begun and not self._ends

    def commit(self, unsettled: Mapping[int, int]) -> None:
        """Commits the position of each partition, or the first record that isn't settled yet.

        Args:
            unsettled: by partition, the offset of that record.

        Raises:
            KafkaError: Kafka refuses; a later call commits more.
        """
        offsets = {}
        for partition in self._consumer.assignment():
            position = self._position(partition)
            offset = unsettled.get(partition.partition, position)
            if offset is not None and offset > (self.committed.get(partition.partition) or 0):
                offsets[partition] = OffsetAndMetadata(offset, "", -1)
        if offsets:
            self._consumer.commit(offsets, timeout_ms=_ANSWER_MS)
            self.committed |= {partition.partition: kept.offset for partition, kept in offsets.items()}

    def close(self) -> None:
        """Leaves the group, so that another member continues at once."""
        self._consumer.close(autocommit=False, timeout_ms=1_000)

    def _begin(self) -> None:
        partitions = sorted(self._consumer.assignment())
        try:
            firsts = self._consumer.beginning_offsets(partitions, timeout_ms=_ANSWER_MS) if partitions else {}
            ends = self._consumer.end_offsets(partitions, timeout_ms=_ANSWER_MS) if partitions else {}
            committed = {each: self._consumer.committed(each, timeout_ms=_ANSWER_MS) for each in partitions}
            for partition in partitions:
                self._consumer.seek(partition, firsts[partition])
        except KeyError:  # a leader is away
            raise TimeoutError(f"{self._topic} has a partition without a leader") from None
        self._ends = dict(ends)
        self.committed = {partition.partition: offset for partition, offset in committed.items()}
        self._begun = True
        self.term += 1

    def _position(self, partition: TopicPartition) -> int | None:
        position = self._consumer.position(partition, timeout_ms=100)
        return None if position is None else int(position)


class _Listener(ConsumerRebalanceListener):
    """Called within `KafkaConsumer.poll`, where no other request may be made."""

    def __init__(self) -> None:
        self.is_member = False
        self.is_new = False

    def on_partitions_revoked(self, revoked: object) -> None:
        self.is_member = False

    def on_partitions_assigned(self, assigned: object) -> None:
        self.is_member = self.is_new = True

    def on_partitions_lost(self, lost: object) -> None:
        self.is_member = False
