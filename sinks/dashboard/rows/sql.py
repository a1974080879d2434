"""The tables in SQLite, and SQL conditions and orders on them. Text from a user or a client is always a parameter."""

from __future__ import annotations

import json
import sqlite3
import weakref
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from clientscope.query import Between, Choice, Compare, Is, Key, Pattern, Query, Term
from clientscope.query.terms import CLIENTS, NONE, Condition, FieldKind

_TABLES = """
CREATE TABLE shapes (  -- what many clients have in common: few rows, so that conditions on them cost little
    id INTEGER PRIMARY KEY,
    cluster TEXT NOT NULL, broker INTEGER NOT NULL, gateway TEXT NOT NULL, listener TEXT NOT NULL, protocol TEXT NOT NULL,
    principal TEXT, software TEXT NOT NULL, version TEXT NOT NULL, owner TEXT, version_order TEXT,
    library TEXT, library_version TEXT, library_order TEXT  -- what its software is built on
);
CREATE TABLE clients (
    id INTEGER PRIMARY KEY,
    shape INTEGER NOT NULL,
    away INTEGER NOT NULL DEFAULT 1,  -- 0: connected; 1: its gateway is lost, or nothing is summed up yet; 2: it has gone
    worst INTEGER,                 -- a severity's place; -1 is none, NULL is not judged
    found INTEGER NOT NULL,        -- how many findings
    connections INTEGER NOT NULL DEFAULT 0,
    since_ms INTEGER NOT NULL DEFAULT 0, since_exact INTEGER NOT NULL DEFAULT 0,  -- of the oldest connection
    label TEXT NOT NULL,           -- client_id for the order: those without one come last
    address TEXT NOT NULL,
    client_id TEXT, instance TEXT, application TEXT,
    key TEXT NOT NULL UNIQUE,
    codes TEXT NOT NULL,           -- of its findings, each between spaces
    risks TEXT NOT NULL,           -- likewise
    gone_ms INTEGER, gone_since_ms INTEGER, gone_exact INTEGER,  -- its last closing, and since when that connection was there
    closing INTEGER,               -- the number of that closing
    bytes_in INTEGER, bytes_out INTEGER,  -- per second; NULL where its gateway hasn't said it yet
    active_ms INTEGER,             -- the last heartbeat that said of any
    opened INTEGER NOT NULL DEFAULT 0,  -- connections in the last minutes, of those that are closed too
    search TEXT NOT NULL           -- what words are searched for in, in lower case
);
CREATE TABLE connections (
    id INTEGER PRIMARY KEY,
    client INTEGER NOT NULL, seen_ms INTEGER NOT NULL, connection INTEGER NOT NULL, epoch INTEGER NOT NULL, opened_ms INTEGER,
    open INTEGER NOT NULL, closed_ms INTEGER, closing INTEGER  -- by number; both are NULL of one for which there was no room
);
CREATE UNIQUE INDEX clients_in_order ON clients (label, address, key);
CREATE INDEX clients_by_connections ON clients (connections DESC, label, address, key);
CREATE INDEX clients_of_application ON clients (application);
CREATE INDEX clients_of_shape ON clients (shape, away, worst, connections);
CREATE INDEX clients_of_address ON clients (address, away, worst, connections);
CREATE INDEX clients_that_left ON clients (closing) WHERE away = 2;
CREATE INDEX connections_of_client ON connections (client, seen_ms, connection);
CREATE INDEX connections_closed ON connections (opened_ms) WHERE NOT open;
CREATE INDEX connections_by_closing ON connections (closing) WHERE closing IS NOT NULL;
CREATE TABLE pushes (
    key TEXT PRIMARY KEY,
    partition INTEGER NOT NULL, offset INTEGER NOT NULL, pushed_ms INTEGER NOT NULL,
    client_id TEXT NOT NULL,       -- empty for none
    address TEXT NOT NULL, principal TEXT NOT NULL, application TEXT NOT NULL, instance TEXT,
    software TEXT NOT NULL, version TEXT NOT NULL,
    judged INTEGER,                -- 1 or 0 by its result; NULL where none was read
    not_judged_by BLOB,            -- likewise, a bit for each rule
    rank INTEGER NOT NULL          -- what counts first of a client
) WITHOUT ROWID;
CREATE INDEX pushes_of_client ON pushes (client_id, address, pushed_ms);
CREATE INDEX pushes_of_application ON pushes (application, pushed_ms);
CREATE INDEX pushes_by_age ON pushes (pushed_ms);
"""

