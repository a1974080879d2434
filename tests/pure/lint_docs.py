"""The examples in docs/lint.md, run by the real command.  ``python tests/pure/lint_docs.py`` writes their output anew."""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import sys
import tempfile
from pathlib import Path

DOCS = Path(__file__).parent.parent.parent / "docs" / "lint.md"
_FILE = re.compile(r"^```properties\n(# (\S+)\n.*?)^```$", re.MULTILINE | re.DOTALL)
_CONSOLE = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def rendered(text: str, folder: Path) -> str:
    """The text with what its commands print, run in a folder with its files; `sys.stdout` is taken meanwhile."""
    for file in _FILE.finditer(text):
        (folder / file[2]).write_text(file[1])
    before = Path.cwd()
    os.chdir(folder)
    try:
        return _CONSOLE.sub(lambda block: f"```console\n{_session(block[1])}```", text)
    finally:
        os.chdir(before)


def _session(block: str) -> str:
    from clientscope import cli

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
    with tempfile.TemporaryDirectory() as made:
        DOCS.write_text(rendered(DOCS.read_text(), Path(made)))
    sys.exit()
