"""The progress bar of commands that read logs."""

from __future__ import annotations

import io
from pathlib import Path

from rich.console import Console

from clientscope.logs import files
from clientscope.report.text import progress


def test_the_bar_moves_with_the_bytes_and_is_gone_at_the_end(tmp_path: Path) -> None:
    log = tmp_path / "a.log"
    log.write_bytes(b"x" * 1_023 * 1_024 + b"\n" + b"line\n" * 400_000)
    shown = io.StringIO()
    console = Console(file=shown, force_terminal=True, width=100)
    with progress([log], console) as read:
        assert sum(1 for _ in files.lines(log, read)) == 400_001
    text = shown.getvalue()
    assert "2.9 MiB" in text or "2.9/2.9" in text
    assert text.endswith("\x1b[2K")
    piped = io.StringIO()
    with progress([log, None], Console(file=piped, force_terminal=False)) as read:
        read(5_000_000)
    assert piped.getvalue() == "", "without a terminal"
