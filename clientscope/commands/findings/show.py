"""The command ``clientscope findings show``."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from clientscope.commands.command import Command
from clientscope.config import KafkaSettings
from clientscope.config.option import Option


class FindingsShowSettings(KafkaSettings):
    """Shows all details of one finding."""

    section = "findings"
    subcommand = "show"
    fingerprint: Annotated[str, Option(positional=True)] = Field(description="first digits of its fingerprint, at least 6")
    output: Annotated[Literal["text", "json"], Option(short="o", flag_only=True)] = Field("text", description="format")


def run(settings: FindingsShowSettings) -> int:
    """Prints one finding.

    Raises:
        EnvironmentProblem: no broker, no topic, or no right to read it.
        SettingsError: no finding has this fingerprint, or several have it.
    """
    from rich.console import Console

    from clientscope import topics
    from clientscope.clock import now_ms
    from clientscope.commands.findings import topic
    from clientscope.kafka.access import KafkaAccess
    from clientscope.records.topics import FINDINGS
    from clientscope.report import listing
    from clientscope.report.findings import details
    from clientscope.report.findings.selecting import found_by

    kafka = KafkaAccess.of(settings)
    topics.verify(kafka, reads=(FINDINGS,))
    finding = found_by(settings.fingerprint, topic.read(kafka))
    if settings.output == "json":
        print(finding.model_dump_json(indent=2))
    else:
        view = details.of(finding, now_ms())
        listing.console(Console(), view).print(view)
    return 0


COMMAND = Command(FindingsShowSettings, run)
