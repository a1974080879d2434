"""Output format ``github``: annotations for a workflow's page, and the full text for its log.

GitHub shows ten errors, ten warnings and ten notices of a step, and drops the others without a word.  So the worst come first, all are in
the log, and the last line says how many are there alone.

Escaping is what the runner undoes (actions/runner, src/Runner.Common/ActionCommand.cs). The log quotes files, which may come from anybody's
pull request; commands in it are stopped by ``::stop-commands::`` with a random token.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from clientscope.commands.lint.findings import FileFinding, LintReport
from clientscope.commands.lint.shown import plain
from clientscope.commands.lint.text import counted, full, sentence

SHOWN = 10
"""Annotations of each kind that GitHub shows for a step."""
_KINDS = {"critical": "error", "high": "error", "medium": "warning", "low": "notice", "info": "notice"}


def lines(report: LintReport, token: str, more: Iterable[str] = ()) -> Iterator[str]:
    """Annotations, then the log, then what is in the log alone.

    Args:
        token: random text, by which the runner takes commands again after the log.
        more: what else goes into the log.
    """
    emitted: Counter[str] = Counter()
    for error in report.errors:
        emitted["error"] += 1
        if emitted["error"] <= SHOWN:
            yield f"::error title={_property('clientscope lint')}::{_data(error)}"
    for finding in report.worst_first():
        kind = _KINDS[finding.severity]
        emitted[kind] += 1
        if emitted[kind] <= SHOWN:
            yield _annotation(kind, finding)
    yield f"::stop-commands::{token}"
    yield from full(report, colour=False)
    yield from more
    yield f"::{token}::"
    beyond = {kind: count - SHOWN for kind, count in emitted.items() if count > SHOWN}
    if beyond:
        said = ", ".join(counted(count, f"more {kind}") for kind, count in beyond.items())
        yield f"clientscope lint: GitHub shows {SHOWN} annotations of each kind: {said} in the log above"
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
    written = ",".join(f"{name}={_property(value)}" for name, value in properties.items())
    return f"::{kind} {written}::{_data(sentence(finding))}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
