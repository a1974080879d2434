"""Machine-readable output of findings; text that a client chose stays text."""

from __future__ import annotations

from clientscope.findings.record import Finding
from clientscope.report.text import time_of

FIELDS = (
    "severity", "code", "name", "kind", "confidence", "state", "client_count", "message", "first_seen_ms", "last_seen_ms", "opened_ms",
    "ended_ms", "reopened", "fingerprint",
)  # fmt: skip
"""By which findings can be sorted."""

COLUMNS = (
    "severity", "code", "name", "kind", "confidence", "state", "suppressed", "client_count", "principal", "client_id", "group", "owner",
    "message", "first_seen", "last_seen", "opened", "ended", "fingerprint", "link",
)  # fmt: skip
"""Of CSV, as `cells` has them."""


def cells(f: Finding) -> dict[str, str | int | None]:
    """A finding as a line of CSV; times are ISO 8601 in UTC."""
    times = ("first_seen", f.first_seen_ms), ("last_seen", f.last_seen_ms), ("opened", f.opened_ms), ("ended", f.ended_ms)
    return {
        "severity": f.severity,
        "code": f.code,
        "name": f.name,
        "kind": f.kind,
        "confidence": f.confidence,
        "state": f.state,
        "suppressed": f.suppressed.until.isoformat() if f.suppressed else None,
        "client_count": f.client_count,
        "principal": f.application.principal,
        "client_id": f.application.client_id,
        "group": f.application.group,
        "owner": f"{f.owner.team} {f.owner.contact}" if f.owner else None,
        "message": f.message,
        **{name: None if ms is None else time_of(ms) for name, ms in times},
        "fingerprint": f.fingerprint,
        "link": f.link,
    }
