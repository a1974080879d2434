"""The output: the summary is one line for each result that isn't well, and nothing in it ends its block."""

from __future__ import annotations

import io
import json

from rich.console import Console

from clientscope.commands.doctor.result import Outcome, not_checked, ok, problem, warning
from clientscope.commands.doctor.shown import as_json, block, counted, print_end, summary, worst

HOSTILE = "client ```\n[red]x[/red]\x1b[31m"
RESULTS = [
    ("a", [ok("1"), ok("2")]),
    ("b", [ok("3"), warning(HOSTILE, "do"), problem("bad", "fix", "run 'it'")]),
    ("c", [not_checked("why")]),
]


def test_summary() -> None:
    lines = summary({"Java": "17"}, RESULTS)
    assert lines == [
        "Java: 17", "a: ok", "b: 1 ok", "b: warning: client '''�[red]x[/red]�[31m", "b: problem: bad", "c: not checked: why",
    ]  # fmt: skip
    assert counted(RESULTS) == "1 problem, 1 warning, 1 not checked, 3 ok"


def test_worst() -> None:
    assert worst(RESULTS) is Outcome.PROBLEM
    assert worst([("b", [ok("x"), warning("y"), not_checked("z")])]) is Outcome.WARNING
    assert worst([]) is Outcome.OK


def test_json() -> None:
    read = json.loads(as_json({"Java": "17"}, RESULTS))
    assert read["worst"] == "problem" and read["versions"] == {"Java": "17"}
    assert read["results"][4] == {"check": "b", "outcome": "problem", "text": "bad", "remedy": "fix", "command": "run 'it'"}


def test_on_a_terminal_of_80_columns() -> None:
    out = io.StringIO()
    console = Console(file=out, width=80, no_color=True, highlight=False)
    console.print(block(*RESULTS[1]))
    assert [line.rstrip() for line in out.getvalue().splitlines()] == [
        "b             ok           3",
        "              warning      client ```�[red]x[/red]�[31m",
        "                           → do",
        "              problem      bad",
        "                           → fix",
        "                             $ run 'it'",
    ]
    print_end(console, {"Java": "x" * 100}, RESULTS)
    assert f"\nJava: {'x' * 100}\n" in out.getvalue(), "lines to be copied are not folded"
    assert "\x1b" not in out.getvalue()
