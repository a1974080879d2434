"""Kafka's current state of the topics that queries read: ids, partitions, offsets; ranges that can't be read any more; and a watch over it.

Spark's Kafka source knows a topic by its name.  One that is deleted and made again it reads on from the old offset, as soon as there is
one, without a word."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import TypeAlias

from kafka import TopicPartition
from kafka.errors import KafkaError

from clientscope.background import Background
from clientscope.errors import EnvironmentProblem
from clientscope.kafka.access import Kafka
from clientscope.kafka.admin import AdminClient, broker_errors, connected, no_broker, partition_offsets
from clientscope.kafka.reader import OffsetRange

Offsets: TypeAlias = Mapping[TopicPartition, int]
"""The next record to read of each partition."""

EARLIEST = -2
"""Spark's and Kafka's number for where a partition begins now."""

Extents: TypeAlias = Mapping[TopicPartition, OffsetRange]
"""What each partition holds now."""


@dataclass(frozen=True)
class TopicsNow:
    """What a cluster says now.

    Attributes:
        ids: Kafka's own of each topic, which one that is deleted and made again doesn't keep (KIP-516); None where the broker has none.
        extents: what the partitions hold.
    """

    ids: Mapping[str, str | None]
    extents: Extents


def ask(kafka: Kafka, names: Iterable[str]) -> TopicsNow:
    """Asks for topics, by name.

    Raises:
        EnvironmentProblem: no broker answers, or a topic is missing.
    """
    with closing(Asking(kafka, names)) as asking:
        return asking()


class Asking:
    """`ask` again and again, over the same connections; for one thread.  The caller that made it closes it."""

    def __init__(self, kafka: Kafka, names: Iterable[str]) -> None:
        self._kafka, self._names = kafka, sorted(set(names))
        self._admin: AdminClient | None = None

    def __call__(self) -> TopicsNow:
        """The same as `ask`."""
        try:
            if self._admin is None:
                self._admin = connected(self._kafka)
            seen = _seen(self._admin, self._names)
            places = [TopicPartition(name, number) for name, (_, partitions) in seen.items() for number in range(partitions)]
            begins, ends = partition_offsets(self._admin, places, "earliest"), partition_offsets(self._admin, places, "latest")
        except (KafkaError, TimeoutError) as error:
            self.close()
            raise no_broker(self._kafka, error) from None
        extents = {place: OffsetRange(begins[place], ends[place]) for place in places}
        return TopicsNow({name: topic_id for name, (topic_id, _) in seen.items()}, extents)

    def close(self) -> None:
        """Closes the connections; the next call makes new ones."""
        admin, self._admin = self._admin, None
        if admin is not None:
            admin.close()


def at_time(kafka: Kafka, extents: Extents, time_ms: int) -> Offsets:
    """Each partition's first offset whose record was appended then or later; its end where there is none.

    Args:
        time_ms: since the epoch, by Kafka's clock (our topics have LogAppendTime).

    Raises:
        EnvironmentProblem: no broker answers.
    """
    with broker_errors(kafka), closing(connected(kafka)) as admin:
        first = partition_offsets(admin, extents, time_ms)
    return {place: first[place] if first[place] >= 0 else extent.end for place, extent in extents.items()}


def _seen(admin: AdminClient, names: list[str]) -> dict[str, tuple[str | None, int]]:
    """Each topic's id and number of partitions."""
    described = {one["name"]: one for one in admin.describe_topics(names)}
    if missing := [name for name in names if not described[name]["partitions"]]:
        raise EnvironmentProblem(f"topics are missing: {', '.join(missing)}", "run: clientscope topics")
    return {name: (_id(described[name].get("topic_id")), len(described[name]["partitions"])) for name in names}


def _id(topic_id: object) -> str | None:
    """In Kafka a zero id means none; brokers before 2.8 send no ids (KIP-516)."""
    text = str(topic_id or "")
    return text if text.strip("0-") else None


log = logging.getLogger(__name__)

EVERY_S = 5.0


class TopicWatch(Background):
    """Asks Kafka every five seconds, in a thread of its own, so that nothing else waits for a broker that doesn't answer.

    Args:
        ask: asks Kafka for the topics' current state; used in that thread alone.
        stale: says which queries have to begin anew, given that, and which of their topics is another one.
        refused: called with each of them and that, until it has.
        back: called when Kafka answers again after it didn't.

    Attributes:
        away: why Kafka doesn't answer, or which topic is missing, and what to do; empty where all is well.
    """

    def __init__(
        self,
        ask: Callable[[], TopicsNow],
        stale: Callable[[TopicsNow], Mapping[str, str]],
        refused: Callable[[str, str], None],
        back: Callable[[], None] = lambda: None,
    ) -> None:
        self._ask, self._stale, self._refused, self._back = ask, stale, refused, back
        self.away = ""
        super().__init__("topics")

    def look(self) -> None:
        """One look."""
        try:
            now = self._ask()
        except EnvironmentProblem as problem:
            # A topic or a broker is away: its queries fail, and hear why when they are started again.
            self.away = f"{problem}; {problem.hint}" if problem.hint else str(problem)
            return
        if self.away:
            self.away = ""
            self._back()
        for query, another in self._stale(now).items():
            self._refused(query, another)

    def _run(self) -> None:
        while not self._stopping.wait(EVERY_S):
            try:
                self.look()
            except Exception:  # one check is missed; the queries keep running
                log.exception("whether topics are still the same could not be seen")
