"""The command ``clientscope deliver``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import Field

from clientscope.commands.command import Command
from clientscope.config import KafkaSettings
from clientscope.config.base import Option
from clientscope.config_types import Address


class DeliverSettings(KafkaSettings):
    """Delivers findings to Alertmanager, webhooks, Slack, mail, PagerDuty and others."""

    section = "deliver"
    receivers: Annotated[Path, Option(metavar="FILE")] = Field(
        Path("receivers.toml"), description="who gets which findings, and how (docs/alerts.md)"
    )
    external_url: Annotated[str, Option(section="serve", key="external_url", metavar="URL")] = Field(
        "", description="public address of the page of serve, for links in alerts"
    )
    metrics_listen: Address = Field("127.0.0.1:9467", description="address of /metrics, /healthz and /readyz; port 0 turns them off")
    test: Annotated[bool, Option(flag_only=True)] = Field(
        False, description="send a test message to each receiver, print the results, and end; needs no broker"
    )
    receiver: Annotated[str, Option(flag_only=True, metavar="NAME")] = Field("", description="with --test, test this receiver only")


def run(settings: DeliverSettings) -> int:
    """Delivers until it is stopped; with ``--test``, 1 if a receiver failed."""
    from clientscope import core_dumps
    from clientscope.commands.deliver import delivering

    core_dumps.forbid()
    return delivering.run(settings)


COMMAND = Command(DeliverSettings, run, long_running=True)
