"""Settings of a file, each with its place: Java properties, JSON, YAML, or blocks of names and values.

An error in a file names the line; its content is never quoted, since it may be a password. Files may come from anybody's pull request, so
levels and settings are bounded.
"""

from __future__ import annotations

import base64
import io
import json
import re
from collections.abc import Callable, Generator, Iterable, Iterator
from json.decoder import scanstring  # type: ignore[attr-defined]
from typing import Any

import javaproperties
import yaml

from clientscope.commands.lint import credentials
from clientscope.commands.lint.blocks import blocks, markup
from clientscope.commands.lint.placed import (
    LINE_END,
    MAX_LEVELS,
    MAX_SETTINGS,
    TOO_DEEP,
    TOO_MANY,
    LineStarts,
    Malformed,
    Placed,
    as_seen,
    as_text,
    clean,
    embedded,
)
from clientscope.commands.lint.python_source import python_settings
from clientscope.errors import SettingsError

# libyaml's, where PyYAML was built with it, is ten times as fast.
_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_MERGE = "tag:yaml.org,2002:merge"
_MOST_VISITS = 3 * MAX_SETTINGS
"""Of nodes: a setting has a mapping or a list around it."""
_VARIABLE = re.compile(r"[A-Z][A-Z0-9_]*", re.ASCII)
_NAME = re.compile(r"[A-Za-z][\w.-]*", re.ASCII)
_ASSIGNED = re.compile(r"([\"']?)([A-Z][A-Z0-9_]*)=([^\r\n]*)\1", re.ASCII)


def yaml_settings(content: bytes) -> Iterator[Placed]:
    """The settings of YAML in the file's order; those that have no value (null) are left out.

    Names have levels joined by dots, items of lists by their number (``clusters[0].config``), and documents after the first one by theirs
    (``[1].spec``). Variables of a container (``- ACKS=all``, or ``- name: ACKS`` with ``value: all``) have their own names instead.

    Raises:
        Malformed: the content isn't YAML, or is too much; never quotes it.
        UnicodeDecodeError: it isn't UTF-8.
    """
    loader = None
    content = content.removeprefix(b"\xef\xbb\xbf")
    try:
        _check_levels(content)
        loader = _Loader(content)
        walk = _Walk(loader, LineStarts(content.decode("utf-8")))
        number = 0
        while loader.check_node():
            root = loader.get_node()
            walk.visited()
            if isinstance(root, yaml.MappingNode):
                yield from walk.mapping(root, f"[{number}]." if number else "", 0, False)
            number += 1
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise Malformed(f"line {mark.line + 1}, column {mark.column + 1}" if mark else "it can't be parsed") from None
    except UnicodeDecodeError:
        raise
    except (yaml.YAMLError, ValueError) as error:
        raise error if isinstance(error, Malformed) else Malformed("it can't be parsed") from None
    finally:
        if loader is not None:
            loader.dispose()


def _check_levels(content: bytes) -> None:
    """libyaml composes by recursion, and many levels would end the process; its events come one by one."""
    level = 0
    for event in yaml.parse(content, _Loader):
        level += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if level > MAX_LEVELS:
            raise Malformed(TOO_DEEP)


