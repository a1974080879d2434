"""``clientscope findings`` and what stands under it: list, show, close, reopen."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from contextlib import closing

from kafka.errors import KafkaError
from rich.console import Console

from clientscope import topics
from clientscope.compacted import TopicWriter, read_compacted
from clientscope.config import FindingsCloseSettings, FindingsListSettings, FindingsReopenSettings, FindingsShowSettings
from clientscope.errors import EnvironmentProblem, RecordError
from clientscope.findings.record import Finding
from clientscope.kafka_access import KafkaAccess
from clientscope.records.topics import DECISIONS, FINDINGS
from clientscope.report import listing
from clientscope.report.findings import deciding, details, formats, table
from clientscope.report.findings.selecting import Filter, found_by
from clientscope.report.listing import Listed
from clientscope.topic_values import parse

_CLIENT_ID = "clientscope-findings"


def list_(settings: FindingsListSettings) -> None:
    """Prints the findings that the filters leave, what to fix first first; what isn't listed is counted on standard error.

    Raises:
        EnvironmentProblem: no broker, no topic, or no right to read it.
        SettingsError: a filter that is none.
    """
    wanted = Filter.of(settings)  # a wrong filter is said before anything is asked
    kafka = KafkaAccess.of(settings)
    topics.verify(kafka, reads=(FINDINGS,))

    def ask() -> Listed[Finding]:
        every = _read(kafka)
        chosen = sorted(filter(wanted.takes, every), key=lambda finding: finding.urgency)
        return Listed(
            chosen,
            row=lambda finding: finding.model_dump(mode="json"),
            name=lambda finding: finding.fingerprint,
            table=lambda findings, wide: table.findings(findings, int(time.time() * 1000), wide=wide) if findings else None,
            cells=lambda finding: (formats.cells(finding),),
            left_out=tuple(wanted.left_out(every, len(chosen))),
        )

    listing.show(settings, formats.FIELDS, ask)


def show(settings: FindingsShowSettings) -> None:
    """Prints all that is known of one finding.

    Raises:
        EnvironmentProblem: as `list_`.
        SettingsError: there is no such finding, or several.
    """
    kafka = KafkaAccess.of(settings)
    topics.verify(kafka, reads=(FINDINGS,))
    finding = found_by(settings.fingerprint, _read(kafka))
    if settings.output == "json":
        print(finding.model_dump_json(indent=2))
        return
    view = details.of(finding, int(time.time() * 1000))
    listing.console(Console(), view).print(view)


def close(settings: FindingsCloseSettings) -> None:
    """Writes a decision for each finding, once all of them can be decided so.

    Raises:
        EnvironmentProblem: as `list_`, or no right to write decisions, or Kafka did not take them.
        SettingsError: a finding that isn't there, or a decision that doesn't fit; nothing is written then.
    """
    kafka, now_ms = KafkaAccess.of(settings), int(time.time() * 1000)
    decide = deciding.Closing.of(settings, now_ms)
    topics.verify(kafka, reads=(FINDINGS,), writes=(DECISIONS,))
    every = _read(kafka)
    findings = list({finding.fingerprint: finding for finding in (found_by(given, every) for given in settings.fingerprints)}.values())
    decisions = [decide.decision(finding) for finding in findings]
    _write(kafka, {decision.fingerprint: decision.model_dump_json(exclude_none=True).encode() for decision in decisions}, {})
    for finding in findings:
        print(f"closed {finding.fingerprint} as {settings.resolution}: {table.printable(finding.message)}")
        for warning in decide.warnings(finding):
            print(f"{finding.fingerprint[:8]}: {warning}", file=sys.stderr)
    print("the streaming job applies it within seconds", file=sys.stderr)


def reopen(settings: FindingsReopenSettings) -> None:
    """Takes back the decisions about findings: a tombstone for each, with who and why in its headers.

    Raises:
        EnvironmentProblem: as `close`.
        SettingsError: a finding that isn't there, or that nobody has decided about; nothing is written then.
    """
    kafka = KafkaAccess.of(settings)
    by, why = deciding.who(settings.by), deciding.reason(settings.why)
    topics.verify(kafka, reads=(FINDINGS, DECISIONS), writes=(DECISIONS,))
    every, decided = _read(kafka), read_compacted(kafka, DECISIONS, _CLIENT_ID)
    findings = list({finding.fingerprint: finding for finding in (found_by(given, every) for given in settings.fingerprints)}.values())
    for finding in findings:
        deciding.require_decided(finding, decided)
    _write(kafka, {finding.fingerprint: None for finding in findings}, {"by": by, "why": why})
    for finding in findings:
        print(f"reopened {finding.fingerprint}: {table.printable(finding.message)}")
    print("the streaming job applies it within seconds", file=sys.stderr)


def _read(kafka: KafkaAccess) -> list[Finding]:
    try:
        values = read_compacted(kafka, FINDINGS, _CLIENT_ID)
    except (KafkaError, TimeoutError) as error:
        raise topics.no_broker(kafka, error) from None
    findings, broken = [], 0
    for value in values.values():
        try:
            findings.append(parse(Finding, value))
        except RecordError:
            broken += 1
    if broken:
        print(
            f"{broken} record{'s' * (broken != 1)} of {FINDINGS} can't be read, and {'are' if broken != 1 else 'is'} left out",
            file=sys.stderr,
        )
    return findings


def _write(kafka: KafkaAccess, records: dict[str, bytes | None], headers: Mapping[str, str]) -> None:
    try:
        with closing(TopicWriter(kafka, DECISIONS, _CLIENT_ID)) as writer:
            beside = [(name, text.encode()) for name, text in headers.items()]
            writer.write(records, dict.fromkeys(records, beside))
    except (KafkaError, TimeoutError) as error:
        raise EnvironmentProblem(
            f"Kafka has not acknowledged the decision ({str(error)[:200] or type(error).__name__})",
            "is the broker well? do it again: a decision that is written twice does no harm",
        ) from None
