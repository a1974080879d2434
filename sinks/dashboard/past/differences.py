"""Changes of an application or client in a period: each start against the one before it.

The start before is of the same client.id or else of the same application; 30 days before the period are looked at for it.  Of a client
that neither pushes nor logs, settings that others saw are compared: none of its records has all of them, so what one lacks is as it was.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

from clientscope.catalog.request_settings import BETWEEN, INFERRED
from clientscope.records.layouts import Origin, rank_of
from sinks.dashboard.past.answers import DifferencesAnswer, SeenChange, SeenDifference
from sinks.dashboard.past.problems import NoAnswer
from sinks.dashboard.past.pushes import (
    NEWEST_FIRST,
    ORDERED,
    STARTED,
    PastPush,
    Whose,
    comparable,
    condition,
    pushes_at,
    seen_changes,
    seen_start,
)
from sinks.dashboard.past.tables import Span, Tables, within
from sinks.dashboard.state.configuration import shown

DAY_MS = 86_400_000
LOOK_BACK_DAYS = (1, 7, 30)
"""Before the period; the next one is looked at only if there is a start that the last one has nothing to compare with."""

MOST_COMPARED = 200
"""Pushes of each side that are decoded, the newest."""

_NEWEST_OF_A_NAME = 4
"""Pushes of one client.id before the period that are decoded: a producer, a consumer and others may share it."""

_NAMED = 10
"""client.ids of one difference that are named; the others are counted."""

_OWN_NAME = "client.id"

# A gateway records what it sees each half hour: what says nothing new would hide what does.
_SAME_CLIENT = 'OVER (PARTITION BY client_instance_id, client_software_version ORDER BY "partition", "offset")'
_SEEN = f"NOT {STARTED}"
_SAYS_NEW = f"coalesce(configs <> lag(configs) {_SAME_CLIENT}, TRUE) AS says_new"


def differences(tables: Tables, span: Span, whose: Whose) -> DifferencesAnswer:
    """What changed in a period, the newest first; clients that changed alike are one difference.

    Raises:
        NoAnswer: see `Tables.ask`; or an application has too many client.ids.
    """
    started, unread = _read(tables, span, whose, STARTED)
    seen, unread_seen = _read(tables, span, whose, _SEEN)
    before = _before(tables, span, whose, STARTED, [*started, *seen]) if started or seen else []
    found = [*_of_starts(started, before)][::-1]
    starting = {_kind(push) for push in (*started, *before)}
    if seen := [push for push in seen if _kind(push) not in starting]:
        earlier = _before(tables, span, whose, _SEEN, seen)
        found += _of_seen([*seen, *(push for push in earlier if _kind(push) not in starting)], span)
        found.sort(key=lambda one: -one["after"]["pushed_ms"])
    return {"unread": unread + unread_seen, "items": _together(found)}


def _kind(push: PastPush) -> tuple[Any, ...]:
    return push.row["client_id"], push.row["principal"], push.configuration.client_type


def _is_seen(push: PastPush) -> bool:
    return rank_of(push.row["origin"]) == rank_of(Origin.OBSERVED)


def _before(tables: Tables, span: Span, whose: Whose, which: str, after: Sequence[PastPush]) -> list[PastPush]:
    """The newest pushes before the period, from as many days as are needed."""
    found: list[PastPush] = []
    for days in LOOK_BACK_DAYS:
        try:
            found, _ = _read(tables, Span(max(0, span.from_ms - days * DAY_MS), span.from_ms), whose, which, _NEWEST_OF_A_NAME)
        except NoAnswer as problem:
            if problem.kind != "wide" or not found:
                raise
            break  # what fewer days have is enough to be compared with
        kinds = {_kind(push) for push in found}
        if all(comparable(push, found) or (_is_seen(push) and _kind(push) in kinds) for push in after):
            break
    return found


def _read(tables: Tables, span: Span, whose: Whose, which: str, of_a_name: int = MOST_COMPARED) -> tuple[list[PastPush], int]:
    """The newest pushes of a period, and how many of it were not read."""
    theirs = condition(tables, span, whose)
    if theirs is None:
        return [], 0
    says_new = "TRUE AS says_new" if which == STARTED else _SAYS_NEW
    places = tables.ask(
        "pushes",
        f"""
        SELECT * FROM (
            SELECT *, count(*) OVER () AS total FROM (
                SELECT *, row_number() OVER (PARTITION BY client_id, principal ORDER BY {NEWEST_FIRST}) AS newest FROM (
                    SELECT "partition", "offset", "timestamp", client_id, principal, {ORDERED}, {says_new}
                    FROM pushes WHERE {within(span, "timestamp")} AND {theirs} AND {which}
                ) WHERE says_new
            ) WHERE newest <= {of_a_name} ORDER BY newest, {NEWEST_FIRST} LIMIT {MOST_COMPARED}
        ) ORDER BY {NEWEST_FIRST}
        """,  # noqa: S608 - quoted there
    )
    if not places.num_rows:
        return [], 0
    return pushes_at(tables, span, places), places["total"][0].as_py() - places.num_rows


def _of_starts(started: Sequence[PastPush], before: Sequence[PastPush]) -> Iterator[SeenDifference]:
    """Each start of the period as the difference from the one before, the oldest first."""
    earlier = [*started, *before]
    bases: dict[int, PastPush | None] = {}
    for number in reversed(range(len(started))):
        push = started[number]
        base = comparable(push, earlier[number + 1 :])
        other = base is not None and id(base) in bases and base.row["client_id"] != push.row["client_id"]
        if base is not None and other and base.software == push.software and not _changes(base, push):
            base = bases[id(base)]  # it has changed as the other instance that started before it
        bases[id(push)] = base
        yield _difference(base, push, None if base is None else _changes(base, push))


def _of_seen(seen: Sequence[PastPush], span: Span) -> Iterator[SeenDifference]:
    """Each change of the period in what was seen; what a record lacks is as it was."""
    known: defaultdict[tuple[Any, ...], dict[str, str]] = defaultdict(dict)
    last: dict[tuple[Any, ...], PastPush] = {}
    for push in reversed(seen):
        kind = _kind(push)
        values = {setting.key: shown(setting) for setting in push.configuration.settings if setting.reported}
        exact = {key: value for key, value in values.items() if value and not value.startswith(INFERRED) and BETWEEN not in value}
        changed: list[SeenChange] = [
            {"key": key, "before": known[kind][key], "after": value}
            for key, value in sorted(exact.items())
            if known[kind].get(key, value) != value
        ]
        before = last.get(kind)
        if before is not None and push.configuration.pushed_ms >= span.from_ms and (changed or before.software != push.software):
            yield _difference(before, push, changed)
        known[kind] |= exact
        last[kind] = push


def _changes(before: PastPush, after: PastPush) -> list[SeenChange]:
    """The settings that differ; that another instance has another name is no change."""
    same = before.row["client_id"] == after.row["client_id"]
    return [change for change in seen_changes(before, after) if same or change["key"] != _OWN_NAME]


def _difference(before: PastPush | None, push: PastPush, changed: list[SeenChange] | None) -> SeenDifference:
    start = seen_start(push)
    return {
        "client_type": start["client_type"],
        "principal": start["principal"],
        "clients": 1,
        "client_ids": [start["client_id"]],
        "before": None if before is None else seen_start(before),
        "after": start,
        "changes": changed,
    }


def _together(found: Sequence[SeenDifference]) -> list[SeenDifference]:
    """Those of several clients that changed in the same way as one; a client that changed so twice is in two."""
    together: dict[tuple[Any, ...], SeenDifference] = {}
    times: Counter[tuple[Any, ...]] = Counter()
    for one in found:
        way, name = _way(one), one["client_ids"][0]
        times[*way, name] += 1
        changed = bool(one["changes"]) or one["before"] is None
        if not changed and times[*way, name] > 1:
            continue  # it started again and again as it was
        same = together.setdefault((*way, times[*way, name]), one)
        if same is not one:
            same["clients"] += 1
            if len(same["client_ids"]) < _NAMED:
                same["client_ids"].append(name)
    return list(together.values())


def _way(one: SeenDifference) -> tuple[Any, ...]:
    software = [None if start is None else (start["software_name"], start["software_version"]) for start in (one["before"], one["after"])]
    changed = None if one["changes"] is None else tuple(tuple(change.values()) for change in one["changes"])
    return one["after"]["origin"], one["client_type"], one["principal"], *software, changed
