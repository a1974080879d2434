"""Settings that all commands share that judge settings by the rules and print findings."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from clientscope.config import Settings
from clientscope.config.base import Owners, RulesFile

Principal = Annotated[str, Field(default="", description="principal of the client, for assignments, suppressions and owners")]


class JudgingSettings(Settings):
    """What decides about findings, and how they are printed."""

    profile: str = Field(
        "",
        description="apache, msk, eventhubs, low-latency, durable or a profile of the rules file;\nby default from its assignments",
    )
    rules_file: RulesFile
    owners: Owners
    fail_on: Literal["info", "low", "medium", "high", "critical", "never"] = Field(
        "medium", description="exit with status 1 for findings of this severity or worse"
    )
    output_format: Literal["full", "concise", "json", "sarif", "github"] = Field("full", description="format of the findings")
    statistics: bool = Field(False, description="also print counts per rule, with those that could not be judged")
