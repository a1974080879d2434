"""Reader of a client's settings file: java.util.Properties, JSON or YAML.

An error in a file names the line; a file's content is never quoted, since it may be a password.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import javaproperties
import yaml

from clientscope.client.settings import flat
from clientscope.errors import SettingsError
from clientscope.settings_files import FORMATS


def parse(path: Path, content: bytes, file_format: str = "") -> dict[str, Any]:
    """Settings by name, in the file's order, flat and without those that have no value.

    Args:
        path: for its suffix, and to name it in an error.
        file_format: ``properties``, ``json`` or ``yaml``; empty goes by the suffix.

    Raises:
        SettingsError: the format isn't known, or the content isn't of it.
    """
    chosen = file_format or FORMATS.get(path.suffix.lower())
    if chosen is None:
        raise SettingsError(f"{path}: unknown format", "set --format to properties, json or yaml")
    try:
        settings = _PARSERS[chosen](content)
    except (_Malformed, UnicodeDecodeError) as error:
        where = f": {error}" if isinstance(error, _Malformed) else ": it isn't UTF-8"
        raise SettingsError(f"{path} is not {_NAMES[chosen]}{where}", "set --format if the suffix names another format") from None
    if not isinstance(settings, dict):
        raise SettingsError(f"{path} holds no settings", "expected: names and values, such as client.id")
    return {name: value for name, value in flat({str(name): value for name, value in settings.items()}).items() if value is not None}


class _Malformed(ValueError):
    """Where the content isn't what it should be, without a word of it."""


def _properties(content: bytes) -> Any:
    # As java.util.Properties.load reads a stream, in ISO-8859-1: that is how Kafka's own clients and tools come by their files.
    try:
        return javaproperties.loads(content.decode("iso-8859-1"))
    except javaproperties.InvalidUEscapeError:
        raise _Malformed("it has a \\u that four hexadecimal digits don't follow") from None


def _json(content: bytes) -> Any:
    try:
        return json.loads(content)
    except json.JSONDecodeError as error:
        raise _Malformed(f"line {error.lineno}, column {error.colno}: {error.msg}") from None
    except RecursionError:
        raise _Malformed("it has too many levels") from None


def _yaml(content: bytes) -> Any:
    try:
        return yaml.safe_load(content)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise _Malformed(f"line {mark.line + 1}, column {mark.column + 1}" if mark else "it can't be parsed") from None
    except (yaml.YAMLError, ValueError, RecursionError):
        raise _Malformed("it can't be parsed") from None


_PARSERS: dict[str, Callable[[bytes], Any]] = {"properties": _properties, "json": _json, "yaml": _yaml}
_NAMES = {"properties": "a Java properties file", "json": "JSON", "yaml": "YAML"}