MINUTES = 5
"""How far back openings count."""

HERE, LOST, GONE = range(3)
"""Values of ``away``."""

GONE_MS = f"(CASE WHEN c.away = {GONE} THEN c.gone_ms END)"
"""SQL of when a client left that has gone."""

LISTED = "(SELECT value FROM json_each(?))"
"""What is in a list of any length, as `listed` makes it a parameter: so the statement is the same, and prepared once."""

NO_CLIENT_ID = "\uffff"
"""The label of a client without a client.id."""


class Database:
    """An SQLite database in memory, without a journal: nothing is ever rolled back, and all of it can be read from topics again.

    It ends with this object, and its memory with it.
    """

    def __init__(self) -> None:
        self._connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False, cached_statements=512)
        weakref.finalize(self, self._connection.close)  # else Python closes it too, but with a ResourceWarning since 3.13
        self._connection.executescript("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA temp_store = MEMORY;")
        self._connection.executescript(_TABLES)

    def run(self, sql: str, *parameters: Any) -> sqlite3.Cursor:
        """Runs one statement."""
        return self._connection.execute(sql, parameters)

    def many(self, sql: str, rows: Iterable[Sequence[Any]]) -> None:
        """Runs one statement with each of these parameters."""
        self._connection.executemany(sql, rows)

    def rows(self, sql: str, *parameters: Any) -> list[Any]:
        """All rows that a statement gives."""
        return self._connection.execute(sql, parameters).fetchall()

    def row(self, sql: str, *parameters: Any) -> Any:
        """The first row, or None."""
        return self._connection.execute(sql, parameters).fetchone()

    def value(self, sql: str, *parameters: Any) -> Any:
        """The one value of the one row that a statement gives."""
        (found,) = self.row(sql, *parameters)
        return found

    @contextmanager
    def batch(self) -> Iterator[None]:
        """Puts many changes into one transaction; may be nested."""
        if self._connection.in_transaction:
            yield
            return
        self._connection.execute("BEGIN")
        try:
            yield
        finally:
            self._connection.execute("COMMIT")


def listed(values: Iterable[object]) -> str:
    """A parameter for `LISTED`."""
    return json.dumps(list(values))


Sql = tuple[str, list[Any]]

OF_SHAPES = ("software", "version", "owner", "principal", "listener", "protocol", "broker", "cluster", "gateway")
"""Fields that are columns of ``shapes``."""

_OF_LIBRARY = {"software": "library", "version": "library_version"}

_OF_CLIENTS = {
    "client_id": "c.client_id", "application": "c.application", "address": "c.address", "instance": "c.instance",
    "connections": "c.connections", "since": "c.since_ms", "finding": "c.worst", "disconnected": GONE_MS,
    "opened_per_minute": f"c.opened / {MINUTES}.0", "bytes_in_per_second": "c.bytes_in", "bytes_out_per_second": "c.bytes_out",
    "active": "c.active_ms",
}  # fmt: skip

_ORDERS = {"version": "version_order", "library_version": "library_order"}
_AWAY = {"yes": HERE, "no": GONE}
_IN_ORDER = ("c.label", "c.address", "c.key")

CLIENT_SORTS: dict[str, str] = {
    **{field: f"s.{field} COLLATE NOCASE" for field in OF_SHAPES},
    **_OF_CLIENTS,
    "client_id": "c.label",
    "version": "s.version_order",
    "broker": "s.broker",
    "finding": "c.worst",
}
"""What clients can be sorted by.  A client that wasn't judged comes last, whatever the direction."""

CONNECTION_SORTS: dict[str, str] = {
    **{field: column for field, column in CLIENT_SORTS.items() if field != "connections"},
    "since": "x.seen_ms",
    "opened": "x.opened_ms",
    "connection": "x.connection",
}
"""What connections can be sorted by."""


def where(query: Query, codes: Collection[str]) -> Sql:
    """A condition on ``clients c``.

    Args:
        codes: of all findings there are, to find those that a pattern means.
    """
    asks_for_gone = query.asks_for("connected") or query.asks_for("disconnected")
    # likely: else an index that has ``away`` and not what is asked for seems cheaper than the table.
    there: Sql = f"c.away <> {LOST}" if asks_for_gone else f"likely(c.away = {HERE})", []
    return _all([there, *(_part(part, codes) for part in query.terms)])


