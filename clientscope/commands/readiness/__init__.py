"""``clientscope readiness``: which clients work with brokers of another release, by what gateways recorded, or the brokers' request logs.

- `sources`: clients judged by what gateways recorded, or by logs.
- `table`: the groups for a terminal.
- `running`: all of it, the page in one file, and the exit status.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from clientscope.commands.command import Command
from clientscope.commands.xray import RequestLogSettings
from clientscope.config import KafkaSettings, ListingSettings
from clientscope.config.base import Option, Owners


class ReadinessSettings(RequestLogSettings, ListingSettings, KafkaSettings):
    """Lists which clients break, fall back or work with brokers of another release, by what gateways recorded on clientscope's topics,
    or with PATH by the brokers' request logs.

    Exit status: 1 for clients with a verdict of --fail-on or worse, 2 for wrong use, no such log or no record.
    """

    section = "readiness"
    max_bytes: int = Field(1024 * 1024 * 1024, ge=1024, description="stop after so many bytes of the logs")
    owners: Owners
    group_by: Literal["application", "owner", "principal", "software"] = Field("application", description="what a line is about")
    search: Annotated[str, Option(metavar="TERMS", flag_only=True)] = Field(
        "", description='judge only these clients: terms of the page\'s search, as in "owner:payments -software:librdkafka"'
    )
    since: Annotated[str, Option(metavar="DATETIME", flag_only=True)] = Field(
        "", description="judge by requests since then, such as '2026-11-20 08:00', UTC or by the clock of the logs; older ones are the past"
    )
    fail_on: Literal["breaks", "unknown", "falls_back", "never"] = Field(
        "breaks", description="exit with status 1 for clients with this verdict or a worse one"
    )


def run(settings: ReadinessSettings) -> int:
    """Prints the groups."""
    from clientscope.commands.readiness import running

    return running.run(settings)


COMMAND = Command(ReadinessSettings, run, error_status=2)
