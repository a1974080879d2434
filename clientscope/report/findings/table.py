"""Table of findings on a terminal: sure ones, then those of low confidence."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from clientscope.findings.record import Finding
from clientscope.findings.wording import unmarked
from clientscope.report.findings.selecting import SHOWN_DIGITS
from clientscope.report.text import age, plain, table, time_of

COLOURS = {"critical": "bold red", "high": "red", "medium": "yellow", "low": "cyan", "info": "dim"}
_STATES = {"open": "", "stopped": "", "resolved": "dim", "closed": "dim"}

_COLUMNS = ("SEVERITY", "CODE", "STATE", "CLIENTS", "FINDING", "SINCE", "FINGERPRINT")
_WIDE = ("SEVERITY", "CODE", "STATE", "CLIENTS", "OWNER", "FINDING", "FIRST SEEN", "LAST SEEN", "FINGERPRINT")

LOW_CONFIDENCE = "Of low confidence: they only look like it, and cause no alert"


def findings(listed: Sequence[Finding], now_ms: int, *, wide: bool = False) -> RenderableType:
    """A table of findings in the order given; those of low confidence have one of their own, under a heading."""
    sure = [finding for finding in listed if finding.confidence == "high"]
    doubtful = [finding for finding in listed if finding.confidence == "low"]
    parts: list[RenderableType] = [_table(sure, now_ms, wide)] if sure else []
    if doubtful:
        parts += [Text()] * bool(sure) + [plain(LOW_CONFIDENCE, "bold"), _table(doubtful, now_ms, wide)]
    return Group(*parts)


def printable(text: str) -> str:
    """What others chose, without control characters."""
    return plain(text).plain


def _table(listed: Sequence[Finding], now_ms: int, wide: bool) -> Table:
    view = table(_WIDE if wide else _COLUMNS, folds=("FINDING", "OWNER"), right=("CLIENTS", "SINCE"))
    for finding in listed:
        view.add_row(*_cells(finding, now_ms, wide), style=_STATES[finding.state] or None)
    return view


def _cells(finding: Finding, now_ms: int, wide: bool) -> list[Text]:
    state = f"{finding.state}{', suppressed' * (finding.suppressed is not None)}"
    start = [
        plain(finding.severity, COLOURS[finding.severity]),
        plain(finding.code),
        plain(state),
        plain(str(finding.client_count)),
    ]
    end = [plain(finding.fingerprint[:SHOWN_DIGITS])]
    if wide:
        owner = f"{finding.owner.team} ({finding.owner.contact})" if finding.owner else "–"
        times = [plain(time_of(ms)) for ms in (finding.first_seen_ms, finding.last_seen_ms)]
        return [*start, plain(owner), plain(unmarked(finding.message)), *times, *end]
    return [*start, plain(unmarked(finding.message)), plain(age((now_ms - finding.opened_ms) / 1000)), *end]
