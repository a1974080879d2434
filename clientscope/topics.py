"""Creating and verifying our topics (`clientscope topics`, and every process at its start)."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import closing
from typing import Any

from kafka.admin import ConfigResource, ConfigResourceType, KafkaAdminClient
from kafka.errors import KafkaError

from clientscope.errors import EnvironmentProblem
from clientscope.records.topics import BY_NAME, TOPICS, Topic


def _admin(bootstrap_servers: str) -> KafkaAdminClient:
    try:
        return KafkaAdminClient(bootstrap_servers=bootstrap_servers, client_id="clientscope-topics", bootstrap_timeout_ms=10_000)
    except (KafkaError, OSError, ValueError) as error:
        raise no_broker(bootstrap_servers, error) from None


def no_broker(bootstrap_servers: str, error: Exception) -> EnvironmentProblem:
    """What to say when none of the bootstrap servers can be used."""
    return EnvironmentProblem(
        f"no broker answers at {bootstrap_servers} ({type(error).__name__})",
        "is the broker up, and is that its INTERNAL listener? set --bootstrap-servers",
    )


def create(bootstrap_servers: str, partitions: int = 1, replication_factor: int = -1, names: Iterable[str] = tuple(BY_NAME)) -> list[str]:
    """Creates those of our topics that are missing, and verifies all; returns the names of the new ones.

    Args:
        partitions: of each new topic.
        replication_factor: of each new topic; -1 for the broker's ``default.replication.factor``.

    Raises:
        EnvironmentProblem: no broker, no right to create, or a topic that exists with other settings.
    """
    with closing(_admin(bootstrap_servers)) as admin:
        existing = set(admin.list_topics())
        new = {
            topic.name: {
                "num_partitions": partitions,
                "replication_factor": replication_factor,
                "configs": {**topic.required_configs, "compression.type": "producer"},
            }
            for topic in TOPICS
            if topic.name in names and topic.name not in existing
        }
        if new:
            try:
                admin.create_topics(new, wait_for_metadata=True)
            except KafkaError as error:
                raise EnvironmentProblem(
                    f"the topics could not be created: {error}", "has this principal the right to create topics?"
                ) from None
        _verify(admin, names)
    return sorted(new)


def verify(bootstrap_servers: str, names: Iterable[str]) -> None:
    """Checks that topics are as `create` makes them.

    Raises:
        EnvironmentProblem: one is missing, or has another setting than its readers rely on; names the first such.
    """
    with closing(_admin(bootstrap_servers)) as admin:
        _verify(admin, names)


def _verify(admin: KafkaAdminClient, names: Iterable[str]) -> None:
    wanted = [BY_NAME[name] for name in names]
    existing = set(admin.list_topics())
    if missing := [topic.name for topic in wanted if topic.name not in existing]:
        raise EnvironmentProblem(f"topics are missing: {', '.join(missing)}", "run: clientscope topics")
    resources = [ConfigResource(ConfigResourceType.TOPIC, topic.name) for topic in wanted]
    described = admin.describe_configs(resources, config_filter="all")["topic"]
    for topic in wanted:
        _verify_one(topic, described[topic.name])


def _verify_one(topic: Topic, described: dict[str, dict[str, Any]]) -> None:
    for key, value in topic.required_configs.items():
        found = described.get(key, {}).get("value")
        if found != value:
            raise EnvironmentProblem(
                f"topic {topic.name} has {key}={found}, not {value}",
                f"kafka-configs.sh --alter --topic {topic.name} --add-config {key}={value}, or delete it and run: clientscope topics",
            )
