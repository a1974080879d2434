"""The command ``clientscope findings list``."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from clientscope.commands.command import Command
from clientscope.config import KafkaSettings, ListingSettings
from clientscope.config.option import Option

# Filters are given with the command alone: one in a file would silently hide findings from everybody.
_Pattern = Annotated[str, Option(metavar="PATTERN", flag_only=True)]


class FindingsListSettings(ListingSettings, KafkaSettings):
    """Lists findings, the most urgent first: those that are open, and leaks that stopped but must still be rotated."""

    section = "findings"
    subcommand = "list"
    state: Annotated[str, Option(metavar="STATES", flag_only=True)] = Field(
        "", description="list only these states, separated by commas: open, stopped, resolved, closed; by default open,stopped"
    )
    severity: Annotated[Literal["", "info", "low", "medium", "high", "critical"], Option(flag_only=True)] = Field(
        "", description="list only this severity or worse"
    )
    code: _Pattern = Field("", description="list only this rule, or a pattern: 'SK*'")
    principal: _Pattern = Field("", description="list only this principal, or a pattern: 'User:*'")
    client_id: _Pattern = Field("", description="list only this client.id, or a pattern: 'orders-*'")
    every: Annotated[bool, Option(flag="all", flag_only=True)] = Field(
        False, description="list every state, and findings that a suppression hides"
    )


def run(settings: FindingsListSettings) -> int:
    """Prints the findings that match the filters; standard error counts those that are not listed.

    Raises:
        EnvironmentProblem: no broker, no topic, or no right to read it.
        SettingsError: a filter is invalid.
    """
    from clientscope import topics
    from clientscope.clock import now_ms
    from clientscope.commands.findings import topic
    from clientscope.findings.record import Finding
    from clientscope.kafka.access import KafkaAccess
    from clientscope.records.topics import FINDINGS
    from clientscope.report import listing
    from clientscope.report.findings import formats, table
    from clientscope.report.findings.selecting import FindingFilter

    wanted = FindingFilter.of(
        state=settings.state,
        severity=settings.severity,
        code=settings.code,
        principal=settings.principal,
        client_id=settings.client_id,
        every=settings.every,
    )
    kafka = KafkaAccess.of(settings)
    topics.verify(kafka, reads=(FINDINGS,))

    def ask() -> listing.Listed[Finding]:
        every = topic.read(kafka)
        chosen = sorted(filter(wanted.takes, every), key=lambda finding: finding.urgency)
        return listing.Listed(
            chosen,
            row=lambda finding: finding.model_dump(mode="json"),
            name=lambda finding: finding.fingerprint,
            table=lambda findings, wide: table.findings(findings, now_ms(), wide=wide) if findings else None,
            cells=lambda finding: (formats.cells(finding),),
            left_out=tuple(wanted.left_out(every, len(chosen))),
        )

    listing.show(settings, formats.FIELDS, ask, formats.COLUMNS)
    return 0


COMMAND = Command(FindingsListSettings, run)
