"""Lists for terminals and programs: formats, sorting, limits, columns and repetition of every command that lists something.

Flat columns, for CSV and ``--columns``, have nested fields with a dot between, and times as ISO 8601 in UTC.
"""

from __future__ import annotations

import csv
import io
import json
import os
import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from types import NoneType
from typing import Any, Generic, TypeVar

from rich.console import Console, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from clientscope.config import ListingSettings
from clientscope.errors import SettingsError
from clientscope.readiness import Readiness
from clientscope.report.text import plain, table, time_of
from clientscope.severities import SEVERITIES

_MS = ("_ms", "Ms")
"""Ends of the names of fields that are times."""


def flat(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row of JSON by `column` names: ``{"findings": {"worst": "high"}, "since_ms": 0}`` has ``findings.worst`` and ``since``."""
    found: dict[str, Any] = {}
    for name, value in row.items():
        found[column(name)] = time_of(value) if name.endswith(_MS) and isinstance(value, int) else _text(value)
        if isinstance(value, Mapping):
            found |= {f"{name}.{below}": each for below, each in flat(value).items()}
    return found


def column(field: str) -> str:
    """The name of a field's column: ``since`` of ``since_ms``."""
    return field.removesuffix("_ms").removesuffix("Ms")


def chosen_columns(given: str, known: Sequence[str]) -> tuple[str, ...]:
    """The columns that ``--columns`` names, in its order; all that are known for an empty text.

    Raises:
        SettingsError: an unknown column, or none.
    """
    if not given:
        return tuple(known)
    names = tuple(column(part.strip()) for part in given.split(",") if part.strip())
    for name in names:
        if name not in known:
            near = get_close_matches(name, known, 1)
            hint = f"one of {', '.join(known)}"
            raise SettingsError(f"--columns: unknown column {name[:64]!r}", f"did you mean {near[0]}? {hint}" if near else hint)
    if not names:
        raise SettingsError("--columns names no column", f"some of {', '.join(known)}, separated by commas")
    return names


def columns_table(columns: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> Table | None:
    """The chosen columns for a terminal; None without rows.  What clients chose themselves is shown as it is."""
    if not rows:
        return None
    numbers = [name.upper() for name in columns if all(isinstance(row.get(name), (int, float, NoneType)) for row in rows)]
    headings = [name.upper() for name in columns]
    view = table(headings, folds=headings, right=numbers)
    for row in rows:
        view.add_row(*(plain(_shown(row.get(name))) for name in columns))
    return view


def _text(value: Any) -> Any:
    """A list of texts or numbers is one text; what has more structure stays as it is, and CSV has it as JSON."""
    if isinstance(value, (list, tuple)) and not any(isinstance(each, (dict, list, tuple)) for each in value):
        return " ".join(map(str, value))
    return value


def _shown(value: Any) -> str:
    return "–" if value in (None, "") else str(value)


EVERY_S = 2.0
_WIDEST = 100_000
"""Characters of a line in a pipe."""

_NARROW = 100
"""Columns of a terminal from which on a table has all that it has by default."""

_FORMULA = ("=", "+", "-", "@", "\t", "\r", "＝", "＋", "－", "＠")
"""What a spreadsheet takes for the beginning of a formula (OWASP, CSV injection)."""

_VERDICTS = tuple(reversed(Readiness))
"""The best first, as `SEVERITIES` has them."""

Row = Mapping[str, Any]
Item = TypeVar("Item")


@dataclass(frozen=True)
class Listed(Generic[Item]):
    """What a command lists.

    Attributes:
        items: in the order of the list if ``--sort`` isn't given.
        row: an item under the API's field names, as JSON has it.
        name: what other commands call an item by.
        table: items for a terminal, with True all that is worth a column; None prints nothing.
        cells: an item as lines of CSV and of ``--columns``; where that is None, its flat row (`flat`).
        left_out: sentences about what isn't listed, for standard error.
    """

    items: Sequence[Item]
    row: Callable[[Item], Row]
    name: Callable[[Item], str]
    table: Callable[[Sequence[Item], bool], RenderableType | None]
    cells: Callable[[Item], Iterable[Row]] | None = None
    left_out: Sequence[str] = ()


def show(settings: ListingSettings, fields: Sequence[str], ask: Callable[[], Listed[Item]], columns: Sequence[str] | None = None) -> None:
    """Prints what ``ask`` returns, once or, with ``--watch``, until Ctrl-C: on a terminal in place, in a pipe as JSON lines.

    Args:
        fields: by which it can be sorted; below a nested one with a dot.
        columns: all of CSV and ``--columns``, where they are others.

    Raises:
        SettingsError: ``--sort`` or ``--columns`` names an unknown field, or ``--watch`` is used with a format that has an end.
    """
    known = tuple(map(column, fields)) if columns is None else tuple(columns)
    form = _Form(settings, _order(settings.sort, fields, known), chosen_columns(settings.columns, known))
    if not settings.watch:
        _print_once(form, ask())
        return
    if settings.output not in ("table", "wide", "jsonl"):
        raise SettingsError(f"--watch never ends, so -o {settings.output} can't be completed", "-o table, wide or jsonl")
    console = Console()
    if settings.output == "jsonl" or not console.is_terminal:
        while True:
            for line in form.lines("jsonl", form.chosen(ask())):
                print(line, flush=True)
            time.sleep(EVERY_S)
    with Live(console=console, auto_refresh=False, screen=True) as live:
        while True:
            live.update(form.view(form.chosen(ask())) or Text(), refresh=True)
            time.sleep(EVERY_S)


def print_view(view: RenderableType) -> None:
    """Prints a table: into a pipe in the width that it needs, since folded lines can't be searched."""
    usual = Console(highlight=False)
    if not (usual.is_terminal or "COLUMNS" in os.environ):
        widest = usual.options.update(max_width=_WIDEST)
        usual.width = max(usual.measure(view, options=widest).maximum, usual.width)
    usual.print(view)


def is_narrow() -> bool:
    """Whether the terminal is so narrow that a table leaves columns out: folded names can't be read."""
    usual = Console()
    return (usual.is_terminal or "COLUMNS" in os.environ) and usual.width < _NARROW


def _print_once(form: _Form, asked: Listed[Item]) -> None:
    listed = form.chosen(asked)
    if form.settings.output in ("table", "wide"):
        view = form.view(listed)
        if view is not None:
            print_view(view)
    else:
        for line in form.lines(form.settings.output, listed):
            print(line)
    for text in listed.left_out:
        print(text, file=sys.stderr)


@dataclass(frozen=True)
class _Form:
    """How a list is printed.

    Attributes:
        order: fields, and whether each is sorted downwards.
        columns: of CSV, and of ``--columns`` if that is given.
    """

    settings: ListingSettings
    order: Sequence[tuple[str, bool]]
    columns: Sequence[str]

    def chosen(self, listed: Listed[Item]) -> Listed[Item]:
        """In the order and within the limit that were asked for."""
        items = list(listed.items)
        for field, descending in reversed(self.order):  # sorting is stable, so the first field is sorted by last
            values = {id(item): _value(field, listed.row(item)) for item in items}
            items.sort(key=lambda item: _rank(field, values[id(item)]), reverse=descending)
            items.sort(key=lambda item: values[id(item)] is None)
        more = len(items) - (self.settings.limit or len(items))
        if more <= 0:
            return replace(listed, items=items)
        said = f"{more} more; raise --limit to see them"
        return replace(listed, items=items[: self.settings.limit], left_out=[said, *listed.left_out])

    def view(self, listed: Listed[Item]) -> RenderableType | None:
        """For a terminal."""
        if self.settings.columns:
            return columns_table(self.columns, list(self._rows(listed)))
        return listed.table(listed.items, self.settings.output == "wide")

    def lines(self, output: str, listed: Listed[Item]) -> Iterator[str]:
        """For programs."""
        rows: Iterable[Row] = map(listed.row, listed.items)
        if self.settings.columns:
            rows = ({name: row.get(name) for name in self.columns} for row in self._rows(listed))
        match output:
            case "json":
                yield json.dumps(list(rows), ensure_ascii=False, indent=2)
            case "jsonl":
                yield from (json.dumps(row, ensure_ascii=False) for row in rows)
            case "name":
                yield from map(listed.name, listed.items)
            case _:
                yield csv_line(self.columns)
                yield from (csv_line(row.get(name) for name in self.columns) for row in self._rows(listed))

    @staticmethod
    def _rows(listed: Listed[Item]) -> Iterator[Row]:
        for item in listed.items:
            yield from listed.cells(item) if listed.cells else (flat(listed.row(item)),)


def _value(field: str, row: Row) -> Any:
    """By the JSON's name, as a number; or else by the column's."""
    return row[field] if field in row else flat(row).get(field)


def csv_line(cells: Iterable[object]) -> str:
    """A line of CSV (RFC 4180) of which no spreadsheet computes a cell."""
    out = io.StringIO()
    # The writer quotes what has a character of its line's end: without one, a line end in a cell would begin a row.
    csv.writer(out, lineterminator="\r\n").writerow([_cell(cell) for cell in cells])
    return out.getvalue().removesuffix("\r\n")


def _cell(cell: object) -> object:
    """An apostrophe before what would be a formula, as spreadsheets understand it."""
    if cell is None:
        return ""
    if isinstance(cell, (dict, list, tuple)):
        cell = json.dumps(cell, ensure_ascii=False)
    return f"'{cell}" if isinstance(cell, str) and cell.lstrip(" ").startswith(_FORMULA) else cell


def _order(text: str, fields: Sequence[str], columns: Sequence[str]) -> list[tuple[str, bool]]:
    """Fields, and whether each is sorted downwards.  A time may be named as its column is, and of what is nested the first is meant."""
    order = []
    for part in filter(None, (part.strip() for part in text.split(","))):
        name = part.removeprefix("-")
        known = (field for field in fields if name in (field, column(field)) or field.startswith(f"{name}."))
        field = next(known, name if name in columns else None)
        if field is None:
            raise SettingsError(f"--sort: unknown field {name!r}", f"one of {', '.join(fields)}; -{fields[0]} sorts in descending order")
        order.append((field, part.startswith("-")))
    return order


def _rank(field: str, value: object) -> tuple[int, object]:
    """Severities and verdicts by how bad they are, numbers by size, texts with the numbers in them by size: 2.10 comes after 2.9."""
    if field in ("severity", "findings.worst") and value in SEVERITIES:
        return 0, (SEVERITIES.index(value),)
    if field == "readiness" and value in _VERDICTS:
        return 0, (_VERDICTS.index(value),)
    if isinstance(value, (int, float)):
        return 0, (value,)
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return 1, tuple((1, int(part), "") if part.isdecimal() else (2, 0, part.casefold()) for part in re.split(r"(\d+)", text) if part)