def _part(part: Term | Choice, codes: Collection[str]) -> Sql:
    if isinstance(part, Term):
        return _opposite(part, _of_term(part, codes))
    return _opposite(part, _any(_all(_part(each, codes) for each in query.terms) for query in part.any_of))


def _opposite(part: Term | Choice, of: Sql) -> Sql:
    """NULL is no: what isn't known isn't so, and its opposite holds."""
    return (f"NOT ifnull({of[0]}, 0)", of[1]) if part.negated else of


def _all(parts: Iterable[Sql]) -> Sql:
    return _joined(" AND ", parts)


def order(keys: Sequence[Key], columns: dict[str, str], last: Sequence[str] = _IN_ORDER) -> str:
    """An ORDER BY that leaves nothing open; by default by client id, address and key."""
    return ", ".join([*(f"{columns[key.field]} {'DESC' if key.descending else 'ASC'} NULLS LAST" for key in keys), *last])


def _of_term(term: Term, codes: Collection[str]) -> Sql:
    if term.field is None:
        return _any(_word(each) for each in term.any_of)
    if term.field in OF_SHAPES:
        column = _OF_LIBRARY[term.field] if term.library else term.field
        condition, values = _any(_condition(each, column) for each in term.any_of)
        # Few rows are looked at so, and of clients one number each.
        condition = f"{column} IS NOT NULL AND ({condition})" if term.library else condition
        return f"c.shape IN (SELECT id FROM shapes WHERE {condition})", values
    kind = CLIENTS[term.field].kind
    if term.field == "connected":
        return _any(_connected(each) for each in term.any_of)
    if term.field == "risk":
        return _any(_risk(each) for each in term.any_of)
    if kind is FieldKind.FINDING:
        return _any(_finding(each, codes) for each in term.any_of)
    return _any(_condition(each, _OF_CLIENTS[term.field]) for each in term.any_of)


def _any(parts: Iterable[Sql]) -> Sql:
    return _joined(" OR ", parts)


def _joined(word: str, parts: Iterable[Sql]) -> Sql:
    joined = list(parts)
    return word.join(f"({condition})" for condition, _ in joined), [value for _, values in joined for value in values]


def _condition(condition: Condition, column: str) -> Sql:
    if isinstance(condition, Pattern):
        return _pattern(condition, column)
    if isinstance(condition, Between):
        return f"{column} >= ? AND {column} < ?", [condition.first, condition.end]
    assert isinstance(condition, Compare)
    compared = _ORDERS.get(column, column)
    return f"{compared} {condition.operator} ?", [condition.value]


def _pattern(pattern: Pattern, column: str) -> Sql:
    if pattern.text == "":
        return f"({column} IS NULL OR {column} = '')", []
    if pattern.text is not None:
        return f"{column} = ? COLLATE NOCASE", [pattern.text]
    return f"{column} LIKE ? ESCAPE '\\'", ["%".join(map(_escaped, pattern.parts))]


def _word(condition: Condition) -> Sql:
    assert isinstance(condition, Pattern)
    if condition.text is not None:
        return "instr(c.search, ?) > 0", [condition.text.lower()]
    return "c.search LIKE ? ESCAPE '\\'", ["%" + "%".join(_escaped(part.lower()) for part in condition.parts) + "%"]


def _connected(condition: Condition) -> Sql:
    assert isinstance(condition, Pattern)
    return f"c.away = {_AWAY.get(condition.text or '', LOST)}", []


def _risk(condition: Condition) -> Sql:
    assert isinstance(condition, Pattern)
    return ("instr(c.risks, ?) > 0", [f" {condition.text} "]) if condition.text else ("c.risks = ''", [])


def _finding(condition: Condition, codes: Collection[str]) -> Sql:
    if isinstance(condition, Is):
        return ("c.worst = -1" if condition.name == NONE else "c.worst IS NULL"), []
    if isinstance(condition, Compare):
        return f"c.worst >= 0 AND c.worst {condition.operator} ?", [condition.value]
    assert isinstance(condition, Pattern)
    meant = sorted(code for code in codes if condition.matches(code))
    if not meant:
        return "0", []
    return _any(("instr(c.codes, ?) > 0", [f" {code} "]) for code in meant)


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
