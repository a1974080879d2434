"""Clients as CSV or JSON, row by row: however many there are, few are in memory."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterator

from sinks.dashboard.models_clients import ConnectedClient

_FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""What a spreadsheet takes for the beginning of a formula, or what it skips before one (OWASP, CSV Injection)."""

_FULL_WIDTH = ("＝", "＋", "－", "＠")
_ROWS_AT_ONCE = 200

COLUMNS = (
    *(name for name in ConnectedClient.model_fields if name != "findings"),
    "findings_worst",
    "findings_count",
)
"""Of a CSV: the API's names.  ``findings_count`` is empty where the client was not judged, and 0 where it is clean."""


def inert(value: object) -> object:
    """A cell that no spreadsheet calculates: what would be a formula gets an apostrophe before it."""
    return f"'{value}" if isinstance(value, str) and value.startswith((*_FORMULA, *_FULL_WIDTH)) else value


def as_csv(clients: Iterator[ConnectedClient]) -> Iterator[str]:
    """A header, then a line for each; lines end as RFC 4180 has it."""
    yield _lines([COLUMNS])
    for part in _parts(clients):
        yield _lines([_cells(client) for client in part])


def as_json(clients: Iterator[ConnectedClient]) -> Iterator[str]:
    """One array, an object in each line."""
    before = "[\n"
    for part in _parts(clients):
        yield before + ",\n".join(json.dumps(client.model_dump(), ensure_ascii=False) for client in part)
        before = ",\n"
    yield "[]\n" if before == "[\n" else "\n]\n"


FORMATS: dict[str, tuple[str, Callable[[Iterator[ConnectedClient]], Iterator[str]]]] = {
    "csv": ("text/csv; charset=utf-8", as_csv),
    "json": ("application/json", as_json),
}
"""Format → its media type, and what writes it."""


def _parts(clients: Iterator[ConnectedClient]) -> Iterator[list[ConnectedClient]]:
    part: list[ConnectedClient] = []
    for client in clients:
        part.append(client)
        if len(part) == _ROWS_AT_ONCE:
            yield part
            part = []
    if part:
        yield part


def _cells(client: ConnectedClient) -> list[object]:
    values = client.model_dump(exclude={"findings"})
    found = client.findings
    return [inert(value) for value in (*values.values(), found and found.worst, found and found.count)]


def _lines(rows: list[tuple[str, ...]] | list[list[object]]) -> str:
    text = io.StringIO()
    csv.writer(text).writerows(rows)
    return text.getvalue()
