"""Delta tables read through DataFusion: bounded memory, pruned by days, SQL literals written in one place; and why there is no answer."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, Literal, NamedTuple

import pyarrow as pa
from deltalake import DeltaTable, QueryBuilder
from deltalake.exceptions import DeltaError, TableNotFoundError

from clientscope.errors import ClientscopeError

Json = dict[str, Any]
"""A JSON object.  An answer, or a part of one, has the fields of its model in `clientscope.api.history`, which serve checks it by."""

Kind = Literal["off", "missing", "unreadable", "wide", "late", "busy"]

STATUSES: dict[Kind, int] = {"off": 404, "missing": 404, "unreadable": 503, "wide": 400, "late": 503, "busy": 503}
"""HTTP statuses.  503 means that a retry may succeed."""

RETRY_AFTER_S = 10


class NoAnswer(ClientscopeError):
    """A question that could not be answered.

    Attributes:
        kind: ``off`` (no history is configured), ``missing`` (no such table yet), ``unreadable``, ``wide`` (too much for the memory that
            a question may take), ``late`` (not within the deadline) or ``busy`` (too many ask).
        reason: what was wrong, for the log alone: it may name files and paths.
    """

    def __init__(self, kind: Kind, message: str, hint: str, reason: str = "") -> None:
        super().__init__(message, hint)
        self.kind, self.reason = kind, reason

    @property
    def status(self) -> int:
        """HTTP status of the response."""
        return STATUSES[self.kind]


def too_wide(what: str) -> NoAnswer:
    """The question is refused rather than answered in part."""
    return NoAnswer("wide", what, "ask for a shorter range")


def unreadable(reason: str) -> NoAnswer:
    """What it is read from fails."""
    hint = "try again; is its disk there, and is --history-dir the streaming job's?"
    return NoAnswer("unreadable", "history can't be read now", hint, reason[:500])


MEMORY_BYTES = 256 * 1024 * 1024
"""What sorting, joining and grouping may take; buffers of the files that are being read come to it."""

_SETTINGS = (
    f"SET datafusion.runtime.memory_limit = '{MEMORY_BYTES // 2**20}M'",
    "SET datafusion.runtime.max_temp_directory_size = '0'",  # what doesn't fit is refused: no disk of serve's fills
    "SET datafusion.execution.target_partitions = 2",
)
_END_OF_TIME_MS = 2**43
_DAY_MS, _LEAST_OFTEN_MS = 86_400_000, 600_000
"""A gateway's longest interval between heartbeats."""

_OUT_OF_MEMORY = ("Resources exhausted", "Not enough memory", "spilling process")


class Span(NamedTuple):
    """A time from ``from_ms`` to before ``to_ms``, in ms since the epoch."""

    from_ms: int
    to_ms: int


def text(value: str) -> str:
    """A text as an SQL literal, whatever is in it."""
    return "'" + value.replace("'", "''") + "'"


def moment(ms: int) -> str:
    """A point in time as SQL."""
    return f"to_timestamp_millis({int(ms)})"


def within(span: Span, column: str) -> str:
    """The condition that a time is in a span, with the days for Delta to leave out files by; the table's ``date`` is that time's."""
    first, last = (datetime.fromtimestamp(ms / 1000, UTC).date().isoformat() for ms in (span.from_ms, max(span.from_ms, span.to_ms - 1)))
    return f"date BETWEEN '{first}' AND '{last}' AND \"{column}\" >= {moment(span.from_ms)} AND \"{column}\" < {moment(span.to_ms)}"


class Tables:
    """The tables below a folder, each as it is at the moment of a question."""

    def __init__(self, folder: str) -> None:
        self._folder = folder

    def ask(self, name: str, sql: str) -> pa.Table:
        """The rows of a SELECT, which names the table by ``name``.

        ``history maintain`` and ``erase`` delete files of earlier versions, perhaps while they are read; the table is then read once more.

        Raises:
            NoAnswer: the table doesn't exist or can't be read, or the answer needs more memory than `MEMORY_BYTES`.
        """
        try:
            return self._ask(name, sql)
        except NoAnswer as problem:
            if problem.kind != "unreadable":
                raise
        return self._ask(name, sql)

    def version(self, name: str) -> int:
        """The version that a table has now: until it has another one, every answer is the same.

        Raises:
            NoAnswer: the table doesn't exist or can't be read.
        """
        return int(self._opened(name).version())

    def written(self, name: str, span: Span) -> tuple[bool, int | None]:
        """Whether a table has a record from after a span, and when Kafka took the newest one in it, or in the ten minutes before.

        Raises:
            NoAnswer: see `ask`.
        """
        after = within(Span(span.to_ms, _END_OF_TIME_MS), "timestamp")
        later = self.ask(name, f"SELECT 1 FROM {name} WHERE {after} LIMIT 1").num_rows > 0  # noqa: S608 - numbers
        column, most = ('"timestamp"', "LIMIT 1") if later else ('max("timestamp")', "")  # any one will do, or the newest is needed
        first_ms = max(0, span.from_ms - _LEAST_OFTEN_MS)
        for from_ms in (max(first_ms, span.to_ms - _DAY_MS), first_ms):
            before = within(Span(from_ms, span.to_ms), "timestamp")
            found = self.ask(name, f"SELECT {column} AS newest FROM {name} WHERE {before} {most}")["newest"].to_pylist()  # noqa: S608 - numbers
            if found and found[0] is not None:
                return later, int(found[0].timestamp() * 1000)
        return later, None

    def _opened(self, name: str) -> DeltaTable:
        try:
            return DeltaTable(f"{self._folder}/{name}")
        except TableNotFoundError:
            hint = "clientscope stream writes it within minutes, to its --history-dir"
            raise NoAnswer("missing", f"history has no table {name} yet", hint) from None
        except (DeltaError, OSError) as error:
            raise unreadable(str(error)) from None

    def _ask(self, name: str, sql: str) -> pa.Table:
        asking = QueryBuilder().register(name, self._opened(name))
        try:
            for setting in _SETTINGS:
                asking.execute(setting).read_all()
            return pa.table(asking.execute(sql).read_all())
        except Exception as error:  # DataFusion's own have no class of their own
            if any(words in str(error) for words in _OUT_OF_MEMORY):
                raise too_wide("this is too much for one question") from None
            raise unreadable(str(error)) from None
