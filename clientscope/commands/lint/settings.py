"""Settings of commands that judge settings by the rules: what decides about findings, whose files they are, how they are printed."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from clientscope.config import Settings
from clientscope.config.base import Owners, RulesFile
from clientscope.config.option import Option
from clientscope.config_types import SoftwareText

Principal = Annotated[str, Field(default="", description="principal of the client, for assignments, suppressions and owners")]


class RuleSettings(Settings):
    """What decides about findings."""

    profile: str = Field(
        "",
        description="apache, msk, eventhubs, low-latency, durable or a profile of the rules file;\nby default from its assignments",
    )
    rules_file: RulesFile
    owners: Owners


class JudgingSettings(RuleSettings):
    """The same, and how findings are printed."""

    fail_on: Literal["info", "low", "medium", "high", "critical", "never"] = Field(
        "medium", description="exit with status 1 for findings of this severity or worse"
    )
    output_format: Literal["full", "concise", "json", "sarif", "github"] = Field("full", description="format of the findings")
    statistics: bool = Field(False, description="also print counts per rule, with those that could not be judged")


class FileSettings(Settings):
    """Whose settings a file has."""

    principal: Principal
    dialect: Annotated[str, Option(metavar="DIALECT")] = Field(
        "java", description="client library, which determines names, spellings and defaults of settings"
    )
    software_version: SoftwareText = Field(
        "unknown",
        description="version of the client library, such as 3.9.2, which determines defaults; by default the newest",
    )
    client_type: Literal["", "producer", "consumer", "share-consumer", "admin", "streams"] = Field(
        "", description="type of client; by default from settings that only one type has"
    )
