"""What Kafka says of the topics that queries read: ids, partitions, and what they hold."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass

from kafka import TopicPartition
from kafka.admin import KafkaAdminClient, OffsetSpec
from kafka.errors import KafkaError

from clientscope import topics
from clientscope.errors import EnvironmentProblem
from clientscope.kafka_access import Kafka
from streaming.checkpoints.manifest import SeenTopic
from streaming.checkpoints.offsets import Extent, Extents


@dataclass(frozen=True)
class Broker:
    """What a cluster says now."""

    topics: Mapping[str, SeenTopic]
    extents: Extents


def ask(kafka: Kafka, names: Iterable[str]) -> Broker:
    """Asks for topics, by name.

    Raises:
        EnvironmentProblem: no broker answers, or a topic is missing.
    """
    try:
        with closing(topics.admin(kafka)) as admin:
            seen = _seen(admin, sorted(set(names)))
            places = [TopicPartition(name, number) for name, topic in seen.items() for number in range(topic.partitions)]
            begins = admin.list_partition_offsets(dict.fromkeys(places, OffsetSpec.EARLIEST))
            ends = admin.list_partition_offsets(dict.fromkeys(places, OffsetSpec.LATEST))
    except (KafkaError, TimeoutError) as error:
        raise topics.no_broker(kafka, error) from None
    extents: dict[str, dict[int, Extent]] = {name: {} for name in seen}
    for place in places:
        extents[place.topic][place.partition] = Extent(begins[place].offset, ends[place].offset)
    return Broker(seen, extents)


def at_time(kafka: Kafka, topic: str, extents: Mapping[int, Extent], time_ms: int) -> dict[int, int]:
    """Each partition's first offset whose record was appended then or later; its end where there is none.

    Args:
        time_ms: since the epoch, by Kafka's clock (our topics have LogAppendTime).

    Raises:
        EnvironmentProblem: no broker answers.
    """
    try:
        with closing(topics.admin(kafka)) as admin:
            found = admin.list_partition_offsets({TopicPartition(topic, number): time_ms for number in extents})
    except (KafkaError, TimeoutError) as error:
        raise topics.no_broker(kafka, error) from None
    first = {place.partition: answer.offset for place, answer in found.items()}
    return {number: first[number] if first[number] >= 0 else extent.end for number, extent in extents.items()}


def _seen(admin: KafkaAdminClient, names: list[str]) -> dict[str, SeenTopic]:
    described = {one["name"]: one for one in admin.describe_topics(names)}
    if missing := [name for name in names if not described[name]["partitions"]]:
        raise EnvironmentProblem(f"topics are missing: {', '.join(missing)}", "run: clientscope topics")
    return {name: SeenTopic(topic_id=_id(described[name]["topic_id"]), partitions=len(described[name]["partitions"])) for name in names}


def _id(topic_id: object) -> str | None:
    """A zero id is Kafka's way to say that there is none."""
    text = str(topic_id or "")
    return text if text.strip("0-") else None
