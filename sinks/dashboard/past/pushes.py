"""Starts in a period, from the table ``pushes``, each as the difference from the one before.

A start is what a client pushed.  What others saw of its requests has few settings, and comes again while it runs:
it is no start, and a start is never compared with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, NamedTuple, TypedDict

import pyarrow as pa

from clientscope.api.clients import Configuration
from clientscope.catalog.sensitive import shown
from clientscope.policy.redaction import type_name
from clientscope.records.config_record import ClientConfigRecord, RecordedSetting, Redaction, compact, reason_name
from clientscope.records.enums import Origin, ValueState, rank_of
from clientscope.topic_values import clean
from sinks.dashboard.past.problems import Json, too_wide
from sinks.dashboard.past.tables import Span, Tables, text, within
from sinks.dashboard.state.configuration import of_record
from sinks.dashboard.state.starts import changes
from udfs.kernels.applications import application_of

MOST_NAMES = 1_000
"""client.ids of one application in a question."""

MOST_PUSHES = 50
LOOK_BACK = 20
"""Pushes before the last one of a page, among which the one to compare it with is looked for."""

STARTED = f"origin = '{Origin.PUSHED}'"
"""The condition that a row is a start."""

# A partition's next leader may have a clock that is behind.  By more than an hour the topic was made again, and begins with low offsets.
_LATEST = 'max("timestamp") OVER (PARTITION BY "partition" ORDER BY "offset")'
ORDERED = f'CASE WHEN {_LATEST} - "timestamp" < INTERVAL \'1 hour\' THEN {_LATEST} ELSE "timestamp" END AS ordered'
"""A column to sort by, so that within a partition the offset decides."""

NEWEST_FIRST = 'ordered DESC, "partition", "offset" DESC'


class PushRow(TypedDict):
    """A row of the table ``pushes``, as far as it is read here beside its settings."""

    client_instance_id: str | None
    client_id: str | None
    principal: str | None
    client_address: str
    client_software_name: str
    client_software_version: str
    origin: Origin


class PastPush(NamedTuple):
    """A push: its row, and the configuration in it."""

    row: PushRow
    configuration: Configuration

    @property
    def software(self) -> tuple[str, str]:
        """Name and version."""
        return self.row["client_software_name"], self.row["client_software_version"]


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
    limit = min(limit, MOST_PUSHES)
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
    found = dict(zip(zip(*(rows[name].to_pylist() for name in columns), strict=True), _read(rows), strict=True))
    return [found[place] for place in wanted if place in found]


def _read(rows: pa.Table) -> list[PastPush]:
    pushed: list[PushRow] = rows.select(list(PushRow.__annotations__)).to_pylist()
    return [PastPush(row, _configuration(rows, number)) for number, row in enumerate(pushed)]


def condition(tables: Tables, span: Span, whose: Whose, table: str = "pushes") -> str | None:
    """The SQL condition, by names as the table has them; None if no client matches.

    They may not be as they are shown, and applications are no column: so all the names there are are looked at.
    """
    columns = ("client_id", "principal", "client_address")
    names = ", ".join(columns)
    there = tables.ask(table, f"SELECT {names} FROM {table} WHERE {within(span, 'timestamp')} GROUP BY {names}")  # noqa: S608 - names of columns
    meant = [row for row in zip(*(there[column].to_pylist() for column in columns), strict=True) if whose.has(*row)]
    if len(meant) > MOST_NAMES:
        raise too_wide(f"more than {MOST_NAMES:,} clients are meant")
    alternatives = [" AND ".join(f"{column} {_is(value)}" for column, value in zip(columns, row, strict=True)) for row in meant]
    return f"({' OR '.join(f'({one})' for one in alternatives)})" if alternatives else None


def _is(value: str | None) -> str:
    return "IS NULL" if value is None else f"= {text(value)}"


def _configuration(rows: pa.Table, number: int) -> Configuration:
    """What one pushed, judged again: what was taken for no secret then may be one by today's rules."""
    (row,) = rows.slice(number, 1).to_pylist()
    names = {field.name for field in fields(ClientConfigRecord)} & row.keys()
    said = {name: row[name] for name in names} | {"version": 1, "origin": Origin(row["origin"])}
    record = ClientConfigRecord(**said, **compact(map(_recorded, row["configs"])))
    return of_record(record, int(row["timestamp"].timestamp() * 1000))


def _recorded(row: dict[str, Any]) -> RecordedSetting:
    """A setting as the table has it."""
    state = ValueState(row["value_state"])
    digest = row["value_digest"] and row["value_digest"].hex()
    return RecordedSetting(
        key=row["config_key"],
        value=row["config_value"],
        type=type_name(row["config_type"]),
        default=row["is_default"],
        redacted=None if state is ValueState.PRESENT else Redaction(reason_name(state), row["value_length"], digest),
    )


def seen_start(push: PastPush, settings: bool = False) -> Json:
    """A push as it may be shown, compared with nothing."""
    row, now = push
    return {
        "instance_id": row["client_instance_id"],
        "client_id": clean(shown(row["client_id"])) if row["client_id"] else None,
        "principal": clean(shown(row["principal"], "principal")) if row["principal"] else None,
        "address": clean(row["client_address"]),
        "software_name": clean(shown(row["client_software_name"], "client_software_name")),
        "software_version": clean(shown(row["client_software_version"], "client_software_version")),
        "pushed_ms": now.pushed_ms,
        "seen": now.origin != "pushed",
        "client_type": now.client_type,
        "settings": sum(setting.reported for setting in now.settings),
        "redacted": sum(setting.source == "redacted" for setting in now.settings),
        "first": False,
        "changes": None,
        "pushed": [setting.model_dump(mode="json") for setting in now.settings if setting.reported] if settings else None,
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
    found = changes(before.configuration, after.configuration)
    return [{"key": change.key, "before": change.before, "after": change.after} for change in found]


def comparable(push: PastPush, earlier: Sequence[PastPush]) -> PastPush | None:
    """The newest of earlier pushes, in their order, of the same principal and kind of client: of the same client.id, or else of any.

    Pods may share a client.id, and have settings of their own: of one client.id, a push from the same address goes first.
    What was seen of requests is never compared with a push.
    """
    alike = [
        other
        for other in earlier
        if other.configuration.client_type == push.configuration.client_type
        and other.row["principal"] == push.row["principal"]
        and rank_of(other.row["origin"]) == rank_of(push.row["origin"])
    ]
    same = [other for other in alike if other.row["client_id"] == push.row["client_id"]]
    here = (other for other in same if other.row["client_address"] == push.row["client_address"])
    return next(here, next(iter(same or alike), None))
