"""``--html``: the groups of every kind as a page in one file."""

from __future__ import annotations

from pathlib import Path

from clientscope.commands.readiness.run_result import ReadinessRun
from clientscope.commands.xray.html_file import render
from clientscope.readiness.groups import GROUPINGS, grouped, name_of
from clientscope.readiness.rows import rows

_TEMPLATE = Path(__file__).with_name("readiness.html")


def page(target: str, made: ReadinessRun) -> str:
    """The page's HTML; whatever a client chose is escaped."""
    present = [each for each in made.clients if not each.past]
    groups = {by: [(name_of(group, by), group) for group in grouped(made.clients, by)] for by in GROUPINGS}
    return render(
        _TEMPLATE,
        "-o json",
        rows(present),
        target=target,
        groups=groups,
        sentences=made.sentences,
        unseen=made.unseen,
        logs=made.logs,
        source=made.source,
        times=made.times,
        figures=[
            (len(present), "client", "clients"),
            (len(groups["application"]), "application", "applications"),
            (len(groups["software"]), "kind of software", "kinds of software"),
            made.read,
        ],
    )
