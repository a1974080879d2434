"""Starts in a period, differences between two times, and facts from clients' own metrics, of an application or a client.

A start is what a client pushed.  What others saw of its requests has few settings, and comes again while it runs:
it is no start, and a start is never compared with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, NamedTuple

import pyarrow as pa

from clientscope.api.clients import Configuration
from clientscope.catalog.client_facts import FACTS, How
from clientscope.catalog.sensitive import shown
from clientscope.catalog.value_states import ValueState
from clientscope.model.client import Client
from clientscope.model.enums import Origin, rank_of
from clientscope.model.fields import clean
from clientscope.model.push import Push, compact
from clientscope.model.setting import Redaction, Setting, reason_name
from clientscope.policy.redaction import ClientNames, type_name
from sinks.dashboard.past.connections import AT, Steps
from sinks.dashboard.past.tables import Json, NoAnswer, Span, Tables, text, too_wide, within
from sinks.dashboard.state.one_client import changes, of_record
from udfs.kernels.applications import application_of

MOST_NAMES = 1_000
"""client.ids of one application in a question."""

_names = ClientNames()
_WHO = [each.name for each in fields(Client) if each.name != "key"]
"""What a push says of its client; `clientscope.api.history.PastStart` has it as it may be shown."""

LOOK_BACK = 20
"""Pushes before the last one of a page, among which the one to compare it with is looked for."""

STARTED = f"origin = '{Origin.PUSHED}'"
"""The condition that a row is a start."""

# A partition's next leader may have a clock that is behind.  By more than an hour the topic was made again, and begins with low offsets.
_LATEST = 'max("timestamp") OVER (PARTITION BY "partition" ORDER BY "offset")'
ORDERED = f'CASE WHEN {_LATEST} - "timestamp" < INTERVAL \'1 hour\' THEN {_LATEST} ELSE "timestamp" END AS ordered'
"""A column to sort by, so that within a partition the offset decides."""

NEWEST_FIRST = 'ordered DESC, "partition", "offset" DESC'


class PastPush(NamedTuple):
    """A push, and the configuration in it, judged again: what was taken for no secret then may be one by today's rules."""

    record: Push
    configuration: Configuration

    @classmethod
    def of(cls, row: dict[str, Any]) -> PastPush:
        """From a row of the table ``pushes``."""
        names = {field.name for field in fields(Push)} & row.keys()
        said = {name: row[name] for name in names} | {"version": 1, "origin": Origin(row["origin"])}
        record = Push(**said, **compact(map(_recorded, row["configs"])))
        return cls(record, of_record(record, int(row["timestamp"].timestamp() * 1000)))

    @property
    def software(self) -> tuple[str, str]:
        """Name and version."""
        return self.record.software_name, self.record.software_version

    @property
    def rank(self) -> int:
        """Above 0 of what was only seen of requests."""
        return rank_of(self.record.origin)


@dataclass(frozen=True)
class Whose:
    """Whose pushes are asked for: all that is given must be so.

    Attributes:
        client_id: exactly this one, as it is shown; empty for clients without one, None for any.
        application: client.id without its instance part.
        principal: empty for those that have none, None for any.
        address: None for any.
    """

    client_id: str | None = None
    application: str | None = None
    principal: str | None = None
    address: str | None = None

    def has(self, client_id: str | None, principal: str | None, address: str) -> bool:
        """Whether a push is theirs, by its names as the table has them."""
        name = clean(shown(client_id)) if client_id else ""
        return (
            self.client_id in (None, name)
            and self.application in (None, application_of(name))
            and self.principal in (None, clean(shown(principal, "principal")) if principal else "")
            and self.address in (None, clean(address))
        )


def starts(tables: Tables, span: Span, whose: Whose, offset: int, limit: int, settings: bool = False) -> Json:
    """The newest first, as `clientscope.api.history.PastStart` has them.

    Args:
        settings: also what each pushed.

    Raises:
        NoAnswer: see `Tables.ask`; or an application has more than `MOST_NAMES` client.ids.
    """
    theirs = condition(tables, span, whose)
    if theirs is None:
        return {"total": 0, "items": []}
    where = f"{within(span, 'timestamp')} AND {theirs} AND {STARTED}"
    total = tables.ask("pushes", f"SELECT count(*) AS n FROM pushes WHERE {where}")["n"][0].as_py()  # noqa: S608 - quoted there
    page = f"ORDER BY {NEWEST_FIRST} LIMIT {limit + LOOK_BACK} OFFSET {int(offset)}"
    sql = f'SELECT "partition", "offset", "timestamp", {ORDERED} FROM pushes WHERE {where} {page}'  # noqa: S608 - quoted there
    read = pushes_at(tables, span, tables.ask("pushes", sql))
    last = offset + len(read) >= total
    return {"total": total, "items": [_start(number, read, last, settings) for number in range(min(limit, len(read)))]}