class _Walk:
    """Settings of composed documents. Aliases are followed, each time anew, so what is visited is counted."""

    def __init__(self, loader: Any, lines: LineStarts) -> None:
        self._loader = loader
        self._lines = lines
        self._visits = 0

    def mapping(self, node: Any, prefix: str, level: int, shared: bool) -> Iterator[Placed]:
        """Those of a mapping and of what is below it."""
        self.visited()
        if level > MAX_LEVELS:
            raise Malformed(TOO_DEEP)
        # Merged settings come first, since the mapping's own settings override them.
        for key, value in node.value:
            if key.tag == _MERGE:
                for merged in value.value if isinstance(value, yaml.SequenceNode) else [value]:
                    if isinstance(merged, yaml.MappingNode):
                        yield from self.mapping(merged, prefix, level + 1, True)
        for key, value in node.value:
            self.visited()
            if not isinstance(key, yaml.ScalarNode) or key.tag == _MERGE:
                continue
            name = prefix + str(self._loader.construct_object(key))
            if isinstance(value, yaml.MappingNode):
                yield from self.mapping(value, f"{name}.", level + 1, shared)
                continue
            text = self._value(value)
            if text is not None and "\n" in text and name.endswith(".properties"):
                yield from embedded(self._lines, value.start_mark.index, value.end_mark.index, f"{name}.")
                continue
            if text is not None or isinstance(value, yaml.SequenceNode):
                yield self._placed(name, text, key.start_mark.index, value.start_mark.index, value.end_mark.index, shared)
            if isinstance(value, yaml.SequenceNode):
                yield from self._items(value, name, level + 1, shared)

    def _items(self, node: Any, name: str, level: int, shared: bool) -> Iterator[Placed]:
        """What is below a list: variables by their names, and mappings by their places."""
        for number, item in enumerate(node.value):
            self.visited()
            if isinstance(item, yaml.MappingNode):
                if (variable := self._variable(item)) is None:
                    yield from self.mapping(item, f"{name}[{number}].", level, shared)
                    continue
                key, value = variable
                if (text := self._value(value)) is not None:
                    places = value.start_mark.index, value.end_mark.index
                    yield self._placed(f"{name}.{key.value}", text, places[0], *places, shared)
            elif isinstance(item, yaml.ScalarNode):
                start, stop = item.start_mark.index, item.end_mark.index
                if found := _ASSIGNED.fullmatch(self._lines.text, start, stop):
                    yield self._placed(f"{name}.{found[2]}", found[3], found.start(2), *found.span(3), shared)

    def _variable(self, node: Any) -> tuple[Any, Any] | None:
        """Name and value of an item that is a container's variable."""
        parts = {key.value: value for key, value in node.value if isinstance(key, yaml.ScalarNode)}
        name, value = parts.get("name", parts.get("key")), parts.get("value")
        pattern = _NAME if len(parts) == 2 else _VARIABLE  # the two alone may have any name
        is_variable = isinstance(name, yaml.ScalarNode) and isinstance(value, yaml.ScalarNode) and pattern.fullmatch(name.value)
        return (name, value) if is_variable else None

    def _value(self, node: Any) -> str | None:
        if node.tag.startswith("!"):  # a program's own, which fills the value in: ``!Ref``, ``!vault``
            return f"<{node.tag}>"
        if isinstance(node, yaml.SequenceNode):
            if not all(isinstance(item, yaml.ScalarNode) for item in node.value):
                return None
            return as_text([self._loader.construct_object(item) for item in node.value])
        return as_text(self._loader.construct_object(node))

    def _placed(self, name: str, text: str | None, begin: int, start: int, stop: int, shared: bool) -> Placed:
        # LineStarts by their index: YAML ends them at U+2028 and others too, where no editor does.
        return Placed(name, text, self._lines.region(start, stop), self._lines.at(begin)[0], shared)

    def visited(self) -> None:
        """Counts a node, or a document that is none."""
        self._visits += 1
        if self._visits > _MOST_VISITS:
            raise Malformed(TOO_MANY)


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
        file_format: ``properties``, ``json``, ``yaml``, ``text``, ``python`` or ``xml``.

    Raises:
        SettingsError: the content isn't of that format, or is too much.
    """
    try:
        return list(_bounded(_decoded(list(_bounded(_PARSERS[file_format](content))))))
    except (Malformed, UnicodeDecodeError, RecursionError) as error:
        where = str(error) if isinstance(error, Malformed) else "it isn't UTF-8" if isinstance(error, UnicodeDecodeError) else TOO_DEEP
        raise SettingsError(f"{shown} is not {_NAMES[file_format]}: {where}", _HINT) from None


def secrets(placed: Iterable[Placed]) -> list[Placed]:
    """The kinds of the manifests that are Kubernetes' Secrets."""
    return [each for each in placed if each.value == "Secret" and each.name.split(".")[-1] == "kind"]


def _decoded(placed: list[Placed]) -> Iterator[Placed]:
    """The same, with what Secrets have in base64 as its text, once, at the place of that; of a file there the settings, or credentials."""
    prefixes = tuple(f"{each.name.removesuffix('kind')}data." for each in secrets(placed))
    for each in placed:
        text = _from_base64(each.value or "") if each.name.startswith(prefixes) else None
        if text is None:
            yield each
            continue
        inside: Iterable[Placed] = [each._replace(value=text)]
        if "\n" in text:
            is_file = each.name.endswith(".properties")
            inside = embedded(LineStarts(text), 0, len(text), "") if is_file else credentials.in_lines(LINE_END.split(text))
            inside = [found._replace(name=f"{each.name}.{found.name}") for found in inside]
        yield from (found._replace(region=each.region, line=each.line) for found in inside)


