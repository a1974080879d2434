"""The command ``clientscope findings close``."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from clientscope.commands.command import Command
from clientscope.commands.findings.deciding import By, Fingerprints, Why
from clientscope.config import KafkaSettings
from clientscope.config.option import Option


class FindingsCloseSettings(KafkaSettings):
    """Closes findings by a person's decision: who, when and why is recorded in clientscope.decisions, which the streaming job applies."""

    section = "findings"
    subcommand = "close"
    fingerprints: Fingerprints
    resolution: Annotated[Literal["", "rotated", "test-value", "not-a-secret", "accepted"], Option(flag="as", flag_only=True)] = Field(
        "",
        description="rotated: the secret was replaced; another push of the old one reopens the finding;\n"
        "test-value, not-a-secret: it stays closed; these three are for leaks;\n"
        "accepted: the risk is known and accepted, --until a date",
    )
    why: Why
    until: Annotated[str, Option(metavar="DATE", flag_only=True)] = Field(
        "", description="last day, in UTC, on which accepted counts, as in 2026-12-31"
    )
    by: By


def run(settings: FindingsCloseSettings) -> int:
    """Writes a decision for each finding, after all of them have been checked.

    Raises:
        EnvironmentProblem: no broker, no topic, no right to read or write it, or Kafka has not acknowledged the decisions.
        SettingsError: an unknown finding, or a decision that doesn't fit; nothing is written then.
    """
    import sys

    from clientscope import topics
    from clientscope.clock import now_ms
    from clientscope.commands.findings import topic
    from clientscope.kafka.access import KafkaAccess
    from clientscope.records.topics import DECISIONS, FINDINGS
    from clientscope.report.findings import deciding, table

    kafka, at_ms = KafkaAccess.of(settings), now_ms()
    decide = deciding.Closing.of(settings.resolution, settings.why, settings.until, settings.by, at_ms)
    topics.verify(kafka, reads=(FINDINGS,), writes=(DECISIONS,))
    findings = topic.named(settings.fingerprints, topic.read(kafka))
    decisions = [decide.decision(finding) for finding in findings]
    topic.write(kafka, {decision.fingerprint: decision.model_dump_json(exclude_none=True).encode() for decision in decisions}, {})
    for finding in findings:
        print(f"closed {finding.fingerprint} as {settings.resolution}: {table.printable(finding.message)}")
        for warning in decide.warnings(finding):
            print(f"{finding.fingerprint[:8]}: {warning}", file=sys.stderr)
    print("the streaming job applies it within seconds", file=sys.stderr)
    return 0


COMMAND = Command(FindingsCloseSettings, run)