def pushes_at(tables: Tables, span: Span, places: pa.Table) -> list[PastPush]:
    """The pushes at these places of the topic and times, in their order, decoded."""
    columns = ["partition", "offset", "timestamp"]
    wanted = list(zip(*(places[name].to_pylist() for name in columns), strict=True))
    at = " OR ".join(f'("partition" = {int(partition)} AND "offset" = {int(offset)})' for partition, offset, _ in wanted) or "FALSE"
    rows: pa.Table = tables.ask("pushes", f"SELECT * FROM pushes WHERE {within(span, 'timestamp')} AND ({at})")  # noqa: S608 - numbers
    found = {tuple(row[name] for name in columns): PastPush.of(row) for row in rows.to_pylist()}
    return [found[place] for place in wanted if place in found]


def condition(tables: Tables, span: Span, whose: Whose, table: str = "pushes") -> str | None:
    """The SQL condition, by names as the table has them; None if no client matches.

    They may not be as they are shown, and applications are no column: so all the names there are are looked at.
    """
    columns = ("client_id", "principal", "address")
    names = ", ".join(columns)
    there = tables.ask(table, f"SELECT {names} FROM {table} WHERE {within(span, 'timestamp')} GROUP BY {names}")  # noqa: S608 - names of columns
    meant = [row for row in zip(*(there[column].to_pylist() for column in columns), strict=True) if whose.has(*row)]
    if len(meant) > MOST_NAMES:
        raise too_wide(f"more than {MOST_NAMES:,} clients are meant")
    alternatives = [" AND ".join(f"{column} {_is(value)}" for column, value in zip(columns, row, strict=True)) for row in meant]
    return f"({' OR '.join(f'({one})' for one in alternatives)})" if alternatives else None


def _is(value: str | None) -> str:
    return "IS NULL" if value is None else f"= {text(value)}"


def _recorded(row: dict[str, Any]) -> Setting:
    """A setting as the table has it."""
    state = ValueState(row["value_state"])
    digest = row["value_digest"] and row["value_digest"].hex()
    return Setting(
        key=row["config_key"],
        value=row["config_value"],
        origin="default" if row["is_default"] else "set",
        type=type_name(row["config_type"]),
        redacted=None if state is ValueState.PRESENT else Redaction(reason_name(state), row["value_length"], digest),
    )


def seen_start(push: PastPush, settings: bool = False) -> Json:
    """A push as it may be shown, compared with nothing."""
    said, now = _names.of_record(push.record), push.configuration
    return {
        **{name: getattr(said, name) for name in _WHO},
        "client_id": said.client_id or None,
        "principal": said.principal or None,
        "pushed_ms": now.pushed_ms,
        "seen": now.origin != "pushed",
        "client_type": now.client_type,
        "setting_count": sum(setting.reported for setting in now.settings),
        "redacted_count": sum(setting.redacted is not None for setting in now.settings),
        "first": False,
        "changes": None,
        "pushed": [asdict(setting) for setting in now.settings if setting.reported] if settings else None,
    }


def _start(number: int, read: Sequence[PastPush], last: bool, settings: bool) -> Json:
    before = comparable(read[number], read[number + 1 :])
    start = seen_start(read[number], settings)
    if before is None:
        start["first"] = last
    else:
        start["changes"] = seen_changes(before, read[number])
    return start


def seen_changes(before: PastPush, after: PastPush) -> list[Json]:
    """The settings that differ."""
    return [asdict(change) for change in changes(before.configuration, after.configuration)]


def comparable(push: PastPush, earlier: Sequence[PastPush]) -> PastPush | None:
    """The newest of earlier pushes, in their order, of the same principal and kind of client: of the same client.id, or else of any.

    Pods may share a client.id, and have settings of their own: of one client.id, a push from the same address goes first.
    What was seen of requests is never compared with a push.
    """
    alike = [
        other
        for other in earlier
        if other.configuration.client_type == push.configuration.client_type
        and other.record.principal == push.record.principal
        and other.rank == push.rank
    ]
    same = [other for other in alike if other.record.client_id == push.record.client_id]
    here = (other for other in same if other.record.address == push.record.address)
    return next(here, next(iter(same or alike), None))


