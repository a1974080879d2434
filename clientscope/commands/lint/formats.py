"""Formats of a report: ``full``, ``concise`` and statistics for people, ``json``, ``sarif`` and ``github``."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import PurePath
from typing import Any
from urllib.parse import quote

from clientscope import __version__
from clientscope.commands.lint.findings import FileFinding, FileReport, FileSetting, Instance, LintReport
from clientscope.commands.lint.judging import RuleTexts
from clientscope.commands.lint.placed import Region
from clientscope.commands.lint.shown import plain
from clientscope.commands.sources import wrapped
from clientscope.profiles.suppressions import ENDLESS
from clientscope.severities import SEVERITIES

_COLOURS = {"critical": "1;31", "high": "31", "medium": "33", "low": "36", "info": "2"}
_NARROWEST = 40
"""Columns of a terminal below which a paragraph isn't wrapped."""


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
    """``path:line:column: CODE severity sentence``, what isn't judged, and one line for all."""
    for finding in report.findings:
        place = f"{plain(finding.path)}:{finding.line}:{finding.column}"
        yield f"{place}: {_painted(f'{finding.rule.code} {finding.severity}', finding.severity, colour)} {sentence(finding)}"
    skipped: dict[str, list[FileReport]] = {}
    for file in report.files:
        if file.skipped:
            skipped.setdefault(file.skipped, []).append(file)
    yield from (_skipped(first, f" and {len(others):,} more" * bool(others)) for first, *others in skipped.values())
    yield summary(report)


def _skipped(file: FileReport, more: str = "") -> str:
    return f"– {plain(file.path)}{more}: not judged: {plain(file.skipped)}"


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
    if skipped := sum(file.count for file in report.files if file.skipped):
        parts.append(f"{counted(skipped, 'file')} skipped")
    if report.errors:
        parts.append(f"{counted(len(report.errors), 'file')} not read")
    return "; ".join(parts)


def sentence(finding: FileFinding) -> str:
    """What is wrong, and which value makes it so."""
    return f"{finding.message} [{', '.join(map(stated, finding.settings[:3]))}]" if finding.settings else finding.message


def counted(number: int, noun: str) -> str:
    """``1 file``, ``2 files``; as in `clientscope.report.text`, which imports what lint does without."""
    return f"{number} {noun}{'s' * (number != 1)}"


def _block(finding: FileFinding, colour: bool) -> Iterator[str]:
    head = _painted(f"{finding.rule.code} {finding.severity}", finding.severity, colour)
    yield f"{head}: {finding.message}"
    yield f"  --> {plain(finding.path)}:{finding.line}:{finding.column}"
    first = finding.settings[0] if finding.settings else None
    if finding.region and first:
        margin = " " * len(str(finding.line))
        before, value = f"{first.key} = ", first.value or ""
        caret = " " * len(before) + "^" * len(value or " ")
        yield f" {margin} |"
        yield f" {finding.line} | {before}{value}"
        yield f" {margin} | {_painted(caret, finding.severity, colour)}{f' {first.note}' if first.note else ''}"
    for setting in finding.settings if not finding.region else finding.settings[1:]:
        yield f"   = with {stated(setting)}"
    for section in ("Why", "Use instead"):
        if text := finding.rule.documentation.get(section):
            yield from _wrapped(f"   = {section.lower()}: {text.replace('``', '`')}")
    yield f"   = see: {finding.rule.link}"
    if finding.owner:
        yield f"   = owner: {finding.owner}"


def _wrapped(paragraph: str) -> list[str]:
    """A rule's paragraph, whole: in lines on a terminal, and else in one that can be searched."""
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() or "COLUMNS" in os.environ else 0
    return [paragraph] if width < _NARROWEST else wrapped(paragraph, width)


def stated(setting: FileSetting) -> str:
    """A setting with its value, where that comes from, and what is said of it."""
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
        by = f"{until}by {plain(suppression.where)}: {suppression.reason}"
        yield f"note: {path}:{finding.line}: {finding.rule.code} is suppressed {by}"
    if file.skipped:
        yield _skipped(file)
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


_LEVELS = {"critical": "error", "high": "error", "medium": "warning", "low": "note", "info": "note"}
"""Of SARIF; GitHub's annotations call a note a notice."""
_GITHUB_SHOWS = 10
"""Annotations of each kind that GitHub shows for a step."""


