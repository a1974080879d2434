"""Output formats for people: ``full`` with the line and a caret, ``concise`` with one line for each finding, and statistics."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping

from clientscope.commands.lint.findings import FileFinding, FileReport, FileSetting, Instance, LintReport
from clientscope.commands.lint.shown import plain
from clientscope.profiles.suppressions import ENDLESS
from clientscope.severities import SEVERITIES

_COLOURS = {"critical": "1;31", "high": "31", "medium": "33", "low": "36", "info": "2"}
_LONG = 400
"""Characters of a documentation's paragraph, an error or a note."""


def coloured(environ: Mapping[str, str] = os.environ) -> bool:
    """Whether standard output gets colours: on a terminal, unless NO_COLOR is set; FORCE_COLOR beats both (https://force-color.org)."""
    if environ.get("FORCE_COLOR"):
        return True
    return sys.stdout.isatty() and not environ.get("NO_COLOR") and environ.get("TERM") != "dumb"


def full(report: LintReport, colour: bool) -> Iterator[str]:
    """Every finding with its place, what to use instead and why, then a line for each file and one for all."""
    for file in report.files:
        for finding in file.findings:
            yield from _block(finding, colour)
            yield ""
    yield from _about_files(report)
    yield summary(report)


def concise(report: LintReport, colour: bool) -> Iterator[str]:
    """``path:line:column: CODE severity sentence``, and one line for all."""
    for finding in report.findings:
        place = f"{plain(finding.path)}:{finding.line}:{finding.column}"
        yield f"{place}: {_painted(f'{finding.rule.code} {finding.severity}', finding.severity, colour)} {sentence(finding)}"
    yield summary(report)


def statistics(report: LintReport) -> Iterator[str]:
    """How often each rule found something, passed, and couldn't tell."""
    yield f"{'CODE':6} {'FINDINGS':>8} {'SUPPRESSED':>10} {'PASSED':>6} {'–':>6}  SEVERITY"
    for code, severity, counts in report.statistics():
        numbers = f"{counts['findings']:8} {counts['suppressed']:10} {counts['passed']:6} {counts['not_evaluable']:6}"
        yield f"{code:6} {numbers}  {severity}".rstrip()
    yield "–: could not be judged by the file alone, so neither clean nor wrong"


def summary(report: LintReport) -> str:
    """One line for the whole run."""
    findings = report.findings
    judged = [file for file in report.files if not file.skipped]
    noun = "configuration" if any(file.instance for file in judged) else "file"
    by_severity = [(severity, sum(finding.severity == severity for finding in findings)) for severity in reversed(SEVERITIES)]
    worst = ", ".join(f"{count} {severity}" for severity, count in by_severity if count)
    parts = [f"{counted(len(findings), 'finding')} in {counted(len(judged), noun)}" + (f" ({worst})" if worst else "")]
    if suppressed := sum(len(file.suppressed) for file in judged):
        parts.append(f"{suppressed} suppressed")
    parts.append(f"{counted(report.count('passed'), 'check')} passed")
    parts.append(f"– {report.count('not_evaluable')} could not be judged")
    if skipped := len(report.files) - len(judged):
        parts.append(f"{counted(skipped, 'file')} skipped")
    if report.errors:
        parts.append(f"{counted(len(report.errors), 'file')} not read")
    return "; ".join(parts)


def sentence(finding: FileFinding) -> str:
    """What is wrong, and which value makes it so."""
    return f"{finding.message} [{', '.join(map(_stated, finding.settings[:3]))}]" if finding.settings else finding.message


def counted(number: int, noun: str) -> str:
    """``1 file``, ``2 files``."""
    return f"{number} {noun}{'s' * (number != 1)}"


def _block(finding: FileFinding, colour: bool) -> Iterator[str]:
    head = _painted(f"{finding.rule.code} {finding.severity}", finding.severity, colour)
    yield f"{head}: {finding.message}"
    yield f"  --> {plain(finding.path)}:{finding.line}:{finding.column}"
    first = finding.settings[0] if finding.settings else None
    if finding.region and first:
        margin = " " * len(str(finding.line))
        line, caret = _line(finding, first)
        yield f" {margin} |"
        yield f" {finding.line} | {line}"
        yield f" {margin} | {_painted(caret, finding.severity, colour)}{f' {first.note}' if first.note else ''}"
    for setting in finding.settings if not finding.region else finding.settings[1:]:
        yield f"   = with {_stated(setting)}"
    for section in ("Why", "Use instead"):
        if text := finding.rule.documentation.get(section):
            yield f"   = {section.lower()}: {plain(text.replace('``', '`'), _LONG)}"
    yield f"   = see: {finding.rule.link}"
    if finding.owner:
        yield f"   = owner: {plain(finding.owner.team)} ({plain(finding.owner.contact)})"


def _line(finding: FileFinding, first: FileSetting) -> tuple[str, str]:
    """The setting, and the text below it; of a secret only the placeholder."""
    if not finding.source:
        at = finding.settings[0]
        before = f"{at.key} = "
        return before + (at.value or ""), " " * len(before) + "^" * len(at.value or " ")
    source = plain(finding.source)
    region = finding.region
    assert region is not None  # a source is of a region
    length = max(1, region.end_column - region.column) if region.line == region.end_line else 1
    start = max(0, len(source) - length)
    return source, " " * start + "^" * (len(source) - start or 1)


def _stated(setting: FileSetting) -> str:
    value = "not known" if setting.value is None else setting.value
    origin = "" if setting.origin == "set" else " by default"
    note = f" ({setting.note})" if setting.note else ""
    return f"{setting.key} = {value}{origin}{note}"


def _about_files(report: LintReport) -> Iterator[str]:
    for file in report.files:
        yield from _about(file)
    for suppression in report.expired:
        yield f"note: {plain(suppression.where)}: the suppression of {suppression.code} ended on {suppression.until} and counts no longer"


def _about(file: FileReport) -> Iterator[str]:
    path = plain(file.path)
    for line, note in file.notes:
        yield f"note: {path}:{line}: {note}"
    for finding, suppression in file.suppressed:
        until = "" if suppression.until == ENDLESS else f"until {suppression.until} "
        by = f"{until}by {plain(suppression.where)}: {plain(suppression.reason)}"
        yield f"note: {path}:{finding.line}: {finding.rule.code} is suppressed {by}"
    if file.skipped:
        yield f"– {path}: not judged: {plain(file.skipped)}"
        return
    passed, unjudged = (sum(each == outcome for each in file.outcomes.values()) for outcome in ("passed", "not_evaluable"))
    who = ", ".join(file.client_types) or "client type not known"
    if file.instance:
        path, who = f"{path}:{file.instance.line}", _client(file.instance, who)
    yield f"{path} ({who}): {counted(len(file.findings), 'finding')}, {counted(passed, 'check')} passed, – {unjudged} could not be judged"


def _client(instance: Instance, client_type: str) -> str:
    starts = f", {instance.starts:,} starts" if instance.starts > 1 else ""
    return f"{client_type} {instance.client_id or 'without client.id'}, {instance.software_version}{starts}"


def _painted(text: str, severity: str, colour: bool) -> str:
    return f"\x1b[{_COLOURS[severity]}m{text}\x1b[0m" if colour else text
