"""Overflow of bounded tables: what was left out is counted, and reported as a finding until it has been over for a while."""

from __future__ import annotations

from collections.abc import Sequence

from clientscope.fair_share import HeldEntry, noisiest
from clientscope.findings.conditions import Condition
from clientscope.records.client_key import Tenant, name_of

_OVER_AFTER_MS = 10 * 60_000
"""A table counts as full for so long after something was left out."""


class Overflow:
    """Of one table.

    Attributes:
        count: entries that were ever left out.
    """

    def __init__(self) -> None:
        self.count = 0
        self._by: Tenant = ""
        self._new = False
        self._last_ms: int | None = None
        self._begun = False

    def dropped(self, gone: Sequence[HeldEntry]) -> None:
        """Takes in what was left out."""
        if gone:
            self.count += len(gone)
            self._by = noisiest(gone)
            self._new = True

    def condition(self, table: str, most: int, now_ms: int) -> Condition | None:
        """OP004 of this table; None where there is nothing to tell.

        Args:
            table: what is in it.
            most: its bound.
        """
        subject = f"table of {table}"
        if self._new:
            self._new, self._last_ms = False, now_ms
        elif not self._begun:  # the previous process may have reported it: its report ends in the same way
            self._last_ms = now_ms
        self._begun = True
        if self._last_ms is None:
            return None
        if now_ms - self._last_ms >= _OVER_AFTER_MS:
            self._last_ms = None
            return Condition("OP004", subject, False, "high", "", now_ms)
        if not self._by:
            return None
        message = (
            f"the job remembers {most} {table} and has left out some of {name_of(self._by)}, which has the most: look at its clients,"
            " and lower its quota of pushes (push_rate_per_principal, push_rate_per_address)"
        )
        return Condition("OP004", subject, True, "high", message, self._last_ms)
