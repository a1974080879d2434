"""Runs of ``clientscope lint``: on real files with the real rules, and on made verdicts where the text is what matters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path

import pytest

from clientscope import cli
from clientscope.catalog.configs import ClientType
from clientscope.catalog.dialects import dialect
from clientscope.commands.lint import findings, places
from clientscope.commands.lint.judging import FileVerdict, Judged, RuleTexts, Subject
from clientscope.profiles.owners import Owners
from clientscope.profiles.suppressions import Suppression

TODAY = date(2026, 11, 22)
ZERO = RuleTexts(
    "AN101",
    "acks_zero",
    "high",
    ("acks",),
    {"What": "``acks`` is 0.", "Why": "Records get lost.", "Use instead": "``acks=all``.", "Source": "KIP-679"},
    "https://example.org/a?b=c",
)
SMALL = RuleTexts(
    "AN110",
    "batch_small",
    "medium",
    ("batch.size", "linger.ms"),
    {"What": "Too small.", "Use instead": "A larger one."},
    "https://kafka.apache.org/documentation/#producerconfigs_batch.size",
)
LEAK = RuleTexts(
    "SK001",
    "credential",
    "critical",
    (),
    {"What": "A credential.", "Use instead": "None."},
    "https://cwiki.apache.org/confluence/display/KAFKA/KIP-1324",
)
RULES = {rule.code: rule for rule in (ZERO, SMALL, LEAK)}


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    """The command in this process: status, stdout, stderr."""
    status = cli.main(["lint", *arguments])
    return (status, *capsys.readouterr())


def fired(rule: RuleTexts, message: str, *settings: tuple[str, str | None], reason: str | None = None) -> FileVerdict:
    """A verdict about settings."""
    judged = tuple(Judged(key, None if reason else value, reason) for key, value in settings)
    return FileVerdict(rule.code, rule.severity, "fired", message, judged)


def quiet(rule: RuleTexts, outcome: str) -> FileVerdict:
    """A verdict that finds nothing."""
    return FileVerdict(rule.code, rule.severity, outcome, "nothing", ())


def reported(
    path: str,
    text: str,
    *verdicts: FileVerdict,
    suppressions: Sequence[Suppression] = (),
    owners: Owners | None = None,
    notes: Sequence[tuple[int, str]] = (),
) -> findings.FileReport:
    """What these verdicts come to for a properties file with this text, of a Java producer."""
    settings: Mapping[str, places.Placed] = {each.name: each for each in places.read(path, text.encode(), "properties")}
    values = {name: each.value or "" for name, each in settings.items()}
    subject = Subject(values, dialect("java"), "unknown", ClientType.PRODUCER)
    read = findings.Read(path, settings, (subject,), tuple(notes))
    decisions = findings.Decisions(tuple(suppressions), owners or Owners(), TODAY)
    return findings.reports([read], iter([verdicts]), RULES, decisions)[0]


def write(folder: Path, **files: str) -> None:
    """Files by name, ``_`` for the dot before the suffix."""
    for name, text in files.items():
        stem, _, suffix = name.rpartition("_")
        (folder / f"{stem}.{suffix}").write_text(text)
