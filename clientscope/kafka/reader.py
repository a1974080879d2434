"""Reader of topics: ranges of partitions up to the ends known at the start, and records that follow.

Every loop over a consumer is here, so that none waits without end. What of kafka-python 3.0.12 is worked around:

- ``KafkaConsumer.position`` is None where an offset reset is not over (consumer/group.py:920); it can wait for ever without ``timeout_ms``
  (dpkp/kafka-python#1346). Readers seek to explicit offsets, and pass a timeout.
- ``partitions_for_topic`` waits for ever for metadata, and asks for all topics of the cluster (consumer/group.py:735). `TopicReader.ranges`
  asks for its topics alone. To be removed once it takes a timeout.
- ``end_offsets`` leaves out partitions without a leader, and raises KeyError (consumer/fetcher.py:823 and 537); ``offsets_for_times`` says
  None of them, as where nothing is so young, and is asked behind the others. To be removed once they retry or raise.
- ``auto_offset_reset`` is ``latest`` by default: a reader whose next record was deleted would skip all others. Not a fault, but Kafka's own
  default; readers use ``earliest``.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from kafka import KafkaConsumer, TopicPartition
from kafka.errors import KafkaError, KafkaTimeoutError
from kafka.protocol.metadata import MetadataRequest

from clientscope.kafka.access import Kafka, access, bootstrapped

_SILENCE_S = 30.0
"""How long Kafka may give nothing new of what is known to be there."""

_FETCH_BYTES = 8 * 1024 * 1024
_PARTITION_BYTES = 1024 * 1024
_AT_ONCE = 2_000
_POLL_S = 0.5
_PAUSE_S = 0.1
_GROWN_MS = 30_000
"""How soon partitions that a topic gets are known."""

Batches = Mapping[TopicPartition, Sequence[Any]]
"""kafka-python's records, by partition, in the order of their offsets."""


class OffsetRange(NamedTuple):
    """A range of a partition: the first offset to read, and the one after the last."""

    first: int
    end: int


