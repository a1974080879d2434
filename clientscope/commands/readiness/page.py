"""``--html``: the groups of every kind as a page in one file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from clientscope.commands.xray.html_file import render
from clientscope.commands.xray.result import LogRead
from clientscope.readiness.groups import GROUPINGS, grouped, name_of
from clientscope.readiness.rows import JudgedClient, rows

_TEMPLATE = Path(__file__).with_name("readiness.html")


def page(target: str, clients: Sequence[JudgedClient], logs: Sequence[LogRead], sentences: Sequence[str], unseen: Sequence[str]) -> str:
    """The page's HTML; whatever a client chose is escaped.

    Args:
        unseen: sentences on what isn't in the result.
    """
    present = [each for each in clients if not each.past]
    groups = {by: [(name_of(group, by), group) for group in grouped(clients, by)] for by in GROUPINGS}
    return render(
        _TEMPLATE,
        "-o json",
        rows(present),
        target=target,
        groups=groups,
        sentences=sentences,
        unseen=unseen,
        logs=logs,
        figures=[
            (len(present), "clients"),
            (len(groups["application"]), "applications"),
            (len(groups["software"]), "kinds of software"),
            (sum(log.requests for log in logs), "requests read"),
        ],
    )
