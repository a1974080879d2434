"""``--output-format json``: the result as one document; docs/xray.md describes its fields."""

from __future__ import annotations

import json
from dataclasses import asdict

from clientscope.commands.lint import formats
from clientscope.commands.xray.result import XrayResult

VERSION = 1
"""Of the document's fields; a field that goes, or means something else, makes it one more."""


def document(made: XrayResult) -> str:
    """The whole result."""
    fields = {
        "version": VERSION,
        "cluster": made.cluster,
        "made_at": made.made_at.isoformat(timespec="seconds"),
        "logs": [asdict(log) for log in made.logs],
        "requests": made.requests,
        "clients": made.clients,
        "connections": made.connections,
        "applications": made.applications,
        "software": [asdict(row) for row in made.software],
        "problems": [{**asdict(row), "clients": row.clients} for row in made.problems],
        "configurations": [asdict(row) for row in made.configurations],
        "target": made.target,
        "readiness": [asdict(row) for row in made.readiness],
        "unseen": list(made.unseen),
        "lint": formats.json_fields(made.lint),
    }
    return json.dumps(fields, indent=2, ensure_ascii=False)