DAY_MS = 86_400_000
LOOK_BACK_DAYS = (1, 7, 30)
"""Before the period; the next one is looked at only if there is a start that the last one has nothing to compare with."""

MOST_COMPARED = 200
"""Records of each side that are decoded, the newest."""

_NAMED = 10
"""client.ids of one difference that are named; the others are counted."""

_OWN_NAME = "client.id"

_NAMES = "concat_ws(' ', '', client_id, principal, software_name)"

# One name may be a producer's and a consumer's, and records of what was seen have different settings: so the newest of each kind is read,
# as far as the number of settings, the first and the last one tell kinds apart. Whole settings would not fit into memory.
_KIND = "client_id, principal, address, origin, settings, first, last"
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
        of = push.record
        kind = of.client_id, of.principal, of.address, push.rank, push.configuration.client_type
        newest[kind] = _completed(newest[kind], push) if kind in newest else push
    return list(newest.values()), found["total"][0].as_py() - len(read) if found.num_rows else 0


def _completed(push: PastPush, older: PastPush) -> PastPush:
    """What was seen of a client, with the settings that only its older record has; a start is whole."""
    if not push.rank:
        return push
    settings = {each.key: each for one in (older, push) for each in one.configuration.settings if each.reported}
    return push._replace(configuration=replace(push.configuration, settings=[*settings.values()]))


def _difference(before: PastPush | None, push: PastPush) -> Json | None:
    """None where what was seen has not changed."""
    changed = None
    if before is not None:
        same = before.record.client_id == push.record.client_id  # that another instance has another name is no change
        changed = [change for change in seen_changes(before, push) if same or change["key"] != _OWN_NAME]
    if push.rank:
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


MOST_POINTS = 120
"""Steps are longer than the interval at which clients push, or every other step would be a gap."""

_OF_INSTANCE: dict[How, str] = {"greatest": "max", "least": "min", "mean": "avg", "rate": "avg", "count": "sum"}
_OF_ALL: dict[How, str] = {"greatest": "max", "least": "min", "mean": "avg", "rate": "sum", "count": "sum"}
_INSTANCE = "instance_id, principal, address"


def client_facts(tables: Tables, span: Span, whose: Whose) -> Json:
    """What these clients said, as in `clientscope.api.history.PastClientFacts`.

    Raises:
        NoAnswer: see `Tables.ask`, but for a missing table, which most sites don't have; or an application has too many client.ids.
    """
    steps = Steps.of(span, MOST_POINTS)
    answer: Json = {**steps.answer(), "recorded": True, "kinds": []}
    try:
        theirs = condition(tables, span, whose, "client_facts")
    except NoAnswer as problem:
        if problem.kind != "missing":
            raise
        return {**answer, "recorded": False}
    if theirs is None:
        return answer
    where = f"{within(span, 'timestamp')} AND client_kind IS NOT NULL AND {theirs}"
    step = f"{steps.number(AT)} AS step"
    of_instance = ", ".join(f"{_OF_INSTANCE[fact.how]}({fact.name}) AS {fact.name}" for fact in FACTS)
    of_all = ", ".join(f"{_OF_ALL[fact.how]}({fact.name}) AS {fact.name}" for fact in FACTS)
    sql = (
        f"SELECT client_kind, step, {of_all} FROM "  # noqa: S608 - quoted there
        f"(SELECT client_kind, {step}, {of_instance} FROM client_facts WHERE {where} GROUP BY client_kind, step, {_INSTANCE}) "
        "GROUP BY client_kind, step"
    )
    found = tables.ask("client_facts", sql).to_pylist()
    of_kinds = f"SELECT client_kind, {_INSTANCE} FROM client_facts WHERE {where} GROUP BY client_kind, {_INSTANCE}"  # noqa: S608 - quoted there
    counted = f"SELECT client_kind, count(*) AS n FROM ({of_kinds}) GROUP BY client_kind ORDER BY client_kind DESC"  # noqa: S608
    for kind, instances in ((row["client_kind"], row["n"]) for row in tables.ask("client_facts", counted).to_pylist()):
        rows = {row["step"]: row for row in found if row["client_kind"] == kind}
        facts: list[Json] = [
            {
                "name": fact.name,
                "curve": fact.curve,
                "line": fact.line,
                "unit": fact.unit,
                "setting": fact.setting,
                "values": [rows[place][fact.name] if place in rows else None for place in range(len(steps.points))],
            }
            for fact in FACTS
        ]
        said = [fact for fact in facts if any(value is not None for value in fact["values"])]
        answer["kinds"].append({"kind": kind, "instances": instances, "facts": said})
    return answer
