"""Findings at a time, or findings that ended in a period, from the table ``findings``: each state of one is a row."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from clientscope.catalog.sensitive import shown
from clientscope.model.codec import adapter, as_json
from clientscope.model.finding import TO_DO, Finding
from clientscope.query import HISTORY_FINDINGS, parse, parse_sort
from clientscope.report.findings import SORTS, Searched, is_found, searched, sort_findings
from sinks.dashboard.past.tables import Json, Span, Tables, moment, text, too_wide, within
from udfs.rules.engine.rule import DECLARED

MOST_FINDINGS = 50_000

ENDED = ("resolved", "closed")


Found = list[tuple[Searched, Finding]]


def at_a_time(tables: Tables, at_ms: int) -> Found:
    """The findings that were to be fixed then.

    Raises:
        NoAnswer: see `Tables.ask`; or there are more than `MOST_FINDINGS`.
    """
    newest = (
        f"SELECT DISTINCT ON (fingerprint) * FROM findings WHERE {within(Span(0, at_ms), 'recorded')} ORDER BY fingerprint, revision DESC"  # noqa: S608
    )
    return _read(tables, f"SELECT * FROM ({newest}) WHERE state IN ({', '.join(map(text, TO_DO))}) LIMIT {MOST_FINDINGS + 1}")  # noqa: S608


def ended(tables: Tables, span: Span) -> Found:
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


def page(found: Found, q: str, sort: str, offset: int, limit: int, now_ms: int) -> Json:
    """The findings that a query leaves, in an order: a part of the list, and its length.

    Raises:
        QueryError: ``q`` or ``sort`` can't be read.
    """
    query, keys = parse(q, HISTORY_FINDINGS, now_ms), parse_sort(sort or "-severity,-clients,since", (*SORTS, "ended"))
    chosen = [each for each in found if is_found(query, each[0])]
    sort_findings(chosen, keys, lambda each: each[0])
    return {"total": len(chosen), "items": [as_json(finding) for _, finding in chosen[offset : offset + limit]]}


def _read(tables: Tables, sql: str) -> Found:
    rows = tables.ask("findings", sql).to_pylist()
    if len(rows) > MOST_FINDINGS:
        raise too_wide(f"there are more than {MOST_FINDINGS:,} findings")
    return [(searched(finding), finding) for finding in map(_finding, rows)]


def _finding(row: dict[str, Any]) -> Finding:
    """The finding of a row, as far as the table has it; the job has redacted and bounded it, but others may write such rows."""
    recorded_ms, end_ms = (_ms(row[name]) for name in ("recorded", "ended"))
    of = {"principal": row["principal"], "client_id": row["client_id"] and shown(row["client_id"]), "group": row["group"]}
    decided = {
        "fingerprint": row["fingerprint"],
        "resolution": row["decided_as"],
        "by": row["decided_by"] or "",
        "why": "",
        "at_ms": recorded_ms,
    }
    return adapter(Finding).validate_python(
        {
            **{name: value for name, value in row.items() if name not in ("owner", "ended")},
            "message": row["message"] or "",
            "risks": DECLARED[row["code"]].risks if row["code"] in DECLARED else (),
            "application": of,
            **{f"{name}_ms": _ms(row[name]) for name in ("first_seen", "last_seen", "opened")},
            "ended_ms": recorded_ms if end_ms is None and row["state"] in ENDED else end_ms,
            "owner": row["owner"] and {"team": row["owner"], "contact": ""},
            "decided": row["decided_as"] and decided,
        },
        strict=False,
    )


def _ms(at: datetime | None) -> int | None:
    return None if at is None else int(at.timestamp() * 1000)
