"""Settings of a file, each with its place: Java properties, JSON or YAML.

An error in a file names the line; its content is never quoted, since it may be a password. Files may come from anybody's pull request, so
levels and settings are bounded.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable, Iterator
from json.decoder import scanstring  # type: ignore[attr-defined]

import javaproperties

from clientscope.commands.lint import yaml_places
from clientscope.commands.lint.located import (
    LINE_END,
    MAX_LEVELS,
    MAX_SETTINGS,
    NO_SETTINGS,
    TOO_DEEP,
    TOO_MANY,
    LineStarts,
    Malformed,
    Placed,
    Region,
    as_text,
    clean,
)
from clientscope.errors import SettingsError

MAX_LINES = 1000
"""LineStarts of one setting in a properties file."""
MAX_TEXT = 4 << 20
"""Characters of all names and values: levels repeat names, and aliases repeat values, so there can be more than in the file."""

_GAP = r"(?:[ \t\f]|\\(?:\r\n|\r|\n))*"
_PROPERTY = re.compile(rf"[ \t\f]*(?:[^ \t\f=:\\\r\n]|\\(?:\r\n|[\s\S]))*{_GAP}(?:[=:]{_GAP})?")
_BLANK = re.compile(r"[ \t\n\r]*")


def read(shown: str, content: bytes, file_format: str) -> list[Placed]:
    """The settings in the file's order, repeated ones included; those that have no value (null) are left out.

    Args:
        shown: the file's name, for an error.
        file_format: ``properties``, ``json`` or ``yaml``.

    Raises:
        SettingsError: the content isn't of that format, or is too much.
    """
    try:
        return list(_bounded(_PARSERS[file_format](content)))
    except (Malformed, UnicodeDecodeError, RecursionError) as error:
        where = str(error) if isinstance(error, Malformed) else "it isn't UTF-8" if isinstance(error, UnicodeDecodeError) else TOO_DEEP
        raise SettingsError(f"{shown} is not {_NAMES[file_format]}: {where}", _HINT) from None


def _bounded(settings: Iterator[Placed]) -> Iterator[Placed]:
    size = 0
    for number, each in enumerate(settings):
        size += len(each.name) + len(each.value or "")
        if number >= MAX_SETTINGS:
            raise Malformed(TOO_MANY)
        if size > MAX_TEXT:
            raise Malformed(f"its names and values have more than {MAX_TEXT} characters")
        yield each


def _properties(content: bytes) -> Iterator[Placed]:
    # As java.util.Properties.load reads a stream, in ISO-8859-1: that is how Kafka's own clients and tools come by their files.
    text = content.decode("iso-8859-1")
    lines = LineStarts(text)
    _check_continued(text)
    position = 0
    try:
        for element in javaproperties.parse(io.StringIO(text)):
            source = element.source
            if isinstance(element, javaproperties.KeyValue):
                body = source.rstrip("\r\n")
                found = _PROPERTY.match(body)
                value_at = found.end() if found else len(body)
                start = len(body) - len(body.lstrip(" \t\f"))
                region = _as_seen(text, lines, lines.region(position + value_at, position + len(body)))
                line = lines.at(position + start)[0]
                yield Placed(clean(element.key), clean(element.value), region, _utf8(body[start:]), line)
            position += len(source)
    except javaproperties.InvalidUEscapeError:
        raise Malformed("it has a \\u that four hexadecimal digits don't follow") from None


def _check_continued(text: str) -> None:
    """javaproperties takes time that grows with the square of a setting's lines; a chain of certificates has some hundred."""
    continued = 0
    for line in LINE_END.split(text):
        continued = continued + 1 if (len(line) - len(line.rstrip("\\"))) % 2 else 0
        if continued > MAX_LINES:
            raise Malformed(f"a setting has more than {MAX_LINES} lines")


def _as_seen(text: str, lines: LineStarts, region: Region) -> Region:
    """Columns as an editor counts them, which reads UTF-8 where Java reads ISO-8859-1."""

    def column(line: int, column: int) -> int:
        start = lines.starts[line - 1]
        return len(_utf8(text[start : start + column - 1])) + 1

    return Region(region.line, column(region.line, region.column), region.end_line, column(region.end_line, region.end_column))


def _utf8(text: str) -> str:
    return text.encode("iso-8859-1").decode("utf-8", "replace")


def _json(content: bytes) -> Iterator[Placed]:
    try:
        loaded = json.loads(content)
    except json.JSONDecodeError as error:
        raise Malformed(f"line {error.lineno}, column {error.colno}: {error.msg}") from None
    except ValueError:
        raise Malformed("it has a number of too many digits") from None
    if not isinstance(loaded, dict):
        raise Malformed(NO_SETTINGS)
    text = content.decode(json.detect_encoding(content))
    yield from _JsonScanner(text).object(_skip(text, 0), "", 0)


class _JsonScanner:
    """Members of an object, one after the other, with their places; the text is known to be JSON."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._lines = LineStarts(text)
        self._decoder = json.JSONDecoder()
        self._end = 0

    def object(self, position: int, prefix: str, level: int) -> Iterator[Placed]:
        if level > MAX_LEVELS:
            raise Malformed(TOO_DEEP)
        text = self._text
        position = _skip(text, position + 1)
        while text[position] != "}":
            start = position
            key, position = scanstring(text, position + 1, True)
            position = _skip(text, _skip(text, position) + 1)
            name = prefix + key
            if text[position] == "{":
                yield from self.object(position, f"{name}.", level + 1)
                position = self._end
            else:
                value_at = position
                value, position = self._decoder.raw_decode(text, position)
                if value is not None:
                    region = self._lines.region(value_at, position)
                    yield Placed(clean(name), as_text(value), region, text[start:position], self._lines.at(start)[0])
            position = _skip(text, position)
            if text[position] == ",":
                position = _skip(text, position + 1)
        self._end = position + 1


def _skip(text: str, position: int) -> int:
    found = _BLANK.match(text, position)
    return found.end() if found else position


_HINT = "set --format if the suffix names another format"
_PARSERS: dict[str, Callable[[bytes], Iterator[Placed]]] = {"properties": _properties, "json": _json, "yaml": yaml_places.settings}
_NAMES = {"properties": "a Java properties file", "json": "JSON", "yaml": "YAML"}
