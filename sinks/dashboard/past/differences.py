"""Differences between what an application or client pushed in a period, and what it had pushed before: what changed between two times.

Of each client.id the newest start of the period counts, by kind of client.  It is compared with the newest start before the period, of the
same client.id or else of the same application; a period of 30 days is looked at for that.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pyarrow as pa

from sinks.dashboard.past.answers import DifferencesAnswer, SeenChange, SeenDifference
from sinks.dashboard.past.problems import NoAnswer
from sinks.dashboard.past.pushes import PastPush, Whose, comparable, condition, read_pushes, seen_changes, seen_start
from sinks.dashboard.past.tables import Span, Tables, within

DAY_MS = 86_400_000
LOOK_BACK_DAYS = (1, 7, 30)
"""Before the period; the next one is looked at only if there is a start that the last one has nothing to compare with."""

MOST_COMPARED = 200
"""Pushes of each side that are decoded, the newest."""

_NEWEST_OF_A_NAME = 4
"""Pushes of one client.id and side that are decoded: a producer, a consumer and others may share it."""

_NAMED = 10
"""client.ids of one difference that are named; the others are counted."""

_OWN_NAME = "client.id"


def differences(tables: Tables, span: Span, whose: Whose) -> DifferencesAnswer:
    """What changed in a period, the newest start first; clients that changed alike are one difference.

    Raises:
        NoAnswer: see `Tables.ask`; or an application has too many client.ids.
    """
    after, names = _newest(tables, span, whose)
    if not after:
        return {"unread": 0, "items": []}
    kinds = {_kind(push): push for push in reversed(after)}
    newest = sorted(kinds.values(), key=lambda push: -push.configuration.pushed_ms)
    before = _before(tables, span, whose, newest)
    found: dict[tuple[Any, ...], SeenDifference] = {}
    for push in newest:
        one = _difference(push, comparable(push, before))
        _add(found, one)
    compared = {push.row["client_id"] for push in newest}
    return {"unread": max(0, names - len(compared)), "items": list(found.values())}


def _kind(push: PastPush) -> tuple[Any, ...]:
    return push.row["client_id"], push.row["principal"], push.configuration.client_type


def _before(tables: Tables, span: Span, whose: Whose, after: Iterable[PastPush]) -> list[PastPush]:
    """The newest pushes before the period, from as many days as are needed."""
    found: list[PastPush] = []
    for days in LOOK_BACK_DAYS:
        try:
            found, _ = _newest(tables, Span(max(0, span.from_ms - days * DAY_MS), span.from_ms), whose)
        except NoAnswer as problem:
            if problem.kind != "wide" or not found:
                raise
            break  # what fewer days have is enough to be compared with
        if all(comparable(push, found) for push in after):
            break
    return found


def _newest(tables: Tables, span: Span, whose: Whose) -> tuple[list[PastPush], int]:
    """The newest pushes of each client.id, and how many client.ids there are."""
    theirs = condition(tables, span, whose)
    if theirs is None:
        return [], 0
    where = f"{within(span, 'timestamp')} AND {theirs}"
    names = "client_id, principal"
    places = tables.ask(
        "pushes",
        f"""
        SELECT "partition", "offset", client_id FROM (
            SELECT "partition", "offset", "timestamp", client_id,
                row_number() OVER (PARTITION BY {names} ORDER BY "timestamp" DESC, "partition", "offset" DESC) AS newest
            FROM pushes WHERE {where}
        ) WHERE newest <= {_NEWEST_OF_A_NAME} ORDER BY newest, "timestamp" DESC
        """,  # noqa: S608 - quoted there
    )
    chosen = places.slice(0, MOST_COMPARED)
    at = " OR ".join(
        f'("partition" = {int(partition)} AND "offset" = {int(offset)})'
        for partition, offset in zip(chosen["partition"].to_pylist(), chosen["offset"].to_pylist(), strict=True)
    )
    order = 'ORDER BY "timestamp" DESC, "partition", "offset" DESC'
    rows: pa.Table = tables.ask("pushes", f"SELECT * FROM pushes WHERE {within(span, 'timestamp')} AND ({at}) {order}")  # noqa: S608 - numbers
    return read_pushes(rows), len(set(places["client_id"].to_pylist()))


def _difference(push: PastPush, before: PastPush | None) -> SeenDifference:
    start = seen_start(push)
    differing: list[SeenChange] | None = None
    if before is not None:
        differing = seen_changes(before, push)
        if before.row["client_id"] != push.row["client_id"]:  # another instance: that its name differs is no change
            differing = [change for change in differing if change["key"] != _OWN_NAME]
    return {
        "client_type": start["client_type"],
        "principal": start["principal"],
        "clients": 1,
        "client_ids": [start["client_id"]],
        "before": None if before is None else seen_start(before),
        "after": start,
        "changes": differing,
    }


def _add(found: dict[tuple[Any, ...], SeenDifference], one: SeenDifference) -> None:
    """As one more, or to those that changed in the same way."""
    same = found.setdefault(_way(one), one)
    if same is not one:
        same["clients"] += 1
        if len(same["client_ids"]) < _NAMED:
            same["client_ids"].append(one["client_ids"][0])


def _way(one: SeenDifference) -> tuple[Any, ...]:
    software = [None if start is None else (start["software_name"], start["software_version"]) for start in (one["before"], one["after"])]
    changed = None if one["changes"] is None else tuple(tuple(change.values()) for change in one["changes"])
    return one["client_type"], one["principal"], *software, changed
