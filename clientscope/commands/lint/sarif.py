"""Output format ``sarif``: SARIF 2.1.0, as GitHub's code scanning and other tools read it.

Paths are relative to %SRCROOT%, which is where the command ran.  No file's content goes in, so no secret can.  Suppressed findings are left
out, since GitHub would show them as open.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import PurePath
from typing import Any
from urllib.parse import quote

from clientscope import __version__
from clientscope.commands.lint.findings import FileFinding, LintReport
from clientscope.commands.lint.judging import RuleTexts
from clientscope.commands.lint.located import Region
from clientscope.commands.lint.shown import plain
from clientscope.commands.lint.text import sentence

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
FINGERPRINT = "clientscope/v1"
_LEVELS = {"critical": "error", "high": "error", "medium": "warning", "low": "note", "info": "note"}
_SECURITY_SEVERITIES = {"critical": "9.5", "high": "8.0", "medium": "5.5", "low": "3.0", "info": "1.0"}
"""Scores in GitHub's scale: above 9.0 is critical, from 7.0 high, from 4.0 medium."""


def document(report: LintReport) -> str:
    """The whole run."""
    findings = report.findings
    rules = sorted({finding.rule.code: finding.rule for finding in findings}.values(), key=lambda rule: rule.code)
    index = {rule.code: position for position, rule in enumerate(rules)}
    run = {
        "tool": {
            "driver": {
                "name": "clientscope",
                "semanticVersion": __version__,
                "informationUri": "https://cwiki.apache.org/confluence/display/KAFKA/KIP-1324",
                "rules": [_rule(rule) for rule in rules],
            }
        },
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {"%SRCROOT%": {"description": {"text": "where clientscope lint ran"}}},
        "invocations": [{"executionSuccessful": not report.errors, "toolExecutionNotifications": _notifications(report)}],
        "results": [_result(finding, index[finding.rule.code]) for finding in findings],
        "properties": {
            "passed": report.count("passed"),
            "notJudged": report.count("not_evaluable"),
            "suppressed": sum(len(file.suppressed) for file in report.files),
        },
    }
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2, ensure_ascii=False)


def _rule(rule: RuleTexts) -> dict[str, Any]:
    documentation = rule.documentation
    what = documentation.get("What", rule.name).replace("``", "`")
    made: dict[str, Any] = {
        "id": rule.code,
        "name": rule.name,
        "shortDescription": {"text": rule.name.replace("_", " ")},
        "fullDescription": {"text": what},
        "help": {
            "text": "\n\n".join(f"{name}: {text.replace('``', '`')}" for name, text in documentation.items()) or what,
            "markdown": "\n\n".join(f"**{name}**\n\n{text.replace('``', '`')}" for name, text in documentation.items()) or what,
        },
        "helpUri": rule.link,
        "defaultConfiguration": {"level": _LEVELS[rule.severity]},
        "properties": {"tags": ["kafka", "security"] if rule.is_leak else ["kafka", "reliability"]},
    }
    if rule.is_leak:
        made["properties"]["security-severity"] = _SECURITY_SEVERITIES[rule.severity]
    return made


def _result(finding: FileFinding, index: int) -> dict[str, Any]:
    properties: dict[str, Any] = {"severity": finding.severity}
    if finding.owner:
        properties["owner"] = {"team": finding.owner.team, "contact": finding.owner.contact}
    return {
        "ruleId": finding.rule.code,
        "ruleIndex": index,
        "level": _LEVELS[finding.severity],
        "message": {"text": sentence(finding)},
        "locations": [_location(finding.path, finding.region)],
        "partialFingerprints": {FINGERPRINT: finding.fingerprint},
        "properties": properties,
    }


def _location(path: str, region: Region | None, line: int = 1) -> dict[str, Any]:
    where = {"startLine": line}
    if region:
        where = {
            "startLine": region.line,
            "startColumn": region.column,
            "endLine": region.end_line,
            "endColumn": max(region.end_column, region.column) if region.line == region.end_line else region.end_column,
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
