"""The commands ``clientscope findings list | show | who-has | close | reopen``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import BeforeValidator, Field

from clientscope.commands.command import Command, CommandGroup
from clientscope.config import KafkaSettings, ListingSettings, PageSettings
from clientscope.config.base import Option, SearchTerms, TextOrJson
from clientscope.config_types import check_url

if TYPE_CHECKING:
    from clientscope.model.finding import Finding


Fingerprints = Annotated[
    tuple[str, ...],
    Field(description="first digits of the findings' fingerprints, at least 6"),
    Option(positional=True, several=True, metavar="FINGERPRINT"),
]
Why = Annotated[str, Field(default="", description="reason, in a sentence for later readers; never a secret"), Option(flag_only=True)]
By = Annotated[str, Field(default="", description="name of the person who decides; by default this machine's user"), Option(flag_only=True)]


class FindingsListSettings(ListingSettings, PageSettings, KafkaSettings):
    """Lists findings, the most urgent first: those that are open, and leaks that stopped but must still be rotated."""

    section = "findings"
    subcommand = "list"
    search: SearchTerms = Field(
        (), description="terms of the page's search (docs/page.md): code:SK* 'severity:>=high' client_id:orders-* state:resolved"
    )
    url: Annotated[str, BeforeValidator(check_url), Option(section="page", metavar="URL")] = Field(
        "", description="address of the page of clientscope serve, to ask it instead"
    )
    every: Annotated[bool, Option(flag="all", flag_only=True)] = Field(
        False, description="list every state, and findings that a suppression hides"
    )


def _list(settings: FindingsListSettings) -> int:
    """Prints the findings that match the search; standard error counts those that are not listed.

    Raises:
        EnvironmentProblem: no broker, no topic, or no right to read it; with --url, no serve answers, or it requires a token.
        SettingsError: the search is invalid.
    """
    from clientscope.clock import now_ms
    from clientscope.model.codec import as_json
    from clientscope.query import FINDINGS
    from clientscope.report import api, findings, listing

    api.parsed(settings.search, FINDINGS, now_ms())  # before anything is asked
    choice = findings.FindingChoice(frozenset(findings.STATES), suppressed="all") if settings.every else findings.FindingChoice()
    read = _reader(settings)

    def ask() -> listing.Listed[Finding]:
        query = api.parsed(settings.search, FINDINGS, now_ms())
        every = [finding for finding in read() if findings.is_found(query, findings.searched(finding))]
        chosen = choice.chosen(query, every)
        how_many = (findings.listed(chosen),) if chosen and settings.output in ("table", "wide") else ()
        return listing.Listed(
            chosen,
            row=as_json,
            name=lambda finding: finding.fingerprint,
            table=lambda items, wide: findings.findings_table(items, now_ms(), wide=wide) if items else None,
            left_out=("no finding matches",) if query.terms and not every else (*how_many, *choice.left_out(query, every, len(chosen))),
        )

    listing.show(settings, findings.FIELDS, ask)
    return 0


def _reader(settings: FindingsListSettings) -> Callable[[], list[Finding]]:
    """What reads all findings: from serve if its address is given, or from the topic."""
    from clientscope import topics
    from clientscope.commands.findings import topic
    from clientscope.kafka.access import KafkaAccess
    from clientscope.model.topics import FINDINGS
    from clientscope.report.api import Api
    from clientscope.report.findings import every

    if settings.url:
        api = Api(settings)
        return lambda: every(api, " ".join(settings.search))
    kafka = KafkaAccess.of(settings)
    topics.verify(kafka, reads=(FINDINGS,))
    return lambda: topic.read(kafka)


class FindingsShowSettings(KafkaSettings):
    """Shows all details of one finding."""

    section = "findings"
    subcommand = "show"
    fingerprint: Annotated[str, Option(positional=True)] = Field(description="first digits of its fingerprint, at least 6")
    output: TextOrJson


def _show(settings: FindingsShowSettings) -> int:
    """Prints one finding.

    Raises:
        EnvironmentProblem: no broker, no topic, or no right to read it.
        SettingsError: no finding has this fingerprint, or several have it.
    """
    from clientscope import topics
    from clientscope.clock import now_ms
    from clientscope.commands.findings import topic
    from clientscope.kafka.access import KafkaAccess
    from clientscope.model.codec import adapter
    from clientscope.model.finding import Finding
    from clientscope.model.topics import FINDINGS
    from clientscope.report import listing
    from clientscope.report.findings import details, found_by

    kafka = KafkaAccess.of(settings)
    topics.verify(kafka, reads=(FINDINGS,))
    finding = found_by(settings.fingerprint, topic.read(kafka))
    if settings.output == "json":
        print(adapter(Finding).dump_json(finding, indent=2).decode())
    else:
        listing.print_view(details(finding, now_ms()))
    return 0


class FindingsWhoHasSettings(PageSettings):
    """Lists which applications and clients pushed a secret, under which setting, and whether they are connected now.
    The value is read from standard input, or typed without an echo; it is hashed with the digest key and forgotten.
    It must be the whole value of a setting. Only the broker knows whether a password still works.
    """

    section = "findings"
    subcommand = "who-has"
    reads_secret = True
    digest_key_file: Annotated[Path | None, Option(section="stream")] = Field(
        None, description="keys of the HMAC digests, the same as the gateways'; required"
    )
    output: TextOrJson


def _who_has(settings: FindingsWhoHasSettings) -> int:
    """Prints who pushed the value.

    Raises:
        EnvironmentProblem: no serve answers, or it requires a token.
        SettingsError: there is no key, or no value.
    """
    import json
    import sys

    from clientscope import core_dumps
    from clientscope.clock import now_ms
    from clientscope.digest import DigestKey
    from clientscope.errors import SettingsError
    from clientscope.model.codec import as_json
    from clientscope.query import term_text
    from clientscope.report import listing, who_has
    from clientscope.report.api import Api
    from clientscope.report.findings import every

    if settings.digest_key_file is None:
        raise SettingsError(
            "--digest-key-file is required", "it is the gateways' file of keys; without one no digests were made (docs/keys.md)"
        )
    api, key = Api(settings), DigestKey.read(settings.digest_key_file)
    core_dumps.forbid()
    found = every(api, term_text("digest", *who_has.read_digests(key)))
    if settings.output == "json":
        print(json.dumps([as_json(finding) for finding in found], ensure_ascii=False, indent=2))
        print(who_has.ONLY_THE_BROKER if found else who_has.NOBODY, file=sys.stderr)
    else:
        listing.print_view(who_has.view(found, now_ms()))
    return 0


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


def _close(settings: FindingsCloseSettings) -> int:
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
    from clientscope.model.codec import encode_whole
    from clientscope.model.topics import DECISIONS, FINDINGS
    from clientscope.report import deciding
    from clientscope.report.findings import printable

    kafka, at_ms = KafkaAccess.of(settings), now_ms()
    decide = deciding.Closing.of(settings.resolution, settings.why, settings.until, settings.by, at_ms)
    topics.verify(kafka, reads=(FINDINGS,), writes=(DECISIONS,))
    findings = topic.named(settings.fingerprints, topic.read(kafka))
    decisions = [decide.decision(finding) for finding in findings]
    deciding.write(kafka, topic.CLIENT_ID, {decision.fingerprint: encode_whole(decision) for decision in decisions}, {})
    for finding in findings:
        print(f"closed {finding.fingerprint} as {settings.resolution}: {printable(finding.message)}")
        for warning in decide.warnings(finding):
            print(f"{finding.fingerprint[:8]}: {warning}", file=sys.stderr)
    print("the streaming job applies it within seconds", file=sys.stderr)
    return 0


class FindingsReopenSettings(KafkaSettings):
    """Withdraws decisions about findings: they are open again, or in the state that they have without a decision."""

    section = "findings"
    subcommand = "reopen"
    fingerprints: Fingerprints
    why: Why
    by: By


def _reopen(settings: FindingsReopenSettings) -> int:
    """Withdraws the decisions: a tombstone for each, with who and why in its headers.

    Raises:
        EnvironmentProblem: no broker, no topic, no right to read or write it, or Kafka has not acknowledged it.
        SettingsError: an unknown finding, or one without a decision; nothing is written then.
    """
    import sys

    from clientscope import topics
    from clientscope.commands.findings import topic
    from clientscope.kafka.access import KafkaAccess
    from clientscope.kafka.compacted import read_compacted
    from clientscope.model.topics import DECISIONS, FINDINGS
    from clientscope.report import deciding
    from clientscope.report.findings import printable

    kafka = KafkaAccess.of(settings)
    by, why = deciding.who(settings.by), deciding.reason(settings.why)
    topics.verify(kafka, reads=(FINDINGS, DECISIONS), writes=(DECISIONS,))
    every, decided = topic.read(kafka), read_compacted(kafka, DECISIONS, topic.CLIENT_ID)
    findings = topic.named(settings.fingerprints, every)
    for finding in findings:
        deciding.require_decided(finding, decided)
    deciding.write(kafka, topic.CLIENT_ID, {finding.fingerprint: None for finding in findings}, {"by": by, "why": why})
    for finding in findings:
        print(f"reopened {finding.fingerprint}: {printable(finding.message)}")
    print("the streaming job applies it within seconds", file=sys.stderr)
    return 0


COMMAND = CommandGroup(
    "findings",
    "Lists findings (the default), shows one, finds who pushed a secret, and records decisions about them.",
    (
        Command(FindingsListSettings, _list),
        Command(FindingsShowSettings, _show),
        Command(FindingsWhoHasSettings, _who_has),
        Command(FindingsCloseSettings, _close),
        Command(FindingsReopenSettings, _reopen),
    ),
    status="Exit status: 0 done; 1 not done: nothing was decided, or Kafka has not acknowledged it; 2 wrong use.",
    alone="list",
)
