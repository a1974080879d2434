"""Settings of ``clientscope deliver``."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from clientscope.config.base import KafkaSettings
from clientscope.config_types import Address

_RECEIVERS: Path = Field(
    Path("receivers.toml"),
    description="who is told of which findings, and how (docs/alerts.md)",
    json_schema_extra={"metavar": "FILE"},
)


class DeliverSettings(KafkaSettings):
    """Delivers findings to Alertmanager, web hooks, Slack, mail, PagerDuty and others."""

    section = "deliver"
    subcommand = "run"
    receivers: Path = _RECEIVERS
    external_url: str = Field(
        "",
        description="where people reach the page of serve, for links in alerts",
        json_schema_extra={"section": "serve", "key": "external_url", "metavar": "URL"},
    )
    metrics_listen: Address = Field("127.0.0.1:9467", description="where /metrics, /healthz and /readyz answer; port 0 is off")
    test: bool = Field(
        False,
        description="send a test message to each receiver, say what became of it, and end; asks no broker",
        json_schema_extra={"flag_only": True},
    )
    receiver: str = Field("", description="with --test, this receiver alone", json_schema_extra={"flag_only": True, "metavar": "NAME"})


class DeadListSettings(KafkaSettings):
    """Lists what could not be delivered and was given up (clientscope.deadletter), newest first."""

    section = "deliver"
    subcommand = "dead list"
    receiver: str = Field("", description="only of this receiver", json_schema_extra={"flag_only": True, "metavar": "NAME"})
    json_lines: bool = Field(
        False, description="one JSON object a line, for machines", json_schema_extra={"flag": "json", "flag_only": True}
    )


class DeadReplaySettings(KafkaSettings):
    """Has what was given up delivered once more, under the same message ids, and a receiver that had ended (410) tried again."""

    section = "deliver"
    subcommand = "dead replay"
    receiver: str = Field("", description="all of this receiver", json_schema_extra={"flag_only": True, "metavar": "NAME"})
    id: str = Field("", description="one message, by its id", json_schema_extra={"flag_only": True, "metavar": "ID"})
    every: bool = Field(False, description="of every receiver", json_schema_extra={"flag": "all", "flag_only": True})