class TopicReader:
    """A consumer without a group. For one thread at a time.

    The ends of the ranges are log ends. A position passes compacted offsets and transactions' markers as it passes records, so it reaches
    them, whatever is left of the records before.

    Args:
        silence_s: the longest that connecting, asking for offsets, or waiting for the next record may take.
        fetch_bytes: the most that a broker sends at once (one batch, where that is larger); what is read and not yet taken is at most twice
            that for each broker.
        wait_ms: how long a broker may hold back an empty answer; a new `seek` waits for it.
    """

    def __init__(
        self, kafka: Kafka, client_id: str, *, silence_s: float = _SILENCE_S, fetch_bytes: int = _FETCH_BYTES, wait_ms: int = 500
    ) -> None:
        """
        Raises:
            KafkaError: no broker answers.
            TimeoutError: there is no time to ask one.
        """
        self._silence_s = silence_s
        self._ranges: dict[TopicPartition, OffsetRange] = {}
        self._unread: set[TopicPartition] = set()
        self._growing: frozenset[str] = frozenset()
        timeout_ms = _milliseconds(silence_s)
        self._consumer = bootstrapped(
            KafkaConsumer,
            **access(kafka).client_arguments(),
            client_id=client_id,
            group_id=None,
            enable_auto_commit=False,
            auto_offset_reset="earliest",
            isolation_level="read_committed",
            bootstrap_timeout_ms=timeout_ms,
            request_timeout_ms=timeout_ms,
            fetch_max_wait_ms=min(wait_ms, timeout_ms // 2),  # kafka-python wants it below the others
            fetch_max_bytes=fetch_bytes,
            max_partition_fetch_bytes=min(fetch_bytes, _PARTITION_BYTES),
            max_poll_records=_AT_ONCE,
            metadata_max_age_ms=min(_GROWN_MS, timeout_ms),
        )

    def ranges(
        self, *topics: str, since_ms: Mapping[str, int] = MappingProxyType({}), until: float = math.inf
    ) -> dict[TopicPartition, OffsetRange]:
        """Each partition of those topics that exist, from its beginning to its end now.

        Args:
            since_ms: by topic: begin at the first record that was appended then or later; at the end where there is none.
            until: by the monotonic clock.

        Raises:
            KafkaError, TimeoutError: a partition's leader doesn't answer, or there is none.
        """
        until = min(until, time.monotonic() + self._silence_s)
        partitions = list(self._leaders(topics, until - time.monotonic()))
        if not partitions:
            return {}
        firsts = self._offsets(self._consumer.beginning_offsets, partitions, until)
        ends = self._offsets(self._consumer.end_offsets, partitions, until)
        timed = {partition: since_ms[partition.topic] for partition in partitions if partition.topic in since_ms}
        found = self._consumer.offsets_for_times(timed, timeout_ms=_left_ms(until)) if timed else {}
        firsts |= {partition: found[partition].offset if found.get(partition) else ends[partition] for partition in timed}
        return {partition: OffsetRange(firsts[partition], ends[partition]) for partition in partitions}

    def ends(self) -> dict[TopicPartition, int]:
        """Where the partitions that are read end now.

        Raises:
            KafkaError, TimeoutError: as `ranges`.
        """
        return self._offsets(self._consumer.end_offsets, self._ranges, time.monotonic() + self._silence_s)

    def seek(self, ranges: Mapping[TopicPartition, OffsetRange], *, growing: bool = False) -> None:
        """Reads these, and nothing else, from now on.

        Args:
            growing: also partitions that their topics get later, from their beginning; `poll` and `ends` have them once they are known.
        """
        self._ranges, self._unread = dict(ranges), set(ranges)
        self._growing = frozenset(partition.topic for partition in ranges) if growing else frozenset()
        self._consumer.assign(list(ranges))
        for partition, (first, _) in ranges.items():
            self._consumer.seek(partition, first)

    def extend(self) -> None:
        """Moves the ends of the ranges to where their partitions end now: `read` continues to there.

        Raises:
            KafkaError, TimeoutError: as `ranges`.
        """
        ends = self.ends()
        self._ranges = {partition: OffsetRange(first, ends[partition]) for partition, (first, _) in self._ranges.items()}
        self._unread = set(ends)

    def read(self, until: float = math.inf) -> Iterator[Batches]:
        """All records up to the ends of the ranges, and those behind them that come along. `poll` continues from there.

        Args:
            until: by the monotonic clock.

        Raises:
            TimeoutError: Kafka gave nothing of what is left for ``silence_s``, or ``until`` is over; names a partition.
            KafkaError: Kafka refuses.
        """
        reached: dict[TopicPartition, int] = {}
        waited, since = 0.0, time.monotonic()  # without the time that the caller takes for the records
        while behind := self._behind():
            now = time.monotonic()
            waited += now - since
            since = now
            # Only what is further than ever counts: a partition that is made again, or another one that grows, does not.
            if any(position > reached.get(partition, -1) for partition, position in behind.items()):
                waited = 0.0
            reached |= {partition: max(position, reached.get(partition, -1)) for partition, position in behind.items()}
            if waited > self._silence_s or now >= until:
                raise TimeoutError(self._why(behind))
            if batches := self.poll(min(_POLL_S, until - now)):
                waited += time.monotonic() - since
                yield batches
                since = time.monotonic()

    def poll(self, timeout_s: float = 0.0) -> Batches:
        """What is new, at once where there is something.

        Raises:
            KafkaError: Kafka refuses; the next call continues.
        """
        self._grow()
        found: Batches = self._consumer.poll(timeout_ms=int(timeout_s * 1000))
        return found

    def _grow(self) -> None:
        """Takes in partitions that are new; they are read to their ends once `extend` has asked for those."""
        known = self._consumer._manager.cluster.partitions_for_topic
        now = {TopicPartition(topic, number) for topic in self._growing for number in known(topic) or ()}
        if new := now - self._ranges.keys():
            self._ranges |= dict.fromkeys(sorted(new), OffsetRange(0, 0))
            self._consumer.assign(list(self._ranges))  # the others stay where they are
            for partition in new:
                self._consumer.seek(partition, 0)

    def has_caught_up(self) -> bool:
        """Whether the ends of the ranges have been reached; without a range there is none."""
        return bool(self._ranges) and not self._behind()

    def position(self, partition: TopicPartition) -> int:
        """Of the next record; where the range begins while Kafka is asked where the partition does, since the next record is gone."""
        position = self._consumer.position(partition, timeout_ms=int(_PAUSE_S * 1000))
        return self._ranges[partition].first if position is None else int(position)

    def positions(self) -> dict[TopicPartition, int]:
        """`position` of each partition that is read. It passes what compaction took away, where the last record read doesn't."""
        return {partition: self.position(partition) for partition in self._ranges}

    def close(self) -> None:
        """Ends it."""
        self._consumer.close(autocommit=False, timeout_ms=1_000)

    def _behind(self) -> dict[TopicPartition, int]:
        """Positions of those that have not reached their ends."""
        positions = {partition: self.position(partition) for partition in self._unread}
        behind = {partition: position for partition, position in positions.items() if position < self._ranges[partition].end}
        self._unread = set(behind)
        return behind

    def _why(self, behind: Iterable[TopicPartition]) -> str:
        try:
            leaders = self._leaders({partition.topic for partition in behind}, 1.0)
        except KafkaError:
            leaders = dict.fromkeys(behind, 0)  # no broker answers, which says nothing about a partition
        return _not_read(behind, leaders)

    def _leaders(self, topics: Iterable[str], timeout_s: float) -> dict[TopicPartition, int]:
        """The node that leads each partition of those topics that exist; -1 for none."""
        request = MetadataRequest(
            topics=[MetadataRequest.MetadataRequestTopic(name=topic) for topic in topics], allow_auto_topic_creation=False
        )
        manager = self._consumer._manager
        response = manager.run(manager.wait_for, manager.call_soon(manager.send, request), _milliseconds(timeout_s))
        return {
            TopicPartition(topic.name, partition.partition_index): partition.leader_id
            for topic in response.topics
            for partition in sorted(topic.partitions, key=lambda each: int(each.partition_index))
        }

    def _offsets(
        self, ask: Callable[..., dict[TopicPartition, int]], partitions: Iterable[TopicPartition], until: float
    ) -> dict[TopicPartition, int]:
        asked = list(partitions)
        while True:
            try:
                return dict(ask(asked, timeout_ms=_left_ms(until)))
            except (KeyError, KafkaTimeoutError):  # a leader is away or gone, or kafka-python hasn't heard of it yet
                if time.monotonic() + _PAUSE_S > until:
                    raise TimeoutError(self._why(asked)) from None
                time.sleep(_PAUSE_S)


def _not_read(behind: Iterable[TopicPartition], leaders: Mapping[TopicPartition, int]) -> str:
    """The error for partitions that were not read; it names the first one that explains it."""
    for reason, missing in (("is gone", None), ("has no leader", -1)):
        for topic, number in sorted(behind):
            if leaders.get(TopicPartition(topic, number)) == missing:
                return f"{topic} could not be read to its end: partition {number} {reason}"
    topic, number = min(behind)
    return f"{topic} could not be read to its end: no answer from the leader of partition {number}"


def _left_ms(until: float) -> int:
    return _milliseconds(until - time.monotonic())


def _milliseconds(seconds: float) -> int:
    if seconds <= 0:
        raise TimeoutError("no time is left")
    return max(1, int(seconds * 1000))