def _from_base64(value: str) -> str | None:
    try:
        return base64.b64decode("".join(value.split()), validate=True).decode()
    except ValueError:
        return None


def _bounded(settings: Iterator[Placed]) -> Iterator[Placed]:
    size = 0
    for number, each in enumerate(settings):
        size += len(each.name) + len(each.value or "")
        if number >= MAX_SETTINGS:
            raise Malformed(TOO_MANY)
        if size > MAX_TEXT:
            raise Malformed(f"its names and values have more than {MAX_TEXT} characters")
        yield each._replace(name=clean(each.name), value=each.value and clean(each.value))


def _properties(content: bytes) -> Iterator[Placed]:
    # As java.util.Properties.load reads a stream, in ISO-8859-1: that is how Kafka's own clients and tools come by their files.
    text = content.decode("iso-8859-1")
    lines = LineStarts(text)
    _check_continued(text)
    position = 0
    try:
        for element in javaproperties.parse(io.StringIO(text)):
            if isinstance(element, javaproperties.KeyValue):
                body = element.source.rstrip("\r\n")
                found = _PROPERTY.match(body)
                value_at = found.end() if found else len(body)
                region = as_seen(lines, lines.region(position + value_at, position + len(body)))
                bare = body.strip(" \t\f") == element.key
                yield Placed(element.key, element.value, region, lines.at(position)[0], bare=bare)
            position += len(element.source)
    except javaproperties.InvalidUEscapeError:
        raise Malformed("it has a \\u that four hexadecimal digits don't follow") from None


def _check_continued(text: str) -> None:
    """javaproperties takes time that grows with the square of a setting's lines; a chain of certificates has some hundred."""
    continued = 0
    for line in LINE_END.split(text):
        continued = continued + 1 if (len(line) - len(line.rstrip("\\"))) % 2 else 0
        if continued > MAX_LINES:
            raise Malformed(f"a setting has more than {MAX_LINES} lines")


_TEXT = r'"(?:[^"\\\n]|\\.)*+"?'  # also one that nothing ends, so that none begins within it
_COMMENT, _LAST_COMMA = re.compile(rf"{_TEXT}|//[^\n]*"), re.compile(rf"{_TEXT}|,(?=\s*[}}\]])")
"""What .NET's appsettings.json may have beside JSON; or a text, which may look like it."""


def _blank(found: re.Match[str]) -> str:
    return found[0] if found[0][0] == '"' else " " * len(found[0])


def _json(content: bytes) -> Iterator[Placed]:
    text = content.decode(json.detect_encoding(content))
    plain = _LAST_COMMA.sub(_blank, _COMMENT.sub(_blank, text))
    try:
        loaded = json.loads(plain)
    except json.JSONDecodeError as error:
        raise Malformed(f"line {error.lineno}, column {error.colno}: {error.msg}") from None
    except ValueError:
        raise Malformed("it has a number of too many digits") from None
    if isinstance(loaded, dict):
        yield from _members(LineStarts(plain), _skip(plain, 0), "", 0)


_raw_decode = json.JSONDecoder().raw_decode


def _members(lines: LineStarts, position: int, prefix: str, level: int) -> Generator[Placed, None, int]:
    """The members of the object that begins at a position, each with its place, and where it ends; the text is known to be JSON."""
    if level > MAX_LEVELS:
        raise Malformed(TOO_DEEP)
    text = lines.text
    position = _skip(text, position + 1)
    while text[position] != "}":
        line = lines.at(position)[0]
        key, position = scanstring(text, position + 1, True)
        start = _skip(text, _skip(text, position) + 1)
        if text[start] == "{":
            position = yield from _members(lines, start, f"{prefix}{key}.", level + 1)
        else:
            value, position = _raw_decode(text, start)
            if value is not None:
                yield Placed(prefix + key, as_text(value), lines.region(start, position), line)
        position = _skip(text, position)
        if text[position] == ",":
            position = _skip(text, position + 1)
    return position + 1


def _skip(text: str, position: int) -> int:
    found = _BLANK.match(text, position)
    return found.end() if found else position


_HINT = "set --format if the suffix names another format"
_PARSERS: dict[str, Callable[[bytes], Iterator[Placed]]] = {
    "properties": _properties,
    "json": _json,
    "yaml": yaml_settings,
    "text": blocks,
    "python": python_settings,
    "xml": markup,
}
_NAMES = {"properties": "a Java properties file", "json": "JSON", "yaml": "YAML", "text": "text", "python": "Python's source", "xml": "XML"}
