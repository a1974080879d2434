"""The command ``clientscope import client-logs``."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

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
    fail_on: Literal["info", "low", "medium", "high", "critical", "never"] = Field(
        "never", description="exit with status 1 for findings of this severity or worse"
    )


def run(settings: ImportClientLogsSettings) -> int:
    """Prints the findings of the clients in the logs."""
    from clientscope.commands.imports import importing

    return importing.run(settings)


COMMAND = Command(ImportClientLogsSettings, run, error_status=2)
