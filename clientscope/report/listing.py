"""Shared parts of commands that list: formats, order, a limit, and repeated display."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from rich.console import Console, RenderableType
from rich.live import Live
from rich.text import Text

from clientscope.config import ListingSettings
from clientscope.errors import SettingsError
from clientscope.readiness import Readiness
from clientscope.severities import SEVERITIES

EVERY_S = 2.0
_WIDEST = 100_000
"""Characters of a line in a pipe."""

_FORMULA = ("=", "+", "-", "@", "\t", "\r")
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
        cells: an item as lines of CSV; where that is None, its row, with what is nested as JSON.
        left_out: sentences about what isn't listed, for standard error.
    """

    items: Sequence[Item]
    row: Callable[[Item], Row]
    name: Callable[[Item], str]
    table: Callable[[Sequence[Item], bool], RenderableType | None]
    cells: Callable[[Item], Iterable[Row]] | None = None
    left_out: Sequence[str] = ()


def show(settings: ListingSettings, fields: Sequence[str], ask: Callable[[], Listed[Item]]) -> None:
    """Prints what ``ask`` returns, once or, with ``--watch``, until Ctrl-C: on a terminal in place, in a pipe as JSON lines.

    Args:
        fields: by which it can be sorted; the columns of CSV too, unless `Listed.cells` says otherwise.

    Raises:
        SettingsError: ``--sort`` names none of the fields, or ``--watch`` is used with a format that has an end.
    """
    order = _order(settings.sort, fields)
    if not settings.watch:
        _print_once(settings, order, fields, ask())
        return
    if settings.output not in ("table", "wide", "jsonl"):
        raise SettingsError(f"--watch never ends, so -o {settings.output} can't be completed", "-o table, wide or jsonl")
    console = Console()
    if settings.output == "jsonl" or not console.is_terminal:
        while True:
            for line in _lines("jsonl", fields, *_chosen(settings, order, ask())):
                print(line, flush=True)
            time.sleep(EVERY_S)
    with Live(console=console, auto_refresh=False, screen=True) as live:
        while True:
            listed, items = _chosen(settings, order, ask())
            live.update(listed.table(items, settings.output == "wide") or Text(), refresh=True)
            time.sleep(EVERY_S)


def console(usual: Console, view: RenderableType) -> Console:
    """Where a table is written to: into a pipe in the width that it needs, since folded lines can't be searched."""
    if usual.is_terminal or "COLUMNS" in os.environ:
        return usual
    widest = usual.options.update(max_width=_WIDEST)
    return Console(file=usual.file, width=max(usual.measure(view, options=widest).maximum, usual.width), no_color=usual.no_color)


def _print_once(settings: ListingSettings, order: Sequence[tuple[str, bool]], fields: Sequence[str], listed: Listed[Item]) -> None:
    listed, items = _chosen(settings, order, listed)
    if settings.output in ("table", "wide"):
        view = listed.table(items, settings.output == "wide")
        if view is not None:
            console(Console(), view).print(view)
    else:
        for line in _lines(settings.output, fields, listed, items):
            print(line)
    if more := len(listed.items) - len(items):
        print(f"{more} more; raise --limit to see them", file=sys.stderr)
    for text in listed.left_out:
        print(text, file=sys.stderr)


def _chosen(settings: ListingSettings, order: Sequence[tuple[str, bool]], listed: Listed[Item]) -> tuple[Listed[Item], Sequence[Item]]:
    items = list(listed.items)
    for field, descending in reversed(order):  # sorting is stable, so the first field is sorted by last
        items.sort(key=lambda item: _rank(field, listed.row(item).get(field)), reverse=descending)
        items.sort(key=lambda item: listed.row(item).get(field) is None)
    return listed, items[: settings.limit] if settings.limit else items


def _lines(output: str, fields: Sequence[str], listed: Listed[Item], items: Sequence[Item]) -> Iterator[str]:
    match output:
        case "json":
            yield json.dumps([listed.row(item) for item in items], ensure_ascii=False, indent=2)
        case "jsonl":
            yield from (json.dumps(listed.row(item), ensure_ascii=False) for item in items)
        case "name":
            yield from (listed.name(item) for item in items)
        case _:
            rows = [row for item in items for row in (listed.cells(item) if listed.cells else (listed.row(item),))]
            columns = list(dict.fromkeys(name for row in rows for name in row)) if listed.cells else fields
            yield csv_line(columns or fields)
            yield from (csv_line(row.get(name) for name in columns) for row in rows)


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


def _order(text: str, fields: Sequence[str]) -> list[tuple[str, bool]]:
    """Fields, and whether each is sorted downwards."""
    order = []
    for part in filter(None, (part.strip() for part in text.split(","))):
        field = part.removeprefix("-")
        if field not in fields:
            raise SettingsError(f"--sort: unknown field {field!r}", f"one of {', '.join(fields)}; -{fields[0]} sorts in descending order")
        order.append((field, part.startswith("-")))
    return order


def _rank(field: str, value: object) -> tuple[int, object]:
    """Severities and verdicts by how bad they are, numbers by size, texts with the numbers in them by size: 2.10 comes after 2.9."""
    if field == "severity" and value in SEVERITIES:
        return 0, (SEVERITIES.index(value),)
    if field == "readiness" and value in _VERDICTS:
        return 0, (_VERDICTS.index(value),)
    if isinstance(value, (int, float)):
        return 0, (value,)
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return 1, tuple((1, int(part), "") if part.isdecimal() else (2, 0, part.casefold()) for part in re.split(r"(\d+)", text) if part)
