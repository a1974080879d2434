"""Error of a query: what is wrong, and where."""

from __future__ import annotations

from collections.abc import Sequence

from clientscope.errors import ClientscopeError

_SHOWN = 8


class QueryError(ClientscopeError):
    """A query, or an order, that can't be read.

    Attributes:
        position: where the mistake begins, in characters from 0.
        length: of the mistake; 0 where something is missing.
        expected: what is possible there.
    """

    def __init__(self, message: str, position: int, length: int, expected: Sequence[str] = ()) -> None:
        hint = f"expected: {', '.join(expected[:_SHOWN])}{', …' * (len(expected) > _SHOWN)}" if expected else None
        super().__init__(message, hint)
        self.position = position
        self.length = length
        self.expected = tuple(expected)
