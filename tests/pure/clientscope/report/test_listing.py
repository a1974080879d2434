"""What every command that lists has in common: formats, order, limit, and what goes where."""

from __future__ import annotations

import csv
import io
import json
import os
import pty
import subprocess
import sys
from typing import Any

import pytest
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


def printed(capsys: pytest.CaptureFixture[str], more: dict[str, Any] | None = None, **given: Any) -> tuple[str, str]:
    show(Settings(**given), FIELDS, lambda: listed(**(more or {})))
    return capsys.readouterr()


def test_each_format(capsys: pytest.CaptureFixture[str]) -> None:
    assert printed(capsys) == ("3 rows False\n", "")
    assert printed(capsys, output="wide")[0] == "3 rows True\n"
    assert json.loads(printed(capsys, output="json")[0]) == ROWS
    assert [json.loads(line) for line in printed(capsys, output="jsonl")[0].splitlines()] == ROWS
    assert printed(capsys, output="name")[0] == "b\na\nc\n"
    lines = list(csv.reader(io.StringIO(printed(capsys, output="csv")[0])))
    assert lines == [list(FIELDS), ["b", "2.10", "2", "low", '{"x": 1}'], ["a", "2.9", "10", "critical", ""], ["c", "", "", "medium", ""]]


def test_an_item_may_be_several_lines_of_csv(capsys: pytest.CaptureFixture[str]) -> None:
    cells = {"cells": lambda row: [{"name": row["name"], "api": 1}, {"name": row["name"], "api": 2}]}
    show(Settings(output="csv", limit=1), FIELDS, lambda: listed(**cells), ("name", "api"))
    assert capsys.readouterr() == ("name,api\nb,1\nb,2\n", "2 more; raise --limit to see them\n")
    show(Settings(output="csv", columns="api"), FIELDS, lambda: listed(**cells), ("name", "api"))
    assert capsys.readouterr().out == "api\n" + "1\n2\n" * 3
    show(Settings(output="csv"), FIELDS, lambda: listed([], **cells), ("name", "api"))
    assert capsys.readouterr().out == "name,api\n", "nothing is found, and the columns are still named"


@pytest.mark.parametrize(
    ("sort", "names"),
    [
        ("name", "abc"), ("-name", "cba"), ("version", "abc"), ("-version", "bac"), ("count", "bac"), ("-count", "abc"),
        ("severity", "bca"), ("-severity,name", "acb"), ("", "bac"), (" name , ", "abc"),
    ],
)  # fmt: skip
def test_order(capsys: pytest.CaptureFixture[str], sort: str, names: str) -> None:
    assert printed(capsys, output="name", sort=sort)[0].replace("\n", "") == names, "versions by their numbers; what isn't known comes last"


NESTED = [
    {"client_id": "b", "since_ms": 1_790_000_000_000, "brokers": [1, 2], "findings": {"worst": "low", "count": 12}},
    {"client_id": "a", "since_ms": 1_789_000_000_000, "brokers": [], "findings": {"worst": "high", "count": 1}},
    {"client_id": "c\x1b[31m", "since_ms": None, "brokers": [7], "findings": None},
]
NESTED_FIELDS = ("client_id", "since_ms", "brokers", "findings.worst", "findings.count")


def shown(capsys: pytest.CaptureFixture[str], **given: Any) -> str:
    show(Settings(**given), NESTED_FIELDS, lambda: Listed(NESTED, lambda row: row, lambda row: row["client_id"], lambda *_: Text("all")))
    return capsys.readouterr().out


def test_csv_is_flat_and_its_times_are_iso_8601(capsys: pytest.CaptureFixture[str]) -> None:
    assert shown(capsys, output="csv").splitlines() == [
        "client_id,since,brokers,findings.worst,findings.count",
        "b,2026-09-21T14:13:20+00:00,1 2,low,12",
        "a,2026-09-10T00:26:40+00:00,,high,1",
        "c\x1b[31m,,7,,",
    ]


