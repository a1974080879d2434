"""The command ``clientscope lint``: judges settings files by the rules, without a cluster.

- `files`: which files, and what type of client they are of.
- `places`: a file's settings, and the place of each.
- `reading`: a file, before it is judged; `client_logs`: a client's log.
- `judging`: the rules, applied to files.
- `findings`: the result; suppressions, ignoring comments, owners, fingerprints.
- `shown`: what of a file may be shown.
- `formats`: how the result is printed.
- `linting`: all of it, and the exit status.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from clientscope.commands.command import Command
from clientscope.commands.lint.settings import FileSettings, JudgingSettings
from clientscope.config.option import Option


class LintSettings(FileSettings, JudgingSettings):
    """Checks settings files by the rules, without a cluster. Exit status: 1 for findings, 2 for wrong use or an unreadable file."""

    section = "lint"
    paths: Annotated[tuple[str, ...], Option(positional=True, several=True, metavar="PATH")] = Field(
        description="files, clients' logs (*.log), directories (*.properties, *.conf, *.json, *.yaml, *.yml), or - for standard input"
    )
    format: Literal["", "properties", "json", "yaml", "log"] = Field("", description="format of named files; by default from their suffix")


def run(settings: LintSettings) -> int:
    """Prints the findings of the files."""
    from clientscope.commands.lint import linting

    return linting.run(settings)


COMMAND = Command(LintSettings, run, error_status=2)