def github_lines(report: LintReport, token: str, more: Iterable[str] = ()) -> Iterator[str]:
    """Format ``github``: annotations for a workflow's page, then the full text for its log, then what is in the log alone.

    GitHub shows ten errors, ten warnings and ten notices of a step, and drops the others without a word.  So the worst come first, all are
    in the log, and the last line says how many are there alone.

    Escaping is what the runner undoes (actions/runner, src/Runner.Common/ActionCommand.cs). The log quotes files, which may come from
    anybody's pull request; commands in it are stopped by ``::stop-commands::`` with a random token.

    Args:
        token: random text, by which the runner takes commands again after the log.
        more: what else goes into the log.
    """
    emitted: Counter[str] = Counter()
    for error in report.errors:
        emitted["error"] += 1
        if emitted["error"] <= _GITHUB_SHOWS:
            yield f"::error title={_github_property('clientscope lint')}::{_github_data(error)}"
    for finding in sorted(report.findings, key=lambda finding: -finding.rank):
        kind = _LEVELS[finding.severity].replace("note", "notice")
        emitted[kind] += 1
        if emitted[kind] <= _GITHUB_SHOWS:
            yield _annotation(kind, finding)
    yield f"::stop-commands::{token}"
    yield from full(report, colour=False)
    yield from more
    yield f"::{token}::"
    beyond = {kind: count - _GITHUB_SHOWS for kind, count in emitted.items() if count > _GITHUB_SHOWS}
    if beyond:
        said = ", ".join(counted(count, f"more {kind}") for kind, count in beyond.items())
        yield f"clientscope lint: GitHub shows {_GITHUB_SHOWS} annotations of each kind: {said} in the log above"
    else:
        yield f"clientscope lint: {counted(sum(emitted.values()), 'annotation')}, all shown"


def _annotation(kind: str, finding: FileFinding) -> str:
    properties = {"file": plain(finding.path, 1000), "line": str(finding.line)}
    if region := finding.region:
        properties |= {"endLine": str(region.end_line), "col": str(region.column)}
        if region.line == region.end_line:  # the runner takes columns of one line alone
            properties["endColumn"] = str(region.end_column)
        else:
            del properties["col"]
    properties["title"] = f"{finding.rule.code} {finding.rule.name} ({finding.severity})"
    written = ",".join(f"{name}={_github_property(value)}" for name, value in properties.items())
    return f"::{kind} {written}::{_github_data(sentence(finding))}"


def _github_data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _github_property(text: str) -> str:
    return _github_data(text).replace(":", "%3A").replace(",", "%2C")


_JSON_VERSION = 1
"""Version of the document's fields; it rises when a field is removed or changes its meaning."""


def json_document(report: LintReport) -> str:
    """Format ``json``: one document; docs/lint.md describes its fields."""
    return json.dumps(json_fields(report), indent=2, ensure_ascii=False)


def json_fields(report: LintReport) -> Mapping[str, object]:
    """The document before it is text."""
    return {
        "version": _JSON_VERSION,
        "findings": [_json_finding(finding) for finding in report.findings],
        "files": [_json_file(file) for file in report.files],
        "errors": list(report.errors),
        "expired_suppressions": [{"code": each.code, "until": each.until.isoformat(), "where": each.where} for each in report.expired],
        "statistics": [
            {
                "code": code,
                "findings": counts["findings"],
                "suppressed": counts["suppressed"],
                "passed": counts["passed"],
                "not_judged": counts["not_evaluable"],
            }
            for code, _, counts in report.statistics()
        ],
        "passed": report.count("passed"),
        "not_judged": report.count("not_evaluable"),
    }


_OF_SETTING = ("key", "value", "origin", "line", "note")


def _json_finding(finding: FileFinding) -> Mapping[str, object]:
    return {
        "code": finding.rule.code,
        "name": finding.rule.name,
        "severity": finding.severity,
        "message": finding.message,
        "path": plain(finding.path),
        **(finding.region._asdict() if finding.region else dict.fromkeys(Region._fields)),
        "settings": [{name: getattr(setting, name) for name in _OF_SETTING} for setting in finding.settings],
        "use_instead": finding.rule.documentation.get("Use instead"),
        "source": finding.rule.documentation.get("Source"),
        "see": finding.rule.link,
        "owner": asdict(finding.owner) if finding.owner else None,
        "fingerprint": finding.fingerprint,
    }


def _json_file(file: FileReport) -> Mapping[str, object]:
    def codes(outcome: str) -> list[str]:
        return sorted(code for code, each in file.outcomes.items() if each == outcome)

    return {
        "path": plain(file.path),
        "client_types": file.client_types,
        "findings": len(file.findings),
        "suppressed": [
            {
                "code": finding.rule.code,
                "line": finding.line if finding.region else None,
                "reason": suppression.reason,
                "until": suppression.until.isoformat(),
                "where": suppression.where,
                "fingerprint": finding.fingerprint,
            }
            for finding, suppression in file.suppressed
        ],
        "passed": codes("passed"),
        "not_judged": codes("not_evaluable"),
        "notes": [{"line": line, "text": note} for line, note in file.notes],
        "skipped": file.skipped or None,
        "instance": file.instance._asdict() if file.instance else None,
    }


