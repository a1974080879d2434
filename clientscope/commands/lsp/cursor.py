"""What the text before a cursor is a part of: the name of a setting, or the value of one.

By the text alone, since a file that is being written can seldom be parsed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from clientscope.commands.lint.located import MAX_LEVELS

_PROPERTY = re.compile(r"[ \t\f]*(?P<name>[^=:\s#!\\][^=:\s\\]*)?(?:(?P<separator>[ \t]*[=:][ \t]*|[ \t]+)(?P<value>.*))?")
_YAML = re.compile(r"(?P<indent> *)(?P<quote>[\"']?)(?P<name>[\w.%/\[\]-]*)(?:(?P=quote)[ \t]*:[ \t]+[\"']?(?P<value>.*))?")
_YAML_PARENT = re.compile(r"(?P<indent> *)(?P<quote>[\"']?)(?P<name>[\w.%/\[\]-]+)(?P=quote)[ \t]*:[ \t]*(?:#.*)?")
_YAML_VARIABLE = re.compile(r"(?P<indent> *)-[ \t]+[\"']?(?P<name>[A-Z][A-Z0-9_]*)(?:=(?P<value>.*))?", re.ASCII)
"""A container's variable in a list."""
_LONGEST = 1_000
"""Characters before a cursor that are looked at; a setting has fewer."""


class WrittenPart(NamedTuple):
    """
    Attributes:
        parents: levels of YAML above the setting, joined by dots, with a dot at the end; empty for none.
        name: what there is of the setting's name.
        value: what there is of its value; None where the name is being written.
    """

    parents: str
    name: str
    value: str | None
    is_yaml: bool = False

    @property
    def written(self) -> str:
        """What there is of the name or value."""
        return self.name if self.value is None else self.value


def at(lines: Sequence[str], line: int, column: int, file_format: str) -> WrittenPart | None:
    """What is at a place (both from 0); None where it is no setting.

    Args:
        file_format: ``properties`` or ``yaml``; of any other nothing is known.
    """
    if not 0 <= line < len(lines) or column > _LONGEST:
        return None
    before = lines[line][:column]
    if file_format == "properties":
        continued = line > 0 and (len(lines[line - 1]) - len(lines[line - 1].rstrip("\\"))) % 2 == 1
        found = None if continued else _PROPERTY.fullmatch(before)
        if found is None or before.lstrip().startswith(("#", "!")):
            return None
        return WrittenPart("", found["name"] or "", None if found["separator"] is None or not found["name"] else found["value"])
    if file_format != "yaml":
        return None
    if found := _YAML.fullmatch(before):
        return WrittenPart(_parents(lines, line, len(found["indent"])), found["name"], found["value"], True)
    if found := _YAML_VARIABLE.fullmatch(before):
        return WrittenPart(_parents(lines, line, len(found["indent"]) + 1), found["name"], found["value"], True)
    return None


def _parents(lines: Sequence[str], line: int, indent: int) -> str:
    """The keys above a line of YAML that are indented less, each than the one below it."""
    above: list[str] = []
    for text in reversed(lines[:line]):
        if indent == 0 or len(above) > MAX_LEVELS:
            break
        if (found := _YAML_PARENT.fullmatch(text[:_LONGEST])) and len(found["indent"]) < indent:
            indent = len(found["indent"])
            above.append(found["name"])
    return "".join(f"{name}." for name in reversed(above))
