"""The command ``clientscope topics``."""

from __future__ import annotations

from pydantic import Field

from clientscope.commands.command import Command
from clientscope.config import KafkaSettings


class TopicsSettings(KafkaSettings):
    """Creates clientscope's topics, and verifies those that exist."""

    section = "topics"
    partitions: int = Field(1, ge=1, description="partitions of each new topic")
    replication_factor: int = Field(-1, ge=-1, description="replication factor of each new topic; -1 is the broker's default")
    migrate: bool = Field(
        False, description="after topics got more partitions: clear the values that keys left in their earlier partitions"
    )


def run(settings: TopicsSettings) -> int:
    """Creates the missing topics, and prints their names."""
    from clientscope import topics
    from clientscope.kafka.access import KafkaAccess

    for name in topics.create(KafkaAccess.of(settings), settings.partitions, settings.replication_factor):
        print(f"created {name}")
    if settings.migrate:
        for name, cleared in topics.migrate(KafkaAccess.of(settings)).items():
            print(f"cleared {cleared:,} values in earlier partitions of {name}")
    print("all topics are as they should be")
    return 0


COMMAND = Command(TopicsSettings, run)
