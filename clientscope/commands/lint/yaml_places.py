"""Settings of YAML, each with its place: of nested levels, of lists, of several documents, and of lists of environment variables.

Names have levels joined by dots, items of lists by their number (``clusters[0].config``), and documents after the first one by theirs
(``[1].spec``). Variables of a container (``- ACKS=all``, or ``- name: ACKS`` with ``value: all``) have their own names instead.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import yaml

from clientscope.commands.lint.located import (
    MAX_LEVELS,
    MAX_SETTINGS,
    NO_SETTINGS,
    TOO_DEEP,
    TOO_MANY,
    LineStarts,
    Malformed,
    Placed,
    as_text,
    clean,
)

# libyaml's, where PyYAML was built with it, is ten times as fast.
_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_MERGE = "tag:yaml.org,2002:merge"
_MOST_VISITS = 3 * MAX_SETTINGS
"""Of nodes: a setting has a mapping or a list around it."""
_VARIABLE = re.compile(r"[A-Z][A-Z0-9_]*", re.ASCII)
_ASSIGNED = re.compile(r"([\"']?)([A-Z][A-Z0-9_]*)=([^\r\n]*)\1", re.ASCII)


def settings(content: bytes) -> Iterator[Placed]:
    """The settings in the file's order; those that have no value (null) are left out.

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
            yield from walk.document(loader.get_node(), number)
            number += 1
        if not walk.found:
            raise Malformed(NO_SETTINGS)
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
    """Settings of composed documents. Aliases are followed, each time anew, so what is visited is counted.

    Attributes:
        found: whether a document was a mapping.
    """

    def __init__(self, loader: Any, lines: LineStarts) -> None:
        self.found = False
        self._loader = loader
        self._lines = lines
        self._visits = 0

    def document(self, root: Any, number: int) -> Iterator[Placed]:
        """Those of one document; one that is no mapping has none."""
        self._visited()
        if isinstance(root, yaml.MappingNode):
            self.found = True
            yield from self._mapping(root, f"[{number}]." if number else "", 0, False)

    def _mapping(self, node: Any, prefix: str, level: int, shared: bool) -> Iterator[Placed]:
        self._visited()
        if level > MAX_LEVELS:
            raise Malformed(TOO_DEEP)
        # Merged settings come first, since the mapping's own settings override them.
        for key, value in node.value:
            if key.tag == _MERGE:
                for merged in value.value if isinstance(value, yaml.SequenceNode) else [value]:
                    if isinstance(merged, yaml.MappingNode):
                        yield from self._mapping(merged, prefix, level + 1, True)
        for key, value in node.value:
            self._visited()
            if not isinstance(key, yaml.ScalarNode) or key.tag == _MERGE:
                continue
            name = prefix + str(self._loader.construct_object(key))
            if isinstance(value, yaml.MappingNode):
                yield from self._mapping(value, f"{name}.", level + 1, shared)
                continue
            text = self._value(value)
            if text is not None or isinstance(value, yaml.SequenceNode):
                yield self._placed(name, text, key.start_mark.index, value.start_mark.index, value.end_mark.index, shared)
            if isinstance(value, yaml.SequenceNode):
                yield from self._items(value, name, level + 1, shared)

    def _items(self, node: Any, name: str, level: int, shared: bool) -> Iterator[Placed]:
        """What is below a list: variables by their names, and mappings by their places."""
        for number, item in enumerate(node.value):
            self._visited()
            if isinstance(item, yaml.MappingNode):
                if (variable := self._variable(item)) is None:
                    yield from self._mapping(item, f"{name}[{number}].", level, shared)
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
        name, value = parts.get("name"), parts.get("value")
        is_variable = isinstance(name, yaml.ScalarNode) and isinstance(value, yaml.ScalarNode) and _VARIABLE.fullmatch(name.value)
        return (name, value) if is_variable else None

    def _value(self, node: Any) -> str | None:
        if isinstance(node, yaml.SequenceNode):
            if not all(isinstance(item, yaml.ScalarNode) for item in node.value):
                return None
            return as_text([self._loader.construct_object(item) for item in node.value])
        return as_text(self._loader.construct_object(node))

    def _placed(self, name: str, text: str | None, begin: int, start: int, stop: int, shared: bool) -> Placed:
        # LineStarts by their index: YAML ends them at U+2028 and others too, where no editor does.
        region, line = self._lines.region(start, stop), self._lines.at(begin)[0]
        source = self._lines.text[begin:stop] if line == region.end_line else ""
        return Placed(clean(name), text, region, source, line, shared)

    def _visited(self) -> None:
        self._visits += 1
        if self._visits > _MOST_VISITS:
            raise Malformed(TOO_MANY)
