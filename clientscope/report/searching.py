"""Searches of commands that list what they hold in memory, with the errors of those that ask serve."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from clientscope.errors import SettingsError
from clientscope.query import Fields, Query, QueryError, parse

_SHOWN = 10


def parsed(terms: Iterable[str], fields: Fields, now_ms: int) -> Query:
    """What the terms of a command line ask for.

    Raises:
        SettingsError: they can't be read; says where, and what was expected.
    """
    try:
        return parse(" ".join(terms), fields, now_ms)
    except QueryError as error:
        raise wrong_search(error.position, str(error), error.expected) from None


def wrong_search(position: int, detail: str, expected: Sequence[object]) -> SettingsError:
    """The error about a search.

    Args:
        position: where the mistake begins, in characters from 0.
        expected: what is possible there.
    """
    hint = f"expected: {', '.join(map(str, expected[:_SHOWN]))}" if expected else None
    return SettingsError(f"the search is wrong at character {position + 1}: {detail}", hint)
