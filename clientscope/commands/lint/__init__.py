"""The command ``clientscope lint``: judges settings files by the rules, without a cluster.

- `files`: which files, and what type of client they are of.
- `places`: a file's settings, and the place of each.
- `judging`: the rules, applied to files.
- `comments`: findings that comments in a file ignore.
- `versions`: the client library's version by a build file.
- `findings`: the result; suppressions, owners, fingerprints.
- `fixing`: corrections of files.
- `shown`: what of a file may be shown.
- `text`, `as_json`, `sarif`, `github`: the formats.
- `linting`: all of it, and the exit status.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from clientscope.commands.command import Command
from clientscope.commands.lint.settings import JudgingSettings, Principal
from clientscope.config.option import Option
from clientscope.config_types import SoftwareText


class LintSettings(JudgingSettings):
    """Checks settings files by the rules, without a cluster. Exit status: 1 for findings, 2 for wrong use or an unreadable file."""

    section = "lint"
    paths: Annotated[tuple[str, ...], Option(positional=True, several=True, metavar="PATH")] = Field(
        description="files, directories (*.properties, *.conf, *.json, *.yaml, *.yml), or - for standard input"
    )
    format: Literal["", "properties", "json", "yaml"] = Field("", description="format of named files; by default from their suffix")
    principal: Principal
    dialect: Annotated[str, Option(metavar="DIALECT")] = Field(
        "java", description="client library, which determines names, spellings and defaults of settings"
    )
    software_version: SoftwareText = Field(
        "unknown",
        description="version of the client library, such as 3.9.2, which determines defaults;\n"
        "by default that of a build file near the settings file, else the newest",
    )
    client_type: Literal["", "producer", "consumer", "share-consumer", "admin", "streams"] = Field(
        "", description="type of client; by default from settings that only one type has"
    )
    diff: Annotated[bool, Option(flag_only=True)] = Field(False, description="print what --fix would correct, and change nothing")
    fix: Annotated[bool, Option(flag_only=True)] = Field(
        False, description="correct names with one letter wrong and other libraries' names, and take out what repeats a default"
    )


def run(settings: LintSettings) -> int:
    """Prints the findings of the files."""
    from clientscope.commands.lint import linting

    return linting.run(settings)


COMMAND = Command(LintSettings, run, error_status=2)
