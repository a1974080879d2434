"""``--html``: the result as a page in one file, which needs nothing else and can be mailed and printed."""

from __future__ import annotations

from pathlib import Path

from clientscope.commands.xray.html_file import render
from clientscope.commands.xray.result import XrayResult
from clientscope.readiness import Readiness

_TEMPLATE = Path(__file__).with_name("report.html")


def page(made: XrayResult) -> str:
    """The page's HTML; whatever a client chose is escaped."""
    return render(
        _TEMPLATE,
        "--output-format json",
        made.readiness,
        made=made,
        target=made.target,
        unseen=made.unseen,
        logs=made.logs,
        figures=[
            (made.clients, "client", "clients"),
            (made.applications, "application", "applications"),
            (made.connections, "connection", "connections"),
            (len(made.problems), "finding", "findings"),
            (made.requests, "request read", "requests read"),
        ],
        troubled=[row for row in made.readiness if row.readiness is not Readiness.FINE],
    )
