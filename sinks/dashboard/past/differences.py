"""Changes of an application or client in a period: each start against the one before it.

The start before is of the same client.id or else of the same application; 30 days before the period are looked at for it.  Of a client
that pushes nothing, settings that others saw are compared: none of its records has all of them, so what one lacks is as it was.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Sequence
from typing import Any, NamedTuple

from clientscope.catalog.request_settings import BETWEEN
from clientscope.records.layouts import Origin
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
from sinks.dashboard.past.tables import Span, Tables, text, within
from sinks.dashboard.state.configuration import shown

DAY_MS = 86_400_000
LOOK_BACK_DAYS = (1, 7, 30)
"""Before the period; the next one is looked at only if there is a start that the last one has nothing to compare with."""

MOST_COMPARED = 200
"""Pushes of each side that are decoded, the newest."""

_NAMED = 10
"""client.ids of one difference that are named; the others are counted."""

_OWN_NAME = "client.id"

_SEEN = f"NOT {STARTED}"
_EXACT = f"strpos(coalesce(one['config_value'], ''), '{BETWEEN}') = 0"
_NAMES = "concat_ws(' ', '', client_id, principal, client_software_name)"
_ALL = 'SELECT "partition", "offset", "timestamp", client_id, principal FROM pushes WHERE {where}'

# A gateway records what it sees each half hour, and some clients start each minute: what says nothing new would hide what does.
# Whole settings would not fit into memory.
_NEW = """
    SELECT "partition", "offset", "timestamp", client_id, principal FROM (
        SELECT *, coalesce(says <> lag(says) OVER (PARTITION BY of ORDER BY "timestamp", "offset"), TRUE) AS is_new FROM (
            SELECT "partition", "offset", "timestamp", client_id, principal,
                left(md5(concat_ws(' ', client_id, principal, client_address, origin, one['config_key'])), 12) AS of,
                left(md5(concat_ws(' ', software, one['value_state'], encode(one['value_digest'], 'hex'), one['config_value'])), 12) AS says
            FROM (
                SELECT *, concat_ws(' ', client_software_name, client_software_version{settings}) AS software, unnest(configs) AS one
                FROM pushes WHERE {where}
            ) WHERE {which}
        )
    ) WHERE is_new GROUP BY "partition", "offset", "timestamp", client_id, principal
