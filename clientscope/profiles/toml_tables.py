"""Reader of a TOML file as a checked model; an error names the file, the line and the key."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from clientscope.errors import ClientscopeError, SettingsError

Model = TypeVar("Model", bound=BaseModel)
Place = tuple[str | int, ...]
"""Where in a file: the keys on the way, and the numbers within arrays of tables, from 0."""

_HEADER = re.compile(r"^\s*(\[\[?)\s*(.+?)\s*\]\]?\s*(?:#.*)?$")
_KEY = re.compile(r"^\s*((?:[\w-]+|\"[^\"]*\"|'[^']*')(?:\s*\.\s*(?:[\w-]+|\"[^\"]*\"|'[^']*'))*)\s*=")
_PART = re.compile(r"[\w-]+|\"([^\"]*)\"|'([^']*)'")


class InvalidValue(ClientscopeError, ValueError):
    """A validator's error, with a hint of its own."""


class TomlFile:
    """A file that was read: its model, and the place of each key.

    Raises:
        SettingsError: it can't be read, is no TOML, or isn't as the model has it.
    """

    def __init__(self, path: Path, hint: str) -> None:
        """
        Args:
            hint: where such a file is described, for errors.
        """
        self.path = path
        self._hint = hint
        try:
            self._text = path.read_text("utf-8")
            self.tables = tomllib.loads(self._text)
        except OSError as error:
            raise SettingsError(f"{path}: {error.strerror}", hint) from None
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise SettingsError(f"{path} is not TOML: {error}", hint) from None
        self._lines = lines(self._text)

    def model(self, cls: type[Model], at: Place = (), context: object = None) -> Model:
        """The file's content, or that of one table, checked.

        Args:
            context: what validators are given beside the values.
        """
        content: Any = self.tables
        for part in at:
            content = content[part]
        try:
            return cls.model_validate(content, context=context)
        except ValidationError as error:
            first = error.errors()[0]
            place = self._known((*at, *first["loc"]))
            key = named(place) or "the file"
            if first["type"] == "extra_forbidden":
                raise self.error(place, f"unknown key {key}") from None
            if first["type"] == "missing":
                raise self.error(place[:-1], f"{key} is missing") from None
            message = first["msg"].removeprefix("Value error, ")
            hint = getattr(first.get("ctx", {}).get("error"), "hint", None)
            raise self.error(place, f"{key}: {message}", hint) from None

    def line(self, place: Place) -> int:
        """The line of a key or table, or of the nearest one around it that has a line of its own."""
        while place and place not in self._lines:
            place = place[:-1]
        return self._lines.get(place, 1)

    def error(self, place: Place, message: str, hint: str | None = None) -> SettingsError:
        """An error that says the line."""
        return SettingsError(f"{self.path}:{self.line(place)}: {message}", hint or self._hint)

    def _known(self, loc: Place) -> Place:
        """A place as pydantic names it, without the names of its own checks at the end."""
        at: object = self.tables
        known: list[str | int] = []
        for part in loc:
            if isinstance(at, dict) and isinstance(part, str):
                known.append(part)
                if part not in at:
                    break
                at = at[part]
            elif isinstance(at, list) and isinstance(part, int) and part < len(at):
                known.append(part)
                at = at[part]
            else:
                break
        return tuple(known)


def lines(text: str) -> dict[Place, int]:
    """The place of each table and key of a TOML text, which tomllib doesn't return.  Keys of inline tables have no line of their own."""
    found: dict[Place, int] = {}
    arrays: Counter[Place] = Counter()
    table: Place = ()
    for number, line in enumerate(text.splitlines(), 1):
        if header := _HEADER.match(line):
            table = _within(_parts(header[2]), arrays)
            if header[1] == "[[":
                arrays[table] += 1
                table = (*table, arrays[table] - 1)
            found.setdefault(table, number)
        elif key := _KEY.match(line):
            found.setdefault((*table, *_parts(key[1])), number)
    return found


def _parts(dotted: str) -> Place:
    return tuple(next(text for text in (part[1], part[2], part[0]) if text is not None) for part in _PART.finditer(dotted))


def _within(place: Place, arrays: Counter[Place]) -> Place:
    """``[a.b]`` below ``[[a]]`` belongs to the last ``a``."""
    inside: Place = ()
    for position, part in enumerate(place):
        inside = (*inside, part)
        if inside in arrays and position < len(place) - 1:
            inside = (*inside, arrays[inside] - 1)
    return inside


def named(place: Place) -> str:
    """``suppress[2].until``, counted from 1 as a person does."""
    text = ""
    for part in place:
        text += f"[{part + 1}]" if isinstance(part, int) else f".{part}" if text else part
    return text
