"""Schema of the tables, and the database that holds them."""

from __future__ import annotations

import json
import sqlite3
import weakref
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

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
    away INTEGER NOT NULL,         -- 0: connected; 1: its gateway is lost; 2: it has gone
    worst INTEGER,                 -- a severity's place; -1 is none, NULL is not judged
    found INTEGER NOT NULL,        -- how many findings
    connections INTEGER NOT NULL,
    since_ms INTEGER NOT NULL, since_exact INTEGER NOT NULL, seen_ms INTEGER NOT NULL,  -- of the oldest connection
    label TEXT NOT NULL,           -- client_id for the order: those without one come last
    address TEXT NOT NULL,
    client_id TEXT, instance TEXT, application TEXT,
    key TEXT NOT NULL UNIQUE,
    codes TEXT NOT NULL,           -- of its findings, each between spaces
    risks TEXT NOT NULL,           -- likewise
    gone_ms INTEGER, gone_since_ms INTEGER, gone_exact INTEGER,  -- its last closing, and since when that connection was there
    bytes_in INTEGER, bytes_out INTEGER,  -- per second; NULL where its gateway hasn't said it yet
    active_ms INTEGER,             -- the last heartbeat that said of any
    opened INTEGER NOT NULL,       -- connections in the last minutes, of those that are closed too
    search TEXT NOT NULL           -- what words are searched for in, in lower case
);
CREATE TABLE connections (
    id INTEGER PRIMARY KEY,
    client INTEGER NOT NULL, seen_ms INTEGER NOT NULL, connection INTEGER NOT NULL, epoch INTEGER NOT NULL, opened_ms INTEGER
);
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

HERE, LOST, GONE = range(3)
"""Values of ``away``."""

GONE_MS = f"(CASE WHEN c.away = {GONE} THEN c.gone_ms END)"
"""SQL of when a client left that has gone."""

_INDICES = {
    "clients_in_order": "UNIQUE INDEX {} ON clients (label, address, key)",
    "clients_by_connections": "INDEX {} ON clients (connections DESC, label, address, key)",
    "clients_of_application": "INDEX {} ON clients (application)",
    "clients_of_shape": "INDEX {} ON clients (shape, away, worst, connections)",
    "clients_of_address": "INDEX {} ON clients (address, away, worst, connections)",
    "clients_that_left": "INDEX {} ON clients (gone_ms) WHERE away = 2",
    "connections_of_client": "INDEX {} ON connections (client, seen_ms, connection)",
}
"""Columns of clients and connections."""

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
        self._make_indices()

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
    def unindexed(self, wanted: bool) -> Iterator[None]:
        """Makes the indices of clients and connections anew at the end, which for many rows takes less time than to keep them."""
        if not wanted:
            yield
            return
        for name in _INDICES:
            self._connection.execute(f"DROP INDEX {name}")
        try:
            yield
        finally:
            self._make_indices()

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

    def _make_indices(self) -> None:
        for name, what in _INDICES.items():
            self._connection.execute(f"CREATE {what.format(name)}")


def listed(values: Iterable[int | str]) -> str:
    """A parameter for `LISTED`."""
    return json.dumps(list(values))
