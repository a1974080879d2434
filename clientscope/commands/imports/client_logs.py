"""The command ``clientscope import client-logs``."""

from __future__ import annotations

from typing import Annotated, Literal
from zoneinfo import ZoneInfo

from pydantic import Field, field_validator

from clientscope.commands.command import Command
from clientscope.commands.lint.settings import JudgingSettings, Principal
from clientscope.config import PublishingSettings
from clientscope.config.option import Option


class ImportClientLogsSettings(JudgingSettings, PublishingSettings):
    """Checks the settings in clients' own logs by the rules. Exit status: 1 for findings at --fail-on, 2 for wrong use or no such log."""

    section = "import"
    subcommand = "client-logs"
    paths: Annotated[tuple[str, ...], Option(positional=True, several=True, metavar="PATH")] = Field(
        description="logs (*.gz too), globs, directories (*.log*), or - for standard input, such as of kubectl logs or journalctl"
    )
    principal: Principal
    follow: Annotated[bool, Option(flag_only=True)] = Field(
        False,
        description="with --publish: keep reading, and publish each client some seconds after it has logged its settings, until SIGTERM",
    )
    time_zone: str = Field(
        "UTC", description="of times in logs that name no zone, such as Europe/Berlin; with --publish, to find live clients"
    )
    fail_on: Literal["info", "low", "medium", "high", "critical", "never"] = Field(
        "never", description="exit with status 1 for findings of this severity or worse"
    )

    @field_validator("time_zone")
    @classmethod
    def _is_known(cls, value: str) -> str:
        try:
            ZoneInfo(value)
        except (KeyError, ValueError, OSError) as error:
            raise ValueError(f"{value[:64]!r} is not in the IANA database of time zones; give one such as Europe/Berlin or UTC") from error
        return value


def run(settings: ImportClientLogsSettings) -> int:
    """Prints the findings of the clients in the logs."""
    if settings.follow:
        from clientscope.commands.imports import sidecar

        return sidecar.run(settings)
    from clientscope.commands.imports import importing

    return importing.run(settings)


COMMAND = Command(ImportClientLogsSettings, run, error_status=2)
