"""Text, tables and progress on a terminal."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn
from rich.table import Table
from rich.text import Text

from clientscope.model.setting import Redaction


def plain(text: str, style: str = "") -> Text:
    """What others chose, as it is: never as markup or control characters."""
    return Text("".join(character if character.isprintable() else "�" for character in text), style)


def table(headings: Iterable[str], *, folds: Container[str] = (), right: Container[str] = ()) -> Table:
    """A table without rows yet, as all commands print them.

    Args:
        folds: columns that take several lines where a terminal is narrow; others stay whole.
        right: columns of numbers.
    """
    view = Table(header_style="bold", box=None, pad_edge=False)
    for heading in headings:
        view.add_column(heading, overflow="fold", no_wrap=heading not in folds, justify="right" if heading in right else "left")
    return view


def grid(pairs: Iterable[tuple[str | Text, str | Text]]) -> Table:
    """Pairs of a name and a text, which may be what others chose."""
    made = Table.grid(padding=(0, 2))
    made.add_column(no_wrap=True, style="dim")
    made.add_column(overflow="fold")
    for name, text in pairs:
        made.add_row(name, plain(text) if isinstance(text, str) else text)
    return made


def redacted(why: Redaction) -> str:
    """A value that was withheld: ``redacted (key infix, 90 bytes, digest abab…)``."""
    known = [why.reason.replace("_", " "), f"{why.length} bytes"]
    if why.digest:
        known.append(f"digest {why.digest[:16]}…")
    return f"redacted ({', '.join(known)})"


def ids(numbers: Iterable[int]) -> str:
    """Broker ids: ``1``, ``1 and 2``, ``1–3 and 7``; three or more in a row are a range."""
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and runs[-1][-1] == number - 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    parts = [part for run in runs for part in ([f"{run[0]}–{run[-1]}"] if len(run) > 2 else map(str, run))]
    return " and ".join([", ".join(parts[:-1]), parts[-1]]) if len(parts) > 1 else "".join(parts)


def brokers(numbers: Iterable[int]) -> str:
    """``broker 1``, ``brokers 1–3``."""
    listed = list(numbers)
    return f"broker{'s' * (len(listed) != 1)} {ids(listed)}"


def capitalized(text: str) -> str:
    """A sentence's first letter, and the rest as it is."""
    return text[:1].upper() + text[1:]


def counted(number: int, noun: str, many: str = "") -> str:
    """``1 file``, ``2 files``, ``1,200 kinds of software``."""
    return f"{number:,} {noun if number == 1 else many or noun + 's'}"


def age(seconds: float) -> str:
    """``42 s``, ``7 min``, ``3 h``, ``2 d``."""
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds // size:.0f} {unit}"
    return f"{max(seconds, 0):.0f} s"


def time_of(ms: int) -> str:
    """ISO 8601, in UTC, to the second."""
    try:
        return datetime.fromtimestamp(ms / 1000, UTC).isoformat(timespec="seconds")
    except (OverflowError, ValueError, OSError):  # a clock of somebody else's
        return f"{ms} ms"


_STEP = 1024 * 1024
"""Bytes after which the bar moves."""


@contextmanager
def progress(paths: Iterable[Path | None], console: Console | None = None) -> Iterator[Callable[[int], None]]:
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
