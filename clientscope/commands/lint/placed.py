"""A setting of a file with its place, and from positions in a text to lines and columns."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from datetime import date
from typing import Any, NamedTuple

MAX_SETTINGS = 10_000
"""More of them are no client's configuration."""
MAX_LEVELS = 32
LINE_END = re.compile(r"\r\n|\r|\n")
"""What ends a line, for Java and editors; Python's ``splitlines`` knows others."""

_SURROGATES = re.compile("[\ud800-\udfff]")

TOO_MANY = f"it has more than {MAX_SETTINGS} settings"
TOO_DEEP = "it has too many levels"


class Region(NamedTuple):
    """The place of a value: lines and columns from 1, in characters; the end is after its last one."""

    line: int
    column: int
    end_line: int
    end_column: int


class Placed(NamedTuple):
    """One setting.

    Attributes:
        name: as it is written, levels joined by dots.
        value: as text; None unless it is a text, a number or a list of those.
        region: of the value.
        line: of its name.
        shared: it comes from a YAML merge key, so settings beside it override it.
        bare: a line has nothing but its name, which may be a name and a value with nothing between.
        is_default: the client library's default, printed along with other settings, as in a client's log.
    """

    name: str
    value: str | None
    region: Region
    line: int
    shared: bool = False
    is_default: bool = False
    bare: bool = False


def on_line(name: str, value: str, line: int, start: int) -> Placed:
    """A setting whose value begins at a position of a line."""
    return Placed(name, value, Region(line, start + 1, line, start + 1 + len(value)), line)


class Malformed(ValueError):
    """Where the content isn't what it should be, without a word of it."""


class LineStarts:
    """From positions in a text to lines and columns.

    Attributes:
        text: the whole.
        starts: of its lines.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.starts = [0, *(match.end() for match in LINE_END.finditer(text))]

    def at(self, position: int) -> tuple[int, int]:
        """Line and column, from 1."""
        line = bisect_right(self.starts, position)
        return line, position - self.starts[line - 1] + 1

    def region(self, start: int, stop: int) -> Region:
        """From one position to another."""
        return Region(*self.at(start), *self.at(stop))


def as_seen(lines: LineStarts, region: Region) -> Region:
    """Columns as an editor counts them, which reads UTF-8, of a region that counts bytes.

    Args:
        lines: of the file's bytes as ISO-8859-1, in which each is a character.
    """

    def column(line: int, column: int) -> int:
        start = lines.starts[line - 1]
        return len(lines.text[start : start + column - 1].encode("iso-8859-1").decode("utf-8", "replace")) + 1

    return Region(region.line, column(region.line, region.column), region.end_line, column(region.end_line, region.end_column))


def as_text(value: Any) -> str | None:
    """A value as Kafka writes it; None where it is no text, number or list of them."""
    text: str | None = None
    if isinstance(value, bool):
        text = "true" if value else "false"
    elif isinstance(value, float) and value.is_integer():
        text = str(int(value))
    elif isinstance(value, str | int | float):
        text = str(value)
    elif isinstance(value, date):
        text = value.isoformat()
    elif isinstance(value, list) and all(isinstance(item, str | int | float) for item in value):
        text = ",".join(as_text(item) or "" for item in value)
    return text


def clean(text: str) -> str:
    """Without lone surrogates, which JSON and properties can write and UTF-8 can't; the same object where there are none."""
    return _SURROGATES.sub("?", text) if _SURROGATES.search(text) else text


_PROPERTY = re.compile(r"[ \t]*([\w.-]+)[ \t]*[=:][ \t]*([^\r\n]*)")


def embedded(lines: LineStarts, start: int, stop: int, prefix: str) -> Iterator[Placed]:
    """The properties in a text of several lines within a file, such as one that a container gets."""
    while start < stop:
        line = LINE_END.search(lines.text, start)
        end = min(line.start() if line else stop, stop)
        if match := _PROPERTY.fullmatch(lines.text, start, end):
            region = lines.region(*match.span(2))
            yield Placed(prefix + match[1], match[2], region, region.line)
        start = line.end() if line else stop