"""
_NEW_STARTS = _NEW.replace("{settings}", ", cardinality(configs)").replace("{which}", "TRUE")
_NEW_SEEN = _NEW.replace("{settings}", "").replace("{which}", _EXACT)


class _Read(NamedTuple):
    """Pushes of a period, the newest first, and of how many it has.

    Attributes:
        cut: client.ids of which older ones were not read.
    """

    pushes: list[PastPush]
    total: int
    cut: set[str | None]

    @property
    def unread(self) -> int:
        return self.total - len(self.pushes)


def differences(tables: Tables, span: Span, whose: Whose) -> Json:
    """What changed in a period, the newest first; clients that changed alike are one difference.

    Raises:
        NoAnswer: see `Tables.ask`; or an application has too many client.ids.
    """
    theirs = condition(tables, span, whose)
    if theirs is None:
        return {"unread": 0, "items": []}
    where = f"{within(span, 'timestamp')} AND {theirs}"
    started = _read(tables, span, _ALL.format(where=f"{where} AND {STARTED}"))
    if started.unread:
        started = _if_not_wide(tables, span, _NEW_STARTS.format(where=f"{where} AND {STARTED}")) or started
    month = within(Span(max(0, span.from_ms - LOOK_BACK_DAYS[-1] * DAY_MS), span.to_ms), "timestamp")
    starting = tables.ask("pushes", f"SELECT DISTINCT {_NAMES} AS names FROM pushes WHERE {month} AND {theirs} AND {STARTED}")  # noqa: S608 - quoted
    only_seen = f"{where} AND {_SEEN} AND {_NAMES} NOT IN ({', '.join(map(text, ['', *starting['names'].to_pylist()]))})"
    seen = _if_not_wide(tables, span, _NEW_SEEN.format(where=only_seen))
    if seen is None:
        count = tables.ask("pushes", f"SELECT count(*) AS n FROM pushes WHERE {only_seen}")["n"][0].as_py()  # noqa: S608 - quoted there
        seen = _Read([], count, set())
    pushes = [*started.pushes, *seen.pushes]
    before = _before(tables, span, whose, STARTED, pushes) if pushes else []
    found = [*_of_starts(started.pushes, started.cut, before)][::-1]
    unread = started.total - len(found) + seen.unread
    starts = {_kind(push) for push in (*started.pushes, *before)}
    if of_others := [push for push in seen.pushes if _kind(push) not in starts]:
        earlier = [push for push in _before(tables, span, whose, _SEEN, of_others) if push.row["client_id"] not in seen.cut]
        found += _of_seen([*of_others, *(push for push in earlier if _kind(push) not in starts)], span)
        found.sort(key=lambda one: -one["after"]["pushed_ms"])
    return {"unread": unread, "items": _together(found)}


def _kind(push: PastPush) -> tuple[Any, ...]:
    return push.row["client_id"], push.row["principal"], push.configuration.client_type


def _is_seen(push: PastPush) -> bool:
    return push.row["origin"] != Origin.PUSHED


def _before(tables: Tables, span: Span, whose: Whose, which: str, after: Sequence[PastPush]) -> list[PastPush]:
    """The newest pushes before the period, from as many days as are needed."""
    found: list[PastPush] = []
    for days in LOOK_BACK_DAYS:
        try:
            earlier = Span(max(0, span.from_ms - days * DAY_MS), span.from_ms)
            if theirs := condition(tables, earlier, whose):
                places = _ALL.format(where=f"{within(earlier, 'timestamp')} AND {theirs} AND {which}")
                found = _read(tables, earlier, places).pushes
        except NoAnswer as problem:
            if problem.kind != "wide" or not found:
                raise
            break  # what fewer days have is enough to be compared with
        kinds = {_kind(push) for push in found}
        if all(comparable(push, found) or (_is_seen(push) and _kind(push) in kinds) for push in after):
            break
    return found


def _read(tables: Tables, span: Span, places: str) -> _Read:
    """The newest pushes of those that a SELECT names."""
    found = tables.ask(
        "pushes",
        f"""
        SELECT * FROM (
            SELECT *, count(*) OVER () AS total,
                count(*) OVER (PARTITION BY client_id, principal) AS of_name,
                row_number() OVER (PARTITION BY client_id, principal ORDER BY {NEWEST_FIRST}) AS newest
            FROM (SELECT *, {ORDERED} FROM ({places}))
            ORDER BY newest, {NEWEST_FIRST} LIMIT {MOST_COMPARED}
        ) ORDER BY {NEWEST_FIRST}
        """,  # noqa: S608 - quoted there
    )
    if not found.num_rows:
        return _Read([], 0, set())
    names = Counter(zip(*(found[column].to_pylist() for column in ("client_id", "principal", "of_name")), strict=True))
    cut = {name for (name, _, there), read in names.items() if read < there}
    return _Read(pushes_at(tables, span, found), found["total"][0].as_py(), cut)


def _if_not_wide(tables: Tables, span: Span, places: str) -> _Read | None:
    try:
        return _read(tables, span, places)
    except NoAnswer as problem:
        if problem.kind != "wide":
            raise
        return None


def _of_starts(started: Sequence[PastPush], cut: Collection[str | None], before: Sequence[PastPush]) -> Iterator[Json]:
    """Each start of the period as the difference from the one before, the oldest first.

    Args:
        cut: client.ids of which older starts of the period were not read, so that nothing is known of the oldest that was.
    """
    earlier = [*started, *before]
    bases: dict[int, PastPush | None] = {}
    for number in reversed(range(len(started))):
        push = started[number]
        base = comparable(push, earlier[number + 1 :])
        name = push.row["client_id"]
        other = base is not None and id(base) in bases and base.row["client_id"] != name
        if name in cut and (base is None or other or id(base) not in bases):
            bases[id(push)] = None
            continue
        if base is not None and other and base.software == push.software and not _changes(base, push):
            base = bases[id(base)]  # it has changed as the other instance that started before it
        bases[id(push)] = base
        yield _difference(base, push, None if base is None else _changes(base, push))


def _of_seen(seen: Sequence[PastPush], span: Span) -> Iterator[Json]:
    """Each change of the period in what was seen; what a record lacks is as it was."""
    known: defaultdict[tuple[Any, ...], dict[str, str]] = defaultdict(dict)
    last: dict[tuple[Any, ...], PastPush] = {}
    yielded: set[tuple[Any, ...]] = set()
    for push in reversed(seen):
        kind = _kind(push)
        here = (*kind, push.row["client_address"])
        values = {setting.key: shown(setting) for setting in push.configuration.settings if setting.reported}
        exact = {key: value for key, value in values.items() if value and BETWEEN not in value}
        was = known[kind] | known[here]
        changed: list[Json] = [
            {"key": key, "before": was[key], "after": value} for key, value in sorted(exact.items()) if was.get(key, value) != value
        ]
        before = last.get(here, last.get(kind))
        if before is not None and push.configuration.pushed_ms >= span.from_ms and (changed or before.software != push.software):
            one = _difference(before, push, changed)
            way = (*here, before.row["client_instance_id"], push.row["client_instance_id"], *_way(one))
            # Two gateways that see different connections of a client would see it change for ever.
            if way not in yielded or before.row["client_instance_id"] == push.row["client_instance_id"]:
                yield one
            yielded.add(way)
        for which in (kind, here):
            known[which] |= exact
            last[which] = push


def _changes(before: PastPush, after: PastPush) -> list[Json]:
    """The settings that differ; that another instance has another name is no change."""
    same = before.row["client_id"] == after.row["client_id"]
    return [change for change in seen_changes(before, after) if same or change["key"] != _OWN_NAME]


def _difference(before: PastPush | None, push: PastPush, changed: list[Json] | None) -> Json:
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


def _together(found: Sequence[Json]) -> list[Json]:
    """Those of several clients that changed in the same way as one; a client that changed so twice is in two."""
    together: dict[tuple[Any, ...], Json] = {}
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


def _way(one: Json) -> tuple[Any, ...]:
    software = [None if start is None else (start["software_name"], start["software_version"]) for start in (one["before"], one["after"])]
    changed = None if one["changes"] is None else tuple(tuple(change.values()) for change in one["changes"])
    return one["after"]["seen"], one["client_type"], one["principal"], *software, changed
