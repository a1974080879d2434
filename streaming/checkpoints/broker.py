"""Kafka's current state of the topics that queries read: ids, partitions, and offsets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass

from kafka.errors import KafkaError

from clientscope.errors import EnvironmentProblem
from clientscope.kafka.access import Kafka
from clientscope.kafka.admin import AdminClient, connected, no_broker, partition_offsets
from streaming.checkpoints.offsets import Extent, Extents


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
            places = [(name, number) for name, (_, partitions) in seen.items() for number in range(partitions)]
            begins, ends = partition_offsets(self._admin, places, "earliest"), partition_offsets(self._admin, places, "latest")
        except (KafkaError, TimeoutError) as error:
            self.close()
            raise no_broker(self._kafka, error) from None
        extents: dict[str, dict[int, Extent]] = {name: {} for name in seen}
        for name, number in places:
            extents[name][number] = Extent(begins[name, number], ends[name, number])
        return TopicsNow({name: topic_id for name, (topic_id, _) in seen.items()}, extents)

    def close(self) -> None:
        """Closes the connections; the next call makes new ones."""
        admin, self._admin = self._admin, None
        if admin is not None:
            admin.close()


def at_time(kafka: Kafka, topic: str, extents: Mapping[int, Extent], time_ms: int) -> dict[int, int]:
    """Each partition's first offset whose record was appended then or later; its end where there is none.

    Args:
        time_ms: since the epoch, by Kafka's clock (our topics have LogAppendTime).

    Raises:
        EnvironmentProblem: no broker answers.
    """
    try:
        with closing(connected(kafka)) as admin:
            first = partition_offsets(admin, [(topic, number) for number in extents], time_ms)
    except (KafkaError, TimeoutError) as error:
        raise no_broker(kafka, error) from None
    return {number: first[topic, number] if first[topic, number] >= 0 else extent.end for number, extent in extents.items()}


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
