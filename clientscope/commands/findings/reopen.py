"""The command ``clientscope findings reopen``."""

from __future__ import annotations

from clientscope.commands.command import Command
from clientscope.commands.findings.deciding import By, Fingerprints, Why
from clientscope.config import KafkaSettings


class FindingsReopenSettings(KafkaSettings):
    """Withdraws decisions about findings: they are open again, or in the state that they have without a decision."""

    section = "findings"
    subcommand = "reopen"
    fingerprints: Fingerprints
    why: Why
    by: By


def run(settings: FindingsReopenSettings) -> int:
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
    from clientscope.records.topics import DECISIONS, FINDINGS
    from clientscope.report.findings import deciding, table

    kafka = KafkaAccess.of(settings)
    by, why = deciding.who(settings.by), deciding.reason(settings.why)
    topics.verify(kafka, reads=(FINDINGS, DECISIONS), writes=(DECISIONS,))
    every, decided = topic.read(kafka), read_compacted(kafka, DECISIONS, topic.CLIENT_ID)
    findings = topic.named(settings.fingerprints, every)
    for finding in findings:
        deciding.require_decided(finding, decided)
    topic.write(kafka, {finding.fingerprint: None for finding in findings}, {"by": by, "why": why})
    for finding in findings:
        print(f"reopened {finding.fingerprint}: {table.printable(finding.message)}")
    print("the streaming job applies it within seconds", file=sys.stderr)
    return 0


COMMAND = Command(FindingsReopenSettings, run)
