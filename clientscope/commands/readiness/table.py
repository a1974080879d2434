"""The groups for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from clientscope.commands.xray.output import READINESS_COLOURS
from clientscope.readiness.groups import GROUPINGS, By, ReadinessGroup, name_of
from clientscope.readiness.rows import NAMES, JudgedClient, clients_by_verdict, rows
from clientscope.report import text
from clientscope.report.listing import is_narrow

_ADDITIONAL = ("LAST SEEN", "BREAK", "UNKNOWN", "FALL BACK", "FINE", "ADVICE")


def table(groups: Sequence[ReadinessGroup], by: By, sentences: Sequence[str], *, wide: bool) -> RenderableType:
    """A line for each group, and what is true of all.  A narrow terminal has no other names than the group's."""
    named = wide or not is_narrow()
    others = [each for each in GROUPINGS if named and each != by and (each != "owner" or wide or any(group.owner for group in groups))]
    headings = (by.upper(), *(each.upper() for each in others), "CLIENTS", "UNSERVED VERSION", "REASON", *(_ADDITIONAL if wide else ()))
    view = text.table(("VERDICT", *headings), folds=headings, right=("CLIENTS", *_ADDITIONAL[1:5]))
    for group in groups:
        view.add_row(*(Text(cell) for cell in _cells(group, by, others, wide)), style=READINESS_COLOURS[group.readiness])
    parts: list[RenderableType] = [view, Text()] if groups else []
    return Group(*parts, *(Text(sentence) for sentence in sentences))


def sentences(target: str, clients: Sequence[JudgedClient], since: str, first: str) -> Iterator[str]:
    """How many clients have which verdict, and when an old version was last seen.

    Args:
        first: the time of the first record; empty for logs.
    """
    judged = rows(each for each in clients if not each.past)
    counts = ", ".join(f"{NAMES[readiness]}: {clients:,}" for readiness, clients in clients_by_verdict(judged).items())
    last_old = max((each.last_old for each in clients), default="")
    yield f"Clients at Kafka {target}: {counts or 'none'}" + (f", by requests since {since}." if since else ".")
    if first:
        yield (
            f"A version that {target} doesn't serve was last recorded at {last_old}."
            if last_old
            else f"No version that {target} doesn't serve was recorded since {first}, when the first record was written."
        )
    elif last_old:
        yield f"A version that {target} doesn't serve was last seen at {last_old}, by the clock of the logs, which name no time zone."


def _cells(group: ReadinessGroup, by: By, others: Sequence[By], wide: bool) -> Iterator[str]:
    yield NAMES[group.readiness]
    yield name_of(group, by)
    yield from (getattr(group, each) or "–" for each in others)
    yield group.clients_shown
    yield f"last seen {group.last_old}" if group.last_old else "–"
    yield group.reason
    if wide:
        yield group.last_seen or "–"
        yield from (f"{number:,}" for number in (group.breaks, group.unknown, group.falls_back, group.fine))
        yield group.advice or "–"
