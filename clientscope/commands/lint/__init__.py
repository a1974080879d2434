"""The command ``clientscope lint``: judges settings files by the rules, without a cluster.

- `places`: a file's settings, and the place of each (`placed`); `blocks`: those of languages that nest blocks.
- `reading`: which files, what type of client they are of, and a file before it is judged; `client_logs`: a client's log.
- `judging`: the rules, applied to files.
- `credentials`: what is a credential in text that no format explains.
- `findings`: the result; suppressions, ignoring comments, owners, fingerprints.
- `shown`: what of a file may be shown.
- `formats`: how the result is printed.
- `linting`: all of it, and the exit status.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from clientscope.commands.command import Command
from clientscope.config import Settings
from clientscope.config.base import Option, Owners, RulesFile
from clientscope.config_types import SoftwareText


class JudgingSettings(Settings):
    """What decides about findings, and how they are printed."""

    profile: str = Field(
        "",
        description="apache, msk, eventhubs, confluent-cloud, low-latency, durable or a profile of the rules file;\nby default from its"
        " assignments, or that of the service whose addresses the settings have",
    )
    rules_file: RulesFile
    owners: Owners
    fail_on: Literal["info", "low", "medium", "high", "critical", "never"] = Field(
        "medium", description="exit with status 1 for findings of this severity or worse"
    )
    output_format: Literal["full", "concise", "json", "sarif", "github"] = Field("full", description="format of the findings")
    statistics: bool = Field(False, description="also print counts per rule, with those that could not be judged")


class LintSettings(JudgingSettings):
    """Checks settings files by the rules, without a cluster. Exit status: 1 for findings, 2 for wrong use or an unreadable file."""

    section = "lint"
    principal: str = Field("", description="principal of the client, for assignments, suppressions and owners")
    dialect: Annotated[str, Option(metavar="DIALECT")] = Field(
        "",
        description="client library, which determines names, spellings and defaults of settings; by default the one whose names they are",
    )
    software_version: SoftwareText = Field(
        "unknown",
        description="version of the client library, such as 3.9.2, which determines defaults; by default the newest",
    )
    client_type: Literal["", "producer", "consumer", "share-consumer", "admin", "streams"] = Field(
        "", description="type of client; by default from settings that only one type has"
    )
    paths: Annotated[tuple[str, ...], Option(positional=True, several=True, metavar="PATH")] = Field(
        description="files, clients' logs (*.log), directories (*.properties, *.conf, *.json, *.yaml, *.toml, *.env, *.tf and others),"
        " or - for standard input"
    )
    format: Literal["", "properties", "json", "yaml", "log", "text"] = Field(
        "", description="format of named files; by default from their suffix, and else text, which is searched for credentials alone"
    )


def run(settings: LintSettings) -> int:
    """Prints the findings of the files."""
    from clientscope.commands.lint import linting

    return linting.run(settings)


COMMAND = Command(LintSettings, run, error_status=2)
