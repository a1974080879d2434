"""The command ``clientscope push``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from clientscope.commands.command import Command
from clientscope.config import KafkaSettings
from clientscope.config.base import Option
from clientscope.config_types import Addresses, SoftwareText


class PushSettings(KafkaSettings):
    """Pushes the configuration of a client of any application, from a file with its settings (KIP-1324)."""

    section = "push"
    bootstrap_servers: Addresses = Field("", description="address that the client connects to: a gateway's; by default the file's")
    properties: Path | None = Field(None, description="file with the client's settings: Java properties, JSON or YAML")
    format: Literal["", "properties", "json", "yaml"] = Field("", description="format of the file; by default from its suffix")
    client_type: Literal["", "producer", "consumer", "share-consumer", "admin", "streams"] = Field(
        "",
        description="type of client; by default streams if the file has an application.id,\nconsumer if it has a group.id, else producer",
    )
    dialect: Literal["java", "librdkafka", "kafka-python", "aiokafka", "kafkajs", "franz-go", "sarama"] = Field(
        "java", description="client library, which determines names, spellings and defaults of settings"
    )
    software_name: SoftwareText = Field("", description="name of the client library (KIP-511); by default the dialect's")
    software_version: SoftwareText = Field(
        "unknown", description="version of the client library, such as 3.9.2, whose defaults are pushed; unknown is the newest"
    )
    allowed_keys: Annotated[str, Option(metavar="KEYS")] = Field(
        "", description="keys to push, separated by commas; by default the file's config.push.allowed.keys, else KIP-1324's"
    )
    timeout_ms: int = Field(60_000, ge=100, description="time after which the push is given up")
    dry_run: bool = Field(False, description="print what would be pushed, and connect to nothing")


def run(settings: PushSettings) -> int:
    """Pushes once."""
    from clientscope.commands.push import pushing

    return pushing.run(settings)


COMMAND = Command(PushSettings, run)
