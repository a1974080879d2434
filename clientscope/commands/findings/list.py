"""The command ``clientscope findings list``."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from clientscope.commands.command import Command
from clientscope.config import KafkaSettings, ListingSettings, OptionalPageSettings
from clientscope.config.option import Option

if TYPE_CHECKING:
    from clientscope.findings.record import Finding


class FindingsListSettings(ListingSettings, OptionalPageSettings, KafkaSettings):
    """Lists findings, the most urgent first: those that are open, and leaks that stopped but must still be rotated."""

    section = "findings"
    subcommand = "list"
    search: Annotated[tuple[str, ...], Option(positional=True, several=True, metavar="TERM")] = Field(
        (), description="terms of the page's search (docs/page.md): code:SK* 'severity:>=high' client_id:orders-* state:resolved"
    )
    every: Annotated[bool, Option(flag="all", flag_only=True)] = Field(
        False, description="list every state, and findings that a suppression hides"
    )


def run(settings: FindingsListSettings) -> int:
    """Prints the findings that match the search; standard error counts those that are not listed.

    Raises:
        EnvironmentProblem: no broker, no topic, or no right to read it; with --url, no serve answers, or it requires a token.
        SettingsError: the search is invalid.
    """
    from clientscope.clock import now_ms
    from clientscope.query import FINDINGS, parse
    from clientscope.report import listing, searching
    from clientscope.report.findings import formats, table
    from clientscope.report.findings.counting import listed
    from clientscope.report.findings.selecting import ListedStates, SearchedFinding
    from udfs.rules.registry import with_risks

    wanted = ListedStates.of(searching.parsed(settings.search, FINDINGS, now_ms()), settings.every)
    read = _reader(settings)

    def ask() -> listing.Listed[Finding]:
        query = parse(" ".join(settings.search), FINDINGS, now_ms())
        every = [finding for finding in map(with_risks, read()) if SearchedFinding.of(finding).matches(query)]
        chosen = sorted(filter(wanted.takes, every), key=lambda finding: finding.urgency)
        how_many = (listed(chosen),) if chosen and settings.output in ("table", "wide") else ()
        return listing.Listed(
            chosen,
            row=lambda finding: finding.model_dump(mode="json"),
            name=lambda finding: finding.fingerprint,
            table=lambda findings, wide: table.findings(findings, now_ms(), wide=wide) if findings else None,
            cells=lambda finding: (formats.cells(finding),),
            left_out=("no finding matches",) if query.terms and not every else (*how_many, *wanted.left_out(every, len(chosen))),
        )

    listing.show(settings, formats.FIELDS, ask, formats.COLUMNS)
    return 0


def _reader(settings: FindingsListSettings) -> Callable[[], list[Finding]]:
    """What reads all findings: from serve if its address is given, or from the topic."""
    from clientscope import topics
    from clientscope.commands.findings import topic
    from clientscope.kafka.access import KafkaAccess
    from clientscope.records.topics import FINDINGS
    from clientscope.report.api import Api
    from clientscope.report.findings import fetching

    if (page := settings.page()) is not None:
        api = Api(page)
        return lambda: fetching.every(api, " ".join(settings.search))
    kafka = KafkaAccess.of(settings)
    topics.verify(kafka, reads=(FINDINGS,))
    return lambda: topic.read(kafka)


COMMAND = Command(FindingsListSettings, run)
