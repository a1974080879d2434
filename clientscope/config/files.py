"""Settings of commands that read a client's own settings file."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import Field

from clientscope.config.base import OWNERS, Settings, rules_file
from clientscope.config_types import Addresses, SoftwareText


class PushSettings(Settings):
    """Pushes the configuration of any application's client, from a file with its settings (KIP-1324)."""

    section = "push"
    bootstrap_servers: Addresses = Field("", description="where the client connects: a gateway; empty takes what the file says")
    properties: Path | None = Field(
        None, description="the client's settings: Java properties, JSON or YAML; security settings are taken from it too"
    )
    format: Literal["", "properties", "json", "yaml"] = Field("", description="what the file is; empty goes by its suffix")
    client_type: Literal["", "producer", "consumer", "share-consumer", "admin", "streams"] = Field(
        "",
        description="which client the settings are for; empty is streams where they have an application.id,\n"
        "consumer where they have a group.id, else producer",
    )
    dialect: Literal["java", "librdkafka", "kafka-python", "aiokafka", "kafkajs", "franz-go", "sarama"] = Field(
        "java", description="the client library: whose names, spellings and defaults they are"
    )
    software_name: SoftwareText = Field("", description="the client library's name (KIP-511); empty is the dialect's")
    software_version: SoftwareText = Field(
        "unknown", description="its version, such as 3.9.2: its defaults are pushed for what isn't set; unknown takes the newest"
    )
    allowed_keys: str = Field(
        "",
        description="keys to push, by commas; empty is the file's config.push.allowed.keys, else KIP-1324's",
        json_schema_extra={"metavar": "KEYS"},
    )
    timeout_ms: int = Field(60_000, ge=100, description="how long to try")
    watch: bool = Field(False, description="go on, and push again when the file's content changes")
    dry_run: bool = Field(False, description="show what would be pushed, and connect to nothing")


class LintSettings(Settings):
    """Judges settings files by the rules, without a cluster; exit status 1 for findings, 2 for what is wrong with its use."""

    section = "lint"
    error_status = 2
    paths: tuple[str, ...] = Field(
        description="files, directories (*.properties, *.conf, *.json, *.yaml, *.yml), or - for the standard input",
        json_schema_extra={"positional": True, "several": True, "metavar": "PATH"},
    )
    format: Literal["", "properties", "json", "yaml"] = Field("", description="what named files are; empty goes by the suffix")
    dialect: str = Field(
        "java", description="the client library: whose names, spellings and defaults they are", json_schema_extra={"metavar": "DIALECT"}
    )
    software_version: SoftwareText = Field("unknown", description="its version, such as 3.9.2: for its defaults; unknown takes the newest")
    client_type: Literal["", "producer", "consumer", "share-consumer", "admin", "streams"] = Field(
        "", description="which client the settings are for; empty goes by those that only one kind of client has"
    )
    principal: str = Field("", description="as whom the client authenticates, for assignments, suppressions and owners")
    profile: str = Field(
        "",
        description="apache, msk, eventhubs, low-latency, durable or one of the rules file's;\nempty goes by its assignments",
    )
    rules_file: Path | None = rules_file("own profiles, their assignments, and suppressions (docs/lint.md)")
    owners: Path | None = OWNERS
    fail_on: Literal["info", "low", "medium", "high", "critical", "never"] = Field(
        "medium", description="exit with 1 for findings of this severity or worse"
    )
    output_format: Literal["full", "concise", "json", "sarif", "github"] = Field("full", description="how findings are told")
    statistics: bool = Field(False, description="counts per rule too, those that couldn't be judged among them")