_SARIF_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_SARIF_FINGERPRINT = "clientscope/v1"
_SECURITY_SEVERITIES = {"critical": "9.5", "high": "8.0", "medium": "5.5", "low": "3.0", "info": "1.0"}
"""Scores in GitHub's scale: above 9.0 is critical, from 7.0 high, from 4.0 medium."""


def sarif_document(report: LintReport) -> str:
    """Format ``sarif``: SARIF 2.1.0, as GitHub's code scanning and other tools read it.

    Paths are relative to %SRCROOT%, which is where the command ran.  No file's content goes in, so no secret can.  Suppressed findings are
    left out, since GitHub would show them as open.
    """
    findings = report.findings
    rules = sorted({finding.rule.code: finding.rule for finding in findings}.values(), key=lambda rule: rule.code)
    index = {rule.code: position for position, rule in enumerate(rules)}
    run = {
        "tool": {
            "driver": {
                "name": "clientscope",
                "semanticVersion": __version__,
                "informationUri": "https://cwiki.apache.org/confluence/display/KAFKA/KIP-1324",
                "rules": [_sarif_rule(rule) for rule in rules],
            }
        },
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {"%SRCROOT%": {"description": {"text": "where clientscope lint ran"}}},
        "invocations": [{"executionSuccessful": not report.errors, "toolExecutionNotifications": _notifications(report)}],
        "results": [_sarif_result(finding, index[finding.rule.code]) for finding in findings],
        "properties": {
            "passed": report.count("passed"),
            "notJudged": report.count("not_evaluable"),
            "suppressed": sum(len(file.suppressed) for file in report.files),
        },
    }
    return json.dumps({"$schema": _SARIF_SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2, ensure_ascii=False)


def _sarif_rule(rule: RuleTexts) -> dict[str, Any]:
    sections = {name: text.replace("``", "`") for name, text in rule.documentation.items()}
    what = sections.get("What", rule.name)
    made: dict[str, Any] = {
        "id": rule.code,
        "name": rule.name,
        "shortDescription": {"text": rule.name.replace("_", " ")},
        "fullDescription": {"text": what},
        "help": {
            "text": "\n\n".join(f"{name}: {text}" for name, text in sections.items()) or what,
            "markdown": "\n\n".join(f"**{name}**\n\n{text}" for name, text in sections.items()) or what,
        },
        "helpUri": rule.link,
        "defaultConfiguration": {"level": _LEVELS[rule.severity]},
        "properties": {"tags": ["kafka", "security"] if rule.is_leak else ["kafka", "reliability"]},
    }
    if rule.is_leak:
        made["properties"]["security-severity"] = _SECURITY_SEVERITIES[rule.severity]
    return made


def _sarif_result(finding: FileFinding, index: int) -> dict[str, Any]:
    properties: dict[str, Any] = {"severity": finding.severity}
    if finding.owner:
        properties["owner"] = asdict(finding.owner)
    return {
        "ruleId": finding.rule.code,
        "ruleIndex": index,
        "level": _LEVELS[finding.severity],
        "message": {"text": sentence(finding)},
        "locations": [_location(finding.path, finding.region)],
        "partialFingerprints": {_SARIF_FINGERPRINT: finding.fingerprint},
        "properties": properties,
    }


def _location(path: str, region: Region | None, line: int = 1) -> dict[str, Any]:
    where = {"startLine": line}
    if region:
        where = {
            "startLine": region.line,
            "startColumn": region.column,
            "endLine": region.end_line,
            "endColumn": region.end_column,
        }
    return {"physicalLocation": {"artifactLocation": _artifact(path), "region": where}}


def _artifact(path: str) -> dict[str, str]:
    parts = PurePath(path)
    if parts.is_absolute():
        return {"uri": "file://" + quote(os.fsencode(path))}
    # A first part with a colon would be read as a scheme; quoting takes it away.
    return {"uri": quote(os.fsencode(path)), "uriBaseId": "%SRCROOT%"}


def _notifications(report: LintReport) -> Sequence[dict[str, Any]]:
    made: list[dict[str, Any]] = [{"level": "error", "message": {"text": error}} for error in report.errors]
    for file in report.files:
        made += [{"level": "note", "message": {"text": note}, "locations": [_location(file.path, None, line)]} for line, note in file.notes]
        if file.skipped:
            said = {"text": f"not judged: {plain(file.skipped)}"}
            made.append({"level": "note", "message": said, "locations": [_location(file.path, None)]})
    made += [
        {"level": "warning", "message": {"text": f"{plain(each.where)}: the suppression of {each.code} ended on {each.until}"}}
        for each in report.expired
    ]
    return made
