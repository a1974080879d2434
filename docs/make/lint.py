"""Writes the tables of docs/lint.md, and what its examples print, run by the real command.

``python docs/make/lint.py``; a test compares.
"""

from __future__ import annotations

import contextlib
import io
import re
import shlex
import tempfile
from pathlib import Path

from clientscope import cli
from clientscope.catalog.frameworks import frameworks
from clientscope.logs.events import EVENTS

FILE = Path(__file__).resolve().parents[1] / "lint.md"
_FILE = re.compile(r"^```properties\n(# (\S+)\n.*?)^```$", re.MULTILINE | re.DOTALL)
_TABLE = re.compile(r"(?<=^<!-- frameworks -->\n)(?:\|.*\n)*", re.MULTILINE)
_EVENTS = re.compile(r"(?<=^<!-- events -->\n)(?:\|.*\n)*", re.MULTILINE)
_PLAINER = (
    (r"\(\?![^)]*\)", ""), (r"\(\?=([\w\\.]+)\$\)$", r"\1"),
    (r"\(\?=.*\)$", "Name"), (r"\(\?:%\[\\w-\]\+\\\.\)\?", ""), (r"\(\?:\[[^)]*\]\+\\\.\)\*", "…."), (r"\[\\w-\]\+", "NAME"),
    (r"\\d\+", "N"), (r"\(\?:((?:[^()]|\([^()]*\)\??)*)\)\?", r"[\1]"), (r"\(\?:", "("), (r"\\(.)", r"\1"),
)  # fmt: skip
"""From a regular expression of the table to what people read."""
_CONSOLE = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def page(text: str) -> str:
    """The page with its tables as the code has them, and with what its commands print in a folder with its files."""
    text = _TABLE.sub(lambda _: table(), text)
    text = _EVENTS.sub(lambda _: events(), text)
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for file in _FILE.finditer(text):
            Path(file[2]).write_text(file[1])
        return _CONSOLE.sub(lambda block: f"```console\n{_session(block[1])}```", text)


def table() -> str:
    """The frameworks whose files are read, as rows of Markdown."""
    rows = ["| framework | library | client | prefixes |", "|---|---|---|---|"]
    for each in frameworks():
        name = f"[{each.name}]({each.source.split()[0]})"
        for role in dict.fromkeys(role for roles in each.prefixes.values() for role in roles):
            prefixes = [prefix for roles in each.prefixes.values() for prefix in roles.get(role, ())]
            listed = ", ".join(f"`{_plainer(prefix)}`" for prefix in prefixes)
            rows.append(f"| {name} | {each.library} | {role} | {listed} |")
            name = ""
    return "".join(f"{row}\n" for row in rows)


def events() -> str:
    """What happens to clients, by their logs and by brokers', as rows of Markdown."""
    rows = ["| code | severity | event | what it means | do instead |", "|---|---|---|---|---|"]
    for each in EVENTS:
        rows.append(f"| [{each.code}]({each.source}) | {each.severity} | {each.message} | {each.why} | {each.use_instead} |")
    return "".join(f"{row}\n" for row in rows)


def _plainer(prefix: str) -> str:
    for pattern, text in _PLAINER:
        prefix = re.sub(pattern, text, prefix)
    return prefix.replace("|", "/") + "…" * (not prefix.endswith(("Name", "factor", "FACTOR")))


def _session(block: str) -> str:
    said, status = "", 0
    for line in block.splitlines():
        if not line.startswith("$ "):
            continue
        said += f"{line}\n"
        if line == "$ echo $?":
            said += f"{status}\n"
            continue
        out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
        with contextlib.redirect_stdout(out):
            status = cli.main(shlex.split(line)[2:])
            out.flush()
        printed = out.buffer.getvalue().decode()  # type: ignore[attr-defined]
        said += re.sub(r"\b[0-9a-f]{32}\b", "…", printed)
    return said


if __name__ == "__main__":
    FILE.write_text(page(FILE.read_text()))
