"""What every command that lists has in common: formats, order, limit, and what goes where."""

from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from command_runs import Said
from golden import asked, is_golden, session
from programs import on_terminal, python
from refusals import refused
from rich.text import Text

from clientscope.config import ListingSettings
from clientscope.errors import SettingsError
from clientscope.report.listing import Listed, csv_line, show

FIELDS = ("name", "version", "count", "severity", "of")
ROWS: list[dict[str, Any]] = [
    {"name": "b", "version": "2.10", "count": 2, "severity": "low", "of": {"x": 1}},
    {"name": "a", "version": "2.9", "count": 10, "severity": "critical", "of": None},
    {"name": "c", "version": None, "count": None, "severity": "medium", "of": []},
]


class Settings(ListingSettings):
    section = "listing"


def listed(rows: list[dict[str, Any]] = ROWS, **more: Any) -> Listed[dict[str, Any]]:
    return Listed(rows, lambda row: row, lambda row: str(row["name"]), lambda found, wide: Text(f"{len(found)} rows {wide}"), **more)


NESTED = [
    {"client_id": "b", "since_ms": 1_790_000_000_000, "brokers": [1, 2], "findings": {"worst": "low", "count": 12}},
    {"client_id": "a", "since_ms": 1_789_000_000_000, "brokers": [], "findings": {"worst": "high", "count": 1}},
    {"client_id": "c\x1b[31m", "since_ms": None, "brokers": [7], "findings": None},
]
NESTED_FIELDS = ("client_id", "since_ms", "brokers", "findings.worst", "findings.count")
CELLS = {"cells": lambda row: [{"name": row["name"], "api": 1}, {"name": row["name"], "api": 2}]}
LISTS: dict[str, tuple[tuple[str, ...], Callable[[], Listed[Any]], tuple[str, ...] | None]] = {
    "flat": (FIELDS, partial(listed, left_out=["2 suppressed"]), None),
    # Versions by their numbers, severities by how bad they are; what isn't known comes last.
    "in_order": (FIELDS, listed, None),
    # An item may be several lines of CSV; if nothing is found, the columns are still named.
    "several_lines": (FIELDS, partial(listed, **CELLS), ("name", "api")),
    "nothing": (FIELDS, partial(listed, [], **CELLS), ("name", "api")),
    # A time by its column or its field, a count as a number.
    "nested": (NESTED_FIELDS, lambda: Listed(NESTED, lambda row: row, lambda row: row["client_id"], lambda *_: Text("all")), None),
}


@pytest.mark.parametrize("name", LISTS)
def test_formats_order_limit_and_columns(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    fields, ask, cells = LISTS[name]

    def run(*words: str) -> Said:
        try:
            show(Settings(**dict(word.split("=", 1) for word in words)), fields, ask, cells)
        except SettingsError as error:
            return Said(2, "", f"{error}\n{error.hint}\n")
        return Said(0, *capsys.readouterr())

    said = session(run, asked(__file__, f"list_{name}.txt")).replace("\x1b", "␛")
    assert is_golden(said, __file__, f"list_{name}.txt")


def test_a_field_that_is_none_is_said_before_anything_is_asked() -> None:
    with refused("unknown field 'size'") as caught:
        show(Settings(sort="size"), FIELDS, lambda: pytest.fail("asked"))
    assert "name, version, count" in str(caught.value.hint)


@pytest.mark.parametrize("cell", ["=1+1", "+1", "-1", "@SUM(A1)", " =1", "\t=1"])
def test_f36_a_cell_of_csv_is_no_formula_and_begins_no_row(cell: str) -> None:
    line = csv_line([cell, f"a\r{cell}", -1, 2.5, None, "a,b"])
    assert list(csv.reader(io.StringIO(line, newline=""))) == [[f"'{cell}", f"a\r{cell}", "-1", "2.5", "", "a,b"]]


@pytest.mark.parametrize("output", ["json", "csv", "name"])
def test_what_ends_cannot_be_watched(output: Any) -> None:
    with refused("--watch never ends"):
        show(Settings(output=output, watch=True), FIELDS, listed)


WATCHED = """
from clientscope.report import listing
from rich.text import Text
import sys
sys.path[:0] = ["tests/pure", "tests/pure/clientscope/report"]
from test_listing import FIELDS, Settings, listed
looks = []
def ask():
    looks.append(1)
    if len(looks) > 2:
        raise KeyboardInterrupt
    return listed()
listing.EVERY_S = 0
try:
    listing.show(Settings(watch=True), FIELDS, ask)
except KeyboardInterrupt:
    pass
"""


def test_watching_is_json_lines_in_a_pipe_and_a_screen_on_a_terminal() -> None:
    piped = python("-c", WATCHED)
    assert [json.loads(line) for line in piped.stdout.splitlines()] == ROWS * 2
    shown = on_terminal(sys.executable, "-c", WATCHED)
    assert b"3 rows" in shown and b"{" not in shown
    assert b"\x1b[?1049h" in shown, "the alternate screen"