def test_columns_are_chosen_for_people_and_for_programs(capsys: pytest.CaptureFixture[str]) -> None:
    table = shown(capsys, columns="since, findings.worst,client_id").splitlines()
    assert table[0].split() == ["SINCE", "FINDINGS.WORST", "CLIENT_ID"]
    assert table[1].split() == ["2026-09-21T14:13:20+00:00", "low", "b"] and table[3].split() == ["–", "–", "c�[31m"]
    assert shown(capsys, columns="client_id", output="csv").splitlines()[1:3] == ["b", "a"]
    assert json.loads(shown(capsys, columns="findings.count,since", output="json"))[0] == {
        "findings.count": 12,
        "since": "2026-09-21T14:13:20+00:00",
    }
    for wrong in ("nothing", "client_id,,findings.wrst", ","):
        with pytest.raises(SettingsError, match="--columns"):
            shown(capsys, columns=wrong)


@pytest.mark.parametrize(
    ("sort", "names"), [("since", "ab"), ("since_ms", "ab"), ("-findings", "ab"), ("-findings.worst", "ab"), ("findings.count", "ab")]
)
def test_columns_sort_too(capsys: pytest.CaptureFixture[str], sort: str, names: str) -> None:
    """A time by its column or its field, a count as a number, and a severity by how bad it is; what isn't known comes last."""
    assert shown(capsys, output="name", sort=sort).split() == [*names, "c\x1b[31m"]


def test_a_field_that_is_none_is_said_before_anything_is_asked() -> None:
    with pytest.raises(SettingsError, match="unknown field 'size'") as caught:
        show(Settings(sort="size"), FIELDS, lambda: pytest.fail("asked"))
    assert "name, version, count" in str(caught.value.hint)


def test_what_is_not_listed_is_said_beside_the_data(capsys: pytest.CaptureFixture[str]) -> None:
    assert printed(capsys, {"left_out": ["2 suppressed"]}, output="name", limit=2) == (
        "b\na\n",
        "1 more; raise --limit to see them\n2 suppressed\n",
    )
    assert printed(capsys, output="name", limit=3)[1] == ""


@pytest.mark.parametrize("cell", ["=1+1", "+1", "-1", "@SUM(A1)", " =1", "\t=1"])
def test_f36_a_cell_of_csv_is_no_formula_and_begins_no_row(cell: str) -> None:
    line = csv_line([cell, f"a\r{cell}", -1, 2.5, None, "a,b"])
    assert list(csv.reader(io.StringIO(line, newline=""))) == [[f"'{cell}", f"a\r{cell}", "-1", "2.5", "", "a,b"]]


@pytest.mark.parametrize("output", ["json", "csv", "name"])
def test_what_ends_cannot_be_watched(output: Any) -> None:
    with pytest.raises(SettingsError, match="--watch never ends"):
        show(Settings(output=output, watch=True), FIELDS, listed)


WATCHED = """
from clientscope.report import listing
from rich.text import Text
import sys
sys.path.insert(0, "tests/pure/clientscope/report")
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
    piped = subprocess.run([sys.executable, "-c", WATCHED], check=True, capture_output=True, text=True, timeout=60)
    assert [json.loads(line) for line in piped.stdout.splitlines()] == ROWS * 2
    mine, terminal = pty.openpty()
    on_terminal = subprocess.Popen([sys.executable, "-c", WATCHED], stdout=terminal, env={**os.environ, "TERM": "xterm"})
    os.close(terminal)
    shown = b""
    try:
        while part := os.read(mine, 65_536):
            shown += part
    except OSError:  # how Linux says that the other side is closed
        pass
    assert on_terminal.wait(60) == 0
    assert b"3 rows" in shown and b"{" not in shown
    assert b"\x1b[?1049h" in shown, "the alternate screen"
