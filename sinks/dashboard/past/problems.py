"""Answers to questions about the past, and reasons why there is none, for both sides of the pipe."""

from __future__ import annotations

from typing import Any, Literal

from clientscope.errors import ClientscopeError

Json = dict[str, Any]
"""A JSON object.  An answer, or a part of one, has the fields of its model in `clientscope.api.history`, which serve checks it by."""

Kind = Literal["off", "missing", "unreadable", "wide", "late", "busy"]

STATUSES: dict[Kind, int] = {"off": 404, "missing": 404, "unreadable": 503, "wide": 400, "late": 503, "busy": 503}
"""HTTP statuses.  503 means that a retry may succeed."""

RETRY_AFTER_S = 10


class NoAnswer(ClientscopeError):
    """A question that could not be answered.

    Attributes:
        kind: ``off`` (no history is configured), ``missing`` (no such table yet), ``unreadable``, ``wide`` (too much for the memory that
            a question may take), ``late`` (not within the deadline) or ``busy`` (too many ask).
    """

    def __init__(self, kind: Kind, message: str, hint: str) -> None:
        super().__init__(message, hint)
        self.kind = kind

    @property
    def status(self) -> int:
        """HTTP status of the response."""
        return STATUSES[self.kind]


def too_wide(what: str) -> NoAnswer:
    """The question is refused rather than answered in part."""
    return NoAnswer("wide", what, "ask for a shorter range")
