"""Order of a list: ``-connections,client_id``."""

from __future__ import annotations

from collections.abc import Collection
from difflib import get_close_matches
from typing import NamedTuple

from clientscope.query.error import QueryError

MOST_KEYS = 5


class Key(NamedTuple):
    """One field to sort by."""

    field: str
    descending: bool = False


def parse_sort(text: str, fields: Collection[str]) -> tuple[Key, ...]:
    """What to sort by, the most important first; nothing for an empty text.

    Raises:
        QueryError: a field that can't be sorted by, or one twice, or too many.
    """
    found: list[Key] = []
    at = 0
    for part in text.split(",") if text.strip() else ():
        name = part.strip()
        begin = at + part.find(name) if name else at
        at += len(part) + 1
        key = Key(name.removeprefix("-").lower(), name.startswith("-"))
        if key.field not in fields:
            near = get_close_matches(key.field, fields, 3)
            raise QueryError(
                f"this can't be sorted by {key.field[:64]!r}",
                begin,
                len(name),
                (*near, *sorted(each for each in fields if each not in near)),
            )
        if any(each.field == key.field for each in found):
            raise QueryError(f"{key.field} is there twice", begin, len(name))
        found.append(key)
        if len(found) > MOST_KEYS:
            raise QueryError(f"at most {MOST_KEYS} fields", begin, len(name))
    return tuple(found)
