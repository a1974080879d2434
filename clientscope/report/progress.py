"""Progress bar for reading logs, on a terminal's standard error."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

_STEP = 1024 * 1024
"""Bytes after which the bar moves."""


@contextmanager
def reading(paths: Iterable[Path | None], console: Console | None = None) -> Iterator[Callable[[int], None]]:
    """A function that takes how many bytes were read; the bar is gone at the end, and never there where standard error is no terminal.

    Args:
        paths: logs that will be read; None is standard input, whose size isn't known, and that of ``*.gz`` isn't either.
        console: standard error by default.
    """
    console = console or Console(stderr=True)
    if not console.is_terminal:
        yield lambda size: None
        return
    columns = (TextColumn("reading"), BarColumn(), DownloadColumn(binary_units=True), TransferSpeedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("", total=_size(paths))
        pending = 0

        def read(size: int) -> None:
            nonlocal pending
            pending += size
            if pending >= _STEP:
                progress.advance(task, pending)
                pending = 0

        yield read


def _size(paths: Iterable[Path | None]) -> int | None:
    listed = list(paths)
    try:
        return None if None in listed else sum(path.stat().st_size for path in listed if path is not None and path.suffix != ".gz")
    except OSError:
        return None
