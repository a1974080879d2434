"""Reader of log files of any size, one line in memory at a time."""

from __future__ import annotations

import glob
import gzip
import os
import select
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
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
        read: called with how many bytes were read, again and again.

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
    split = Lines()
    while chunk := file.read1(_MOST_AT_ONCE):  # type: ignore[attr-defined]  # all that are buffered have it
        read(len(chunk))
        yield from split.feed(chunk)
    yield from split.end()


# Lines that are written to a log while one looks: files that grow, standard input, and other pipes.

_EVERY_S = 0.05
_MOST_AT_ONCE = 256 * 1024


class Lines:
    """Bytes → lines without their ends; the rest of a line beyond `MAX_LINE` is passed over."""

    def __init__(self) -> None:
        self._part = b""
        self._passing_over = False

    def feed(self, chunk: bytes) -> Iterator[str]:
        """Takes bytes, and gives the lines that are complete."""
        *whole, self._part = (self._part + chunk).split(b"\n")
        for line in whole:
            if not self._passing_over:
                yield line[:MAX_LINE].rstrip(b"\r").decode(errors="replace")
            self._passing_over = False
        if len(self._part) > MAX_LINE:
            if not self._passing_over:
                yield self._part[:MAX_LINE].decode(errors="replace")
            self._part, self._passing_over = b"", True

    def end(self) -> Iterator[str]:
        """Gives the last line, which nothing ends."""
        return self.feed(b"\n" if self._part else b"")


class Followed:
    """What is followed, from now on; ``name`` is for people.

    Attributes:
        ended: nothing can come any more.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.ended = False
        self._lines = Lines()

    def read(self) -> Iterator[str]:
        """The lines that have come; doesn't wait."""
        while chunk := self._chunk():
            yield from self._lines.feed(chunk)

    def _chunk(self) -> bytes:
        raise NotImplementedError


class FollowedFile(Followed):
    """A file from its end on; where another one takes its place, that from its beginning on."""

    def __init__(self, path: Path, stack: ExitStack) -> None:
        """
        Raises:
            SettingsError: it can't be read.
        """
        super().__init__(path.as_posix())
        self._path = path
        try:
            self._file: IO[bytes] = path.open("rb")  # others take its place
        except OSError as error:
            raise SettingsError(f"{path}: {error.strerror}", "give logs that this user may read") from None
        stack.callback(self._close)
        self._file.seek(0, os.SEEK_END)

    def _close(self) -> None:
        self._file.close()

    def _chunk(self) -> bytes:
        if chunk := self._file.read(_MOST_AT_ONCE):
            return chunk
        mine = os.fstat(self._file.fileno())
        try:
            there = self._path.stat()
            if (there.st_ino, there.st_dev) != (mine.st_ino, mine.st_dev):
                replaced, self._file = self._file, self._path.open("rb")
                replaced.close()
        except OSError:  # it is being rotated
            return b""
        if there.st_size < self._file.tell():
            self._file.seek(0)
        return self._file.read(_MOST_AT_ONCE)


class FollowedPipe(Followed):
    """Standard input, or a command's output."""

    def __init__(self, name: str, descriptor: int) -> None:
        super().__init__(name)
        self._descriptor = descriptor

    def _chunk(self) -> bytes:
        if self.ended or not select.select([self._descriptor], [], [], 0)[0]:
            return b""
        chunk = os.read(self._descriptor, _MOST_AT_ONCE)
        self.ended = not chunk
        return chunk


def follow(followed: list[Followed], until: float) -> Iterator[tuple[Followed, str]]:
    """All lines that come until then (``time.monotonic``), each with where it came from."""
    while True:
        over = time.monotonic() >= until
        for each in followed:
            for line in each.read():
                yield each, line
                if time.monotonic() >= until + 1.0:  # a log that grows faster than it is read has no end
                    return
        if over:
            return
        time.sleep(_EVERY_S)
