"""Outputs of commands as texts that a reviewer reads: each lies in the folder ``golden`` beside its test.

``GOLDEN=write pytest …`` writes them anew; read what git then shows as changed. Tables of cases lie beside them, in the folder ``cases``.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable
from pathlib import Path

from command_runs import Run


def is_golden(text: str, test: str, name: str) -> bool:
    """Whether this is the text of that name beside a test's ``__file__``."""
    path = Path(test).parent / "golden" / name
    if os.environ.get("GOLDEN") == "write":
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    assert text == path.read_text()
    return True


def session(run: Run, lines: Iterable[str]) -> str:
    """What a user sees who runs these, and the statuses that aren't 0; lines without the spaces at their end."""
    text = ""
    for line in lines:
        status, out, err = run(*shlex.split(line))
        printed = "".join(f"{each.rstrip()}\n" for each in (out + err).splitlines())
        text += f"$ {line}\n{printed}" + (f"[status {status}]\n" if status else "") + "\n"
    return text


def asked(test: str, name: str) -> list[str]:
    """The lines of the session of that name beside a test's ``__file__``: whoever adds one writes ``$`` and the line into the text."""
    return [line[2:] for line in (Path(test).parent / "golden" / name).read_text().splitlines() if line.startswith("$ ")]


def cases(test: str, name: str) -> list[list[str]]:
    """The table of that name beside a test's ``__file__``: its rows' cells, which ``|`` separates; a line with ``#`` first is a remark."""
    lines = (Path(test).parent / "cases" / name).read_text().splitlines()
    return [[cell.strip() for cell in line.split("|")] for line in lines if line and not line.startswith("#")]


def as_bytes(cell: str) -> bytes:
    """The bytes that a table writes as Python does; with ``*`` and a number behind them so often."""
    one, star, times = cell.encode().decode("unicode_escape").encode("latin-1").rpartition(b"*")
    return one * int(times) if star else times


def texts(test: str, name: str) -> list[list[str]]:
    """The same of longer cases: a line with ``%%`` first has the cells, and what is below it up to the next such line is the last one."""
    found = (Path(test).parent / "cases" / name).read_text().split("%% ")[1:]
    return [[*map(str.strip, head.split("|")), text] for head, _, text in (each.partition("\n") for each in found)]
