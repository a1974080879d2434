"""Findings at a time, or findings that ended in a period, from the table ``findings``: each state of one is a row."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from clientscope.catalog.sensitive import shown
from clientscope.findings.record import TO_DO
from clientscope.query import HISTORY_FINDINGS, parse, parse_sort
from clientscope.topic_values import SENTENCE_LENGTH, clean
from sinks.dashboard.past.tables import Choosing, Json, Span, Tables, moment, text, too_wide, within
from udfs.rules.registry import risks_of

MOST_FINDINGS = 50_000

SORTS = ("severity", "code", "state", "clients", "since", "last_seen", "ended")
FIRST = "-severity,-clients,since"

ENDED = ("resolved", "closed")

_TIMES = ("recorded", "first_seen", "last_seen", "opened", "ended")
_TEXTS = (
    "fingerprint",
    "code",
    "name",
    "kind",
    "severity",
    "confidence",
    "state",
    "principal",
    "group",
    "owner",
    "decided_as",
    "decided_by",
)
_COUNTS = ("revision", "client_count", "reopened")
_SCHEMA = pa.schema(
    [
        *((name, pa.string()) for name in (*_TEXTS, "client_id", "message", "risk")),
        *((name, pa.int64()) for name in (*_COUNTS, *(f"{name}_ms" for name in _TIMES))),
        *((name, pa.int64()) for name in ("clients", "since", "last_seen", "first_seen", "ended")),
    ]
)
_ONLY_TO_CHOOSE_BY = ("risk", "clients", "since", "last_seen", "first_seen", "ended")


def at_a_time(tables: Tables, at_ms: int) -> pa.Table:
    """The findings that were to be fixed then.

    Raises:
        NoAnswer: see `Tables.ask`; or there are more than `MOST_FINDINGS`.
    """
    newest = (
        f"SELECT DISTINCT ON (fingerprint) * FROM findings WHERE {within(Span(0, at_ms), 'recorded')} ORDER BY fingerprint, revision DESC"  # noqa: S608
    )
    return _read(tables, f"SELECT * FROM ({newest}) WHERE state IN ({', '.join(map(text, TO_DO))}) LIMIT {MOST_FINDINGS + 1}")  # noqa: S608


def ended(tables: Tables, span: Span) -> pa.Table:
    """The findings that were resolved or closed in a span; one that came back in between is there for each time.

    Raises:
        NoAnswer: as `at_a_time`.
    """
    at = "coalesce(ended, recorded)"
    # An end is recorded after it happens, so no row of an earlier day can be about it.
    sql = (
        f"SELECT DISTINCT ON (fingerprint, ended) * FROM findings WHERE {within(Span(span.from_ms, 2**43), 'recorded')} "  # noqa: S608
        f"AND state IN ({', '.join(map(text, ENDED))}) AND {at} >= {moment(span.from_ms)} AND {at} < {moment(span.to_ms)} "
        "ORDER BY fingerprint, ended, revision DESC"
    )
    return _read(tables, f"SELECT * FROM ({sql}) LIMIT {MOST_FINDINGS + 1}")  # noqa: S608


def page(found: pa.Table, q: str, sort: str, offset: int, limit: int, now_ms: int) -> Json:
    """The findings that a query leaves, in an order: a part of the list, and its length.

    Raises:
        QueryError: ``q`` or ``sort`` can't be read.
    """
    words = ("fingerprint", "code", "name", "message", "owner", "principal", "client_id")
    choosing = Choosing(found, HISTORY_FINDINGS, search=words, several={"risk": str.split})
    chosen = choosing.sorted(choosing.chosen(parse(q, HISTORY_FINDINGS, now_ms)), parse_sort(sort or FIRST, SORTS))
    return {"total": len(chosen), "items": found.drop_columns(list(_ONLY_TO_CHOOSE_BY)).take(chosen.slice(offset, limit)).to_pylist()}


def _read(tables: Tables, sql: str) -> pa.Table:
    rows = tables.ask("findings", sql).to_pylist()
    if len(rows) > MOST_FINDINGS:
        raise too_wide(f"there are more than {MOST_FINDINGS:,} findings")
    return pa.Table.from_pylist([_row(row) for row in rows], _SCHEMA)


def _row(row: dict[str, Any]) -> dict[str, Any]:
    """A row in the form that may be shown: the job has redacted and bounded it, but others may write such rows."""
    made: dict[str, Any] = {name: None if row[name] is None else clean(row[name]) for name in _TEXTS}
    made |= {name: row[name] for name in _COUNTS}
    made |= {f"{name}_ms": None if row[name] is None else int(row[name].timestamp() * 1000) for name in _TIMES}
    made["client_id"] = None if row["client_id"] is None else clean(shown(row["client_id"]))
    made["message"] = clean(row["message"] or "", SENTENCE_LENGTH)
    return made | {
        "risk": " ".join(risks_of(row["code"])),
        "clients": row["client_count"],
        "since": made["opened_ms"],
        "first_seen": made["first_seen_ms"],
        "last_seen": made["last_seen_ms"],
        "ended": made["ended_ms"],
    }
