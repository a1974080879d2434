"""Output format ``json``: one document; docs/lint.md describes its fields."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict

from clientscope.commands.lint.findings import FileFinding, FileReport, LintReport
from clientscope.commands.lint.shown import plain

VERSION = 1
"""Version of the document's fields; it rises when a field is removed or changes its meaning."""


def document(report: LintReport) -> str:
    """The whole run."""
    return json.dumps(fields(report), indent=2, ensure_ascii=False)


def fields(report: LintReport) -> Mapping[str, object]:
    """The document before it is text."""
    return {
        "version": VERSION,
        "findings": [_finding(finding) for finding in report.findings],
        "files": [_file(file) for file in report.files],
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


def _finding(finding: FileFinding) -> Mapping[str, object]:
    region = finding.region
    return {
        "code": finding.rule.code,
        "name": finding.rule.name,
        "severity": finding.severity,
        "message": finding.message,
        "path": plain(finding.path),
        "line": finding.line if region else None,
        "column": finding.column if region else None,
        "end_line": region.end_line if region else None,
        "end_column": region.end_column if region else None,
        "settings": [asdict(setting) for setting in finding.settings],
        "use_instead": finding.rule.documentation.get("Use instead"),
        "source": finding.rule.documentation.get("Source"),
        "see": finding.rule.link,
        "owner": {"team": finding.owner.team, "contact": finding.owner.contact} if finding.owner else None,
        "fingerprint": finding.fingerprint,
    }


def _file(file: FileReport) -> Mapping[str, object]:
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
