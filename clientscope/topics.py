"""Creation and verification of clientscope's topics (``clientscope topics``, and every process at its start)."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Mapping
from contextlib import closing
from typing import Any

from kafka.errors import (
    ClusterAuthorizationFailedError,
    KafkaError,
    TopicAuthorizationFailedError,
    UnknownTopicOrPartitionError,
)

from clientscope.errors import EnvironmentProblem
from clientscope.kafka import compacted as latest
from clientscope.kafka.access import Kafka, access
from clientscope.kafka.admin import AdminClient, configs, connected, may_be_idempotent
from clientscope.model.topics import BY_NAME, Topic

_CODE_NAMES = {"Read": "READ", "Write": "WRITE", "DescribeConfigs": "DESCRIBE_CONFIGS"}
"""kafka-python's names of the operations that Kafka's own tools call so."""


KNOWN_S = 10.0
"""How long a broker may take to hear of new topics: each answers by what it knows itself, and any may be asked."""


def no_right(kafka: Kafka, operation: str, topic: str) -> EnvironmentProblem:
    """What to say when an ACL is missing."""
    principal = access(kafka).principal
    return EnvironmentProblem(
        f"{principal} has no right to {operation} on topic {topic}",
        f"kafka-acls.sh --add --allow-principal {principal} --operation {operation} --topic {topic}; all that it needs: docs/security.md",
    )


def no_right_on_transactional_id(kafka: Kafka, transactional_id: str) -> EnvironmentProblem:
    """What to say when an ACL is missing, without which no job can take the place of another."""
    principal = access(kafka).principal
    return EnvironmentProblem(
        f"{principal} has no right to Write on transactional id {transactional_id}",
        f"kafka-acls.sh --add --allow-principal {principal} --operation Write --transactional-id {transactional_id};"
        " all that it needs: docs/security.md",
    )


def create(kafka: Kafka, partitions: int = 1, replication_factor: int = -1, names: Iterable[str] = tuple(BY_NAME)) -> list[str]:
    """Creates those of our topics that are missing, and verifies all; returns the names of the new ones.

    Args:
        partitions: of each new topic.
        replication_factor: of each new topic; -1 for the broker's ``default.replication.factor``.

    Raises:
        EnvironmentProblem: no broker, no right to create, or a topic that exists with other settings.
    """
    wanted = {name: {"DescribeConfigs"} for name in names}
    with closing(connected(kafka)) as client:
        missing = _missing(client, kafka, wanted)
        new = {
            name: {
                "num_partitions": partitions,
                "replication_factor": replication_factor,
                "configs": {**BY_NAME[name].required_configs, "compression.type": "producer"},
            }
            for name in missing
        }
        if new:
            try:
                client.create_topics(new, wait_for_metadata=True)
            except (TopicAuthorizationFailedError, ClusterAuthorizationFailedError):
                raise no_right(kafka, "Create", missing[0]) from None
            except KafkaError as error:
                raise EnvironmentProblem(f"the topics could not be created: {error}") from None
        deadline = time.monotonic() + KNOWN_S
        while not _known(client, kafka, wanted):
            if time.monotonic() > deadline:
                raise EnvironmentProblem("the created topics are missing", "check that all brokers are up, and repeat the command")
            time.sleep(0.1)
    return sorted(missing)


def migrate(kafka: Kafka) -> dict[str, int]:
    """Clears the values that keys have left in earlier partitions of compacted topics; returns how many, by topic.

    Raises:
        EnvironmentProblem: a topic can't be read to its end, or not written.
    """
    cleared = {}
    for topic in BY_NAME.values():
        if topic.retention_days is None:
            try:
                cleared[topic.name] = latest.clear_old_places(kafka, topic.name, "clientscope-topics")
            except (KafkaError, TimeoutError) as error:
                hint = f"{access(kafka).principal} needs Read and Write on {topic.name}; repeat the command once all brokers are up"
                raise EnvironmentProblem(f"earlier partitions of {topic.name} could not be cleared: {error}", hint) from None
    return {name: count for name, count in cleared.items() if count}


def _known(admin: AdminClient, kafka: Kafka, wanted: Mapping[str, Collection[str]]) -> bool:
    """Whether the brokers that are asked know all topics, which then are as they should be."""
    try:
        if _missing(admin, kafka, wanted):
            return False
        _verify(admin, wanted)
    except UnknownTopicOrPartitionError:
        return False
    return True


def verify(kafka: Kafka, reads: Iterable[str] = (), writes: Iterable[str] = ()) -> None:
    """Checks that topics are as `create` makes them, and that we may do with them what we will have to.

    Rather here than later: a producer without a right would keep its records and try again for ever.

    Raises:
        EnvironmentProblem: one is missing, or has another setting than its readers rely on, or a right is missing; names the first such.
    """
    wanted: dict[str, set[str]] = {}
    for operation, names in (("Read", reads), ("Write", writes)):
        for name in names:
            wanted.setdefault(name, {"DescribeConfigs"}).add(operation)
    with closing(connected(kafka)) as client:
        if missing := _missing(client, kafka, wanted):
            raise EnvironmentProblem(f"topics are missing: {', '.join(missing)}", "run: clientscope topics")
        try:
            _verify(client, wanted)
        except UnknownTopicOrPartitionError:
            raise EnvironmentProblem("a broker doesn't know all topics yet", "check that all brokers are up, and start again") from None
        if any("Write" in operations for operations in wanted.values()):
            _verify_producer(client, kafka)


def _verify_producer(admin: AdminClient, kafka: Kafka) -> None:
    """Asks for a producer id, as our idempotent producers will: before Kafka 2.8 that took a right on the cluster (KIP-679).

    Raises:
        EnvironmentProblem: that right is missing.
    """
    if not may_be_idempotent(admin):
        principal = access(kafka).principal
        raise EnvironmentProblem(
            f"{principal} has no right to IdempotentWrite on the cluster, which Kafka before 2.8 requires of every producer",
            f"kafka-acls.sh --add --allow-principal {principal} --operation IdempotentWrite --cluster; all that it needs: docs/security.md",
        )


def _missing(admin: AdminClient, kafka: Kafka, wanted: Mapping[str, Collection[str]]) -> list[str]:
    """Which topics aren't there.

    Raises:
        EnvironmentProblem: a right is missing on one that is there, or may be (KIP-430).
    """
    missing = []
    for described in admin.describe_topics(list(wanted)):
        name = described["name"]
        if described["error_code"] == UnknownTopicOrPartitionError.errno:
            missing.append(name)
            continue
        for operation in lacking(described, wanted[name]):
            raise no_right(kafka, operation, name)
    return missing


def lacking(described: Mapping[str, Any], operations: Collection[str]) -> list[str]:
    """Those of the operations that we may not do with a topic, as DescribeTopics has it; none where a broker doesn't tell (KIP-430)."""
    if described["error_code"] == TopicAuthorizationFailedError.errno:
        # Kafka lets whoever may read or write a topic describe it too, so of DescribeConfigs nothing is known.
        return [operation for operation in ("Read", "Write") if operation in operations] or ["Describe"]
    allowed = described.get("authorized_operations") or ()
    return [operation for operation in sorted(operations) if "DESCRIBE" in allowed and _CODE_NAMES[operation] not in allowed]


def _verify(admin: AdminClient, names: Collection[str]) -> None:
    described = configs(admin, "topic", names)
    for name in names:
        _verify_one(BY_NAME[name], described[name])


def _verify_one(topic: Topic, described: Mapping[str, str | None]) -> None:
    for key, (found, value) in other_settings(topic, described).items():
        raise EnvironmentProblem(
            f"topic {topic.name} has {key}={found}, not {value}",
            f"kafka-configs.sh --alter --topic {topic.name} --add-config {key}={value}, or delete it and run: clientscope topics",
        )


def other_settings(topic: Topic, described: Mapping[str, str | None]) -> dict[str, tuple[str | None, str]]:
    """Settings of a topic on which its readers can't rely: the value that is there, and the one that is needed, by name."""
    return {
        key: (described.get(key), value)
        for key, value in topic.required_configs.items()
        if described.get(key) != value and not (key == "retention.ms" and _keeps_longer(described.get(key), value))
    }


def _keeps_longer(found: str | None, wanted: str) -> bool:
    """Whether a topic keeps its records for longer than it has to, or without end (-1): readers are right, and have more time."""
    try:
        return found is not None and (int(found) == -1 or int(found) > int(wanted))
    except ValueError:
        return False
