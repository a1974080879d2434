"""Reader of log files of any size, one line in memory at a time."""

from __future__ import annotations

import glob
import gzip
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import IO

from clientscope.errors import SettingsError

STDIN = "-"
MAX_LINE = 256 * 1024
"""Bytes; the rest of a longer line is passed over. A JSON object with all settings of a client has some 10,000."""


def find(given: Iterable[str]) -> list[Path | None]:
    """The logs that are meant, each once; None is the standard input.

    Raises:
        SettingsError: nothing is there.
    """
    found: dict[Path | None, None] = {}
    for text in given:
        if text == STDIN:
            found[None] = None
            continue
        path = Path(text)
        if path.is_dir():
            inside = sorted(each for each in path.glob("*.log*") if each.is_file())
        elif path.exists():
            inside = [path]
        else:
            inside = sorted(Path(each) for each in glob.glob(text, recursive=True) if Path(each).is_file())  # noqa: PTH207  # may be absolute
        if not inside:
            raise SettingsError(f"no log in {text!r}", "give files, globs, directories (*.log*), or - for standard input")
        found.update(dict.fromkeys(inside))
    return list(found)


def shown(path: Path | None) -> str:
    """The log's name, for people."""
    return "<stdin>" if path is None else path.as_posix()


def lines(path: Path | None, read: Callable[[int], object] = lambda size: None) -> Iterator[str]:
    """Its lines, without their ends.

    Args:
        read: called with the bytes of each line, those that are passed over included.

    Raises:
        SettingsError: it can't be read.
    """
    if path is None:
        yield from _lines(sys.stdin.buffer, read)
        return
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            yield from _lines(file, read)  # type: ignore[arg-type]
    except (OSError, EOFError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or "it ends within its compressed data, or isn't gzip"
        raise SettingsError(f"{path}: {reason}", "what was read before is in the result") from None


def _lines(file: IO[bytes], read: Callable[[int], object]) -> Iterator[str]:
    while line := file.readline(MAX_LINE):
        read(len(line))
        yield line.rstrip(b"\r\n").decode(errors="replace")
        while len(line) == MAX_LINE and not line.endswith(b"\n"):
            line = file.readline(MAX_LINE)
            read(len(line))
