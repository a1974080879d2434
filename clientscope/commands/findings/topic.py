"""Reader of findings."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence

from clientscope.errors import RecordError
from clientscope.kafka.access import KafkaAccess
from clientscope.kafka.admin import broker_errors
from clientscope.kafka.compacted import read_compacted
from clientscope.model.codec import decode
from clientscope.model.finding import Finding
from clientscope.model.topics import FINDINGS
from clientscope.report.findings import found_by
from clientscope.report.text import counted

CLIENT_ID = "clientscope-findings"


def named(fingerprints: Iterable[str], every: Sequence[Finding]) -> list[Finding]:
    """The findings of these fingerprints, each once.

    Raises:
        SettingsError: no finding has one of them, or several have it.
    """
    return list({finding.fingerprint: finding for finding in (found_by(given, every) for given in fingerprints)}.values())


def read(kafka: KafkaAccess) -> list[Finding]:
    """All findings of the topic; standard error counts the records that can't be read.

    Raises:
        EnvironmentProblem: no broker answers.
    """
    with broker_errors(kafka):
        values = read_compacted(kafka, FINDINGS, CLIENT_ID)
    findings, broken = [], 0
    for value in values.values():
        try:
            findings.append(decode(Finding, value))
        except RecordError:
            broken += 1
    if broken:
        print(f"{counted(broken, 'record')} of {FINDINGS} can't be read; ignored", file=sys.stderr)
    return findings
