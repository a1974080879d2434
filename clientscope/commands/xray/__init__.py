"""``clientscope xray``: what the brokers' own request log shows of the clients, without touching the data path.

- `inventory`: logs as they are, bounded in size; requests → clients.
- `live`: a look at a running cluster, bounded in time and size.
- `raised`: the request logger at another level, and back whatever happens.
- `result`: clients with the same settings, judged once by the rules; the result, without a format, with upgrade readiness.
- `output`: the result for a terminal, as JSON, and as a page in one file, which `clientscope readiness` writes too; the exit status.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from clientscope.commands.command import Command
from clientscope.commands.lint import JudgingSettings
from clientscope.config import KafkaSettings, Settings
from clientscope.config.base import Option


class RequestLogSettings(Settings):
    """Which logs, how much of them, and which upgrade clients are judged for."""

    paths: Annotated[tuple[str, ...], Option(positional=True, several=True, metavar="PATH")] = Field(
        (), description="brokers' logs with lines of kafka.request.logger (*.gz too), globs, directories (*.log*), or - for standard input"
    )
    max_bytes: int = Field(64 * 1024 * 1024, ge=1024, description="stop after so many bytes of the logs")
    html: Annotated[Path | None, Option(flag_only=True)] = Field(
        None, description="also write the result as a page in one file, which can be mailed and printed"
    )
    target: str = Field("4.4", description="release of the brokers for upgrade readiness, such as 4.0.0 or 4.1")
    broker_release: str = Field(
        "", description="release of the brokers that wrote the logs, such as 3.9; makes upgrade readiness more precise"
    )


class XraySettings(RequestLogSettings, JudgingSettings, KafkaSettings):
    """Shows who is connected, misconfigured clients and upgrade readiness, by the brokers' request logs.

    With --seconds it has each broker log requests for so long; without, it reads logs as they are.
    Exit status: 1 for findings at --fail-on, 2 for wrong use or no such log.
    """

    section = "xray"
    fail_on: Literal["info", "low", "medium", "high", "critical", "never"] = Field(
        "never", description="exit with status 1 for findings of this severity or worse"
    )
    output_format: Literal["summary", "json", "sarif"] = Field(  # type: ignore[assignment]
        "summary", description="format of the result"
    )
    seconds: Annotated[float, Option(flag_only=True)] = Field(
        0.0, ge=0.0, le=2_592_000.0, description="raise the level of kafka.request.logger for so many seconds, and restore it"
    )
    level: Annotated[Literal["debug", "info"], Option(flag_only=True)] = Field(
        "debug",
        description="with --seconds: debug logs all requests, one broker after another, for 600 s at most; info those that 4.0 removed, "
        "all brokers at once, for up to 30 days (brokers of 3.9.1 and later 3.9)",
    )
    yes: Annotated[bool, Option(flag_only=True)] = Field(False, description="with --seconds: go ahead without asking")
    command: Annotated[str, Option(flag_only=True)] = Field(
        "", description="with --seconds: prints a broker's log: 'kubectl logs --follow --tail=0 kafka-{broker}'"
    )


def run(settings: XraySettings) -> int:
    """Prints the result."""
    from clientscope.commands.xray import output

    return output.run(settings)


COMMAND = Command(XraySettings, run, error_status=2)
