"""Flat columns of listed items, for CSV and ``--columns``: nested fields with a dot between, times as ISO 8601 in UTC."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from types import NoneType
from typing import Any

from rich.table import Table

from clientscope.errors import SettingsError
from clientscope.report import text
from clientscope.report.text import plain, time_of

_MS = ("_ms", "Ms")
"""Ends of the names of fields that are times."""


def flat(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row of JSON by `column` names: ``{"findings": {"worst": "high"}, "since_ms": 0}`` has ``findings.worst`` and ``since``."""
    found: dict[str, Any] = {}
    for name, value in row.items():
        found[column(name)] = time_of(value) if _is_time(name) and isinstance(value, int) else _text(value)
        if isinstance(value, Mapping):
            found |= {f"{name}.{below}": each for below, each in flat(value).items()}
    return found


def column(field: str) -> str:
    """The name of a field's column: ``since`` of ``since_ms``."""
    return field[:-3].rstrip("_") if field.endswith("_ms") else field[:-2] if field.endswith("Ms") else field


def chosen(given: str, known: Sequence[str]) -> tuple[str, ...]:
    """The columns that ``--columns`` names, in its order; all that are known for an empty text.

    Raises:
        SettingsError: an unknown column, or none.
    """
    if not given:
        return tuple(known)
    names = tuple(column(part.strip()) for part in given.split(",") if part.strip())
    for name in names:
        if name not in known:
            near = get_close_matches(name, known, 1)
            hint = f"one of {', '.join(known)}"
            raise SettingsError(f"--columns: unknown column {name[:64]!r}", f"did you mean {near[0]}? {hint}" if near else hint)
    if not names:
        raise SettingsError("--columns names no column", f"some of {', '.join(known)}, separated by commas")
    return names


def table(columns: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> Table | None:
    """The chosen columns for a terminal; None without rows.  What clients chose themselves is shown as it is."""
    if not rows:
        return None
    numbers = [name.upper() for name in columns if all(isinstance(row.get(name), (int, float, NoneType)) for row in rows)]
    headings = [name.upper() for name in columns]
    view = text.table(headings, folds=headings, right=numbers)
    for row in rows:
        view.add_row(*(plain(_shown(row.get(name))) for name in columns))
    return view


def _is_time(name: str) -> bool:
    return name.endswith(_MS)


def _text(value: Any) -> Any:
    """A list of texts or numbers is one text; what has more structure stays as it is, and CSV has it as JSON."""
    if isinstance(value, (list, tuple)) and not any(isinstance(each, (dict, list, tuple)) for each in value):
        return " ".join(map(str, value))
    return value


def _shown(value: Any) -> str:
    return "–" if value in (None, "") else str(value)
