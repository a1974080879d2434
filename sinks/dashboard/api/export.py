"""Export of clients as CSV or JSON, row by row, so that memory is bounded."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TypeVar

from clientscope.api.clients import ConnectedClient

_Row = TypeVar("_Row")

_FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""What a spreadsheet takes for the beginning of a formula, or what it skips before one (OWASP, CSV Injection)."""

_FULL_WIDTH = ("＝", "＋", "－", "＠")
_ROWS_AT_ONCE = 200

COLUMNS = (
    *(name for name in ConnectedClient.model_fields if name != "findings"),
    "findings_worst",
    "findings_count",
)
"""Columns of a CSV: the API's names.  ``findings_count`` is empty where the client was not judged, and 0 where it is clean."""


def inert(value: object) -> object:
    """A cell that no spreadsheet calculates: what would be a formula gets an apostrophe before it.  Several values are in one cell."""
    if isinstance(value, list):
        value = " ".join(map(str, value))
    return f"'{value}" if isinstance(value, str) and value.startswith((*_FORMULA, *_FULL_WIDTH)) else value


def as_csv(clients: Iterator[ConnectedClient]) -> Iterator[str]:
    """A header, then a line for each; lines end as RFC 4180 has it."""
    return csv_of(COLUMNS, map(_cells, clients))


def as_json(clients: Iterator[ConnectedClient]) -> Iterator[str]:
    """One array, an object in each line."""
    return json_of(client.model_dump() for client in clients)


def csv_of(columns: Sequence[str], rows: Iterator[list[object]]) -> Iterator[str]:
    """A header, then the rows, no cell of which is a formula."""
    yield _lines([columns])
    for part in _parts(rows):
        yield _lines([[inert(cell) for cell in row] for row in part])


def json_of(rows: Iterator[Mapping[str, object]]) -> Iterator[str]:
    """One array, a row in each line."""
    before = "[\n"
    for part in _parts(rows):
        yield before + ",\n".join(json.dumps(row, ensure_ascii=False) for row in part)
        before = ",\n"
    yield "[]\n" if before == "[\n" else "\n]\n"


FORMATS: dict[str, tuple[str, Callable[[Iterator[ConnectedClient]], Iterator[str]]]] = {
    "csv": ("text/csv; charset=utf-8", as_csv),
    "json": ("application/json", as_json),
}
"""Format → its media type, and what writes it."""


def _parts(rows: Iterator[_Row]) -> Iterator[list[_Row]]:
    while part := list(islice(rows, _ROWS_AT_ONCE)):
        yield part


def _cells(client: ConnectedClient) -> list[object]:
    values = client.model_dump(exclude={"findings"})
    found = client.findings
    return [*values.values(), found and found.worst, found and found.count]


def _lines(rows: Iterable[Sequence[object]]) -> str:
    text = io.StringIO()
    csv.writer(text).writerows(rows)
    return text.getvalue()
