"""Findings for machines; all that a client chose stays text."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable, Iterator

from clientscope.findings.record import Finding
from clientscope.report.findings.table import time_of

COLUMNS = (
    "severity", "code", "name", "kind", "confidence", "state", "suppressed", "clients", "principal", "client_id", "group", "owner",
    "message", "first_seen", "last_seen", "opened", "ended", "fingerprint", "link",
)  # fmt: skip

_FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""What a spreadsheet takes for the beginning of a formula (OWASP, CSV injection)."""


def as_json(findings: Iterable[Finding]) -> Iterator[str]:
    """One array."""
    yield json.dumps([finding.model_dump(mode="json") for finding in findings], ensure_ascii=False, indent=2)


def as_json_lines(findings: Iterable[Finding]) -> Iterator[str]:
    """An object a line, as ``clientscope.findings`` has it."""
    for finding in findings:
        yield finding.model_dump_json()


def as_csv(findings: Iterable[Finding]) -> Iterator[str]:
    """A line for each, after one with the names of the columns; times are ISO 8601 in UTC."""
    yield ",".join(COLUMNS)
    for f in findings:
        of = f.application
        owner = f"{f.owner.team} {f.owner.contact}" if f.owner else ""
        times = (time_of(ms) if ms is not None else "" for ms in (f.first_seen_ms, f.last_seen_ms, f.opened_ms, f.ended_ms))
        yield _line(
            (
                f.severity, f.code, f.name, f.kind, f.confidence, f.state, f.suppressed.until if f.suppressed else "", f.client_count,
                of.principal, of.client_id, of.group, owner, f.message, *times, f.fingerprint, f.link,
            )
        )  # fmt: skip


def as_names(findings: Iterable[Finding]) -> Iterator[str]:
    """Fingerprints, as ``show``, ``close`` and ``reopen`` take them."""
    for finding in findings:
        yield finding.fingerprint


FORMATS: dict[str, Callable[[Iterable[Finding]], Iterator[str]]] = {
    "json": as_json,
    "jsonl": as_json_lines,
    "csv": as_csv,
    "name": as_names,
}


def _line(cells: Iterable[object]) -> str:
    out = io.StringIO()
    csv.writer(out, lineterminator="").writerow([_harmless(cell) for cell in cells])
    return out.getvalue()


def _harmless(cell: object) -> object:
    """A cell that no spreadsheet computes: an apostrophe before what would be a formula, as they all understand it."""
    if cell is None:
        return ""
    return f"'{cell}" if isinstance(cell, str) and cell.lstrip(" ").startswith(_FORMULA) else cell
