"""Differences of an application's or client's configurations between two times: what counts at the end against what counted before.

Of each client the newest start in the period is compared with the newest one before it, of the same client.id or else of the same
application; 30 days before the period are looked at.  Of a client that pushes nothing, settings that others saw are compared: none of its
records has all of them, so what one lacks is as it was.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from clientscope.records.enums import rank_of
from sinks.dashboard.past.problems import Json, NoAnswer
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

DAY_MS = 86_400_000
LOOK_BACK_DAYS = (1, 7, 30)
"""Before the period; the next one is looked at only if there is a start that the last one has nothing to compare with."""

MOST_COMPARED = 200
"""Records of each side that are decoded, the newest."""

_NAMED = 10
"""client.ids of one difference that are named; the others are counted."""

_OWN_NAME = "client.id"

_NAMES = "concat_ws(' ', '', client_id, principal, client_software_name)"

# One name may be a producer's and a consumer's, and records of what was seen have different settings: so the newest of each kind is read,
# as far as the number of settings, the first and the last one tell kinds apart. Whole settings would not fit into memory.
_KIND = "client_id, principal, client_address, origin, settings, first, last"
_ROW = f"""
    SELECT "partition", "offset", "timestamp", {_KIND}, {ORDERED} FROM (
        SELECT *, cardinality(configs) AS settings, configs[1]['config_key'] AS first, configs[-1]['config_key'] AS last
        FROM pushes WHERE {{where}}
    )
"""  # noqa: S608 - names of columns


def differences(tables: Tables, span: Span, whose: Whose) -> Json:
    """What a period has changed, the newest first; clients that changed alike are one difference.

    Raises:
        NoAnswer: see `Tables.ask`; or an application has too many client.ids.
    """
    month = Span(max(0, span.from_ms - LOOK_BACK_DAYS[-1] * DAY_MS), span.to_ms)
    now, unread = _newest(tables, span, month, whose)
    before, cut = _before(tables, span, month, whose, now) if now else ([], 0)
    found = []
    for push in now:
        base = comparable(push, before)
        if base is None and cut:
            unread += 1  # what to compare it with may be among what was not read
        elif one := _difference(base, push):
            found.append(one)
    return {"unread": unread, "items": _together(found)}


def _before(tables: Tables, span: Span, month: Span, whose: Whose, now: Sequence[PastPush]) -> tuple[list[PastPush], int]:
    """`_newest` before the period, of as many days as are needed."""
    found: tuple[list[PastPush], int] = [], 0
    for days in LOOK_BACK_DAYS:
        try:
            found = _newest(tables, Span(max(0, span.from_ms - days * DAY_MS), span.from_ms), month, whose)
        except NoAnswer as problem:
            if problem.kind != "wide" or not found[0]:
                raise
            break  # what fewer days have is enough to be compared with
        if all(comparable(push, found[0]) for push in now):
            break
    return found


def _newest(tables: Tables, span: Span, month: Span, whose: Whose) -> tuple[list[PastPush], int]:
    """The newest record of each client, the newest first, and how many were not read; of what was seen only for clients without a start."""
    theirs = condition(tables, span, whose)
    if theirs is None:
        return [], 0
    starting = f"SELECT {_NAMES} FROM pushes WHERE {within(month, 'timestamp')} AND {STARTED}"  # noqa: S608 - numbers
    where = f"{within(span, 'timestamp')} AND {theirs} AND ({STARTED} OR {_NAMES} NOT IN ({starting}))"
    found = tables.ask(
        "pushes",
        f"""
        SELECT "partition", "offset", "timestamp", total FROM (
            SELECT *, count(*) OVER () AS total, row_number() OVER (PARTITION BY client_id, principal ORDER BY {NEWEST_FIRST}) AS turn
            FROM (
                SELECT *, row_number() OVER (PARTITION BY {_KIND} ORDER BY {NEWEST_FIRST}) AS newest
                FROM ({_ROW.format(where=where)})
            ) WHERE newest = 1
            ORDER BY turn, {NEWEST_FIRST} LIMIT {MOST_COMPARED}
        ) ORDER BY {NEWEST_FIRST}
        """,  # noqa: S608 - quoted there
    )
    read = pushes_at(tables, span, found)
    newest: dict[tuple[Any, ...], PastPush] = {}
    for push in read:
        row = push.row
        kind = row["client_id"], row["principal"], row["client_address"], rank_of(row["origin"]), push.configuration.client_type
        newest[kind] = _completed(newest[kind], push) if kind in newest else push
    return list(newest.values()), found["total"][0].as_py() - len(read) if found.num_rows else 0


def _is_seen(push: PastPush) -> bool:
    return rank_of(push.row["origin"]) > 0


def _completed(push: PastPush, older: PastPush) -> PastPush:
    """What was seen of a client, with the settings that only its older record has; a start is whole."""
    if not _is_seen(push):
        return push
    settings = {each.key: each for one in (older, push) for each in one.configuration.settings if each.reported}
    return push._replace(configuration=push.configuration.model_copy(update={"settings": [*settings.values()]}))


def _difference(before: PastPush | None, push: PastPush) -> Json | None:
    """None where what was seen has not changed."""
    changed = None
    if before is not None:
        same = before.row["client_id"] == push.row["client_id"]  # that another instance has another name is no change
        changed = [change for change in seen_changes(before, push) if same or change["key"] != _OWN_NAME]
    if _is_seen(push):
        changed = [change for change in changed or () if None not in change.values()]
        if before is None or not (changed or before.software != push.software):
            return None
    start = seen_start(push)
    return {
        "client_type": start["client_type"],
        "principal": start["principal"],
        "client_ids": [start["client_id"]],
        "before": None if before is None else seen_start(before),
        "after": start,
        "changes": changed,
    }


def _together(found: Sequence[Json]) -> list[Json]:
    """Those of several clients that changed in the same way as one."""
    together: dict[tuple[Any, ...], Json] = {}
    for one in found:
        names = together.setdefault(_way(one), one)["client_ids"]
        if one["client_ids"][0] not in names:
            names += one["client_ids"]
    return [{**one, "clients": len(one["client_ids"]), "client_ids": one["client_ids"][:_NAMED]} for one in together.values()]


def _way(one: Json) -> tuple[Any, ...]:
    software = [None if start is None else (start["software_name"], start["software_version"]) for start in (one["before"], one["after"])]
    changed = None if one["changes"] is None else tuple(tuple(change.values()) for change in one["changes"])
    return one["after"]["seen"], one["client_type"], one["principal"], *software, changed
