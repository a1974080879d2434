"""Diagnostics: the findings and notes of ``clientscope lint``, with their places."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple

from clientscope.commands.lint.findings import FileReport
from clientscope.commands.lint.located import Region
from clientscope.commands.lint.text import sentence

Level = Literal["error", "warning", "information", "hint"]

_LEVELS: dict[str, Level] = {"critical": "error", "high": "error", "medium": "warning", "low": "information", "info": "hint"}
_START = Region(1, 1, 1, 1)
MOST = 1_000
"""Findings of a document that are shown; an editor draws each of them at every change."""


class Remark(NamedTuple):
    """One thing to show.

    Attributes:
        region: of the value that it is about; the document's beginning where that isn't in it.
        code: the rule's; empty for a note.
        link: further reading; empty for none.
    """

    region: Region
    level: Level
    text: str
    code: str = ""
    link: str = ""


def remarks(report: FileReport) -> Iterator[Remark]:
    """Everything that ``clientscope lint`` prints about a file, but for what is suppressed; of too many findings the worst."""
    findings = report.findings if len(report.findings) <= MOST else sorted(report.findings, key=lambda finding: -finding.rank)[:MOST]
    if len(findings) < len(report.findings):
        yield Remark(_START, "information", f"{len(report.findings):,} findings, of which the worst {MOST:,} are shown")
    for finding in findings:
        text = f"{sentence(finding)}\n{_instead(finding.rule.documentation.get('Use instead', ''))}".strip()
        yield Remark(finding.region or _START, _LEVELS[finding.severity], text, finding.rule.code, finding.rule.link)
    for line, note in report.notes:
        yield Remark(Region(line, 1, line, 1), "hint", note)


def _instead(text: str) -> str:
    return f"Use instead: {text.replace('``', '`')}" if text else ""
