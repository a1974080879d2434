"""What several Produce requests of one connection show together: how many await an answer at once, and how large their batches are.

Both are the least that a setting can be, never the most. A request counts as in flight from its first bytes to the head of its answer, less
long than its client counts it. One with acks=0 has no answer, and doesn't count. No I/O, no clock.
"""

from __future__ import annotations

FIRST = 40
"""Produce requests that are looked into when a connection is new: fewer show no pipeline of more than some."""
AGAIN = 10
"""The same after each interval (`clientscope.session.reports`)."""
MOST_REPORTS = 4
"""Reports of one connection: numbers that grow and grow leave room for what other requests show."""

_EVERY = 10
_GROWN = 1.2
"""By how much a number has to be above the reported one: from 5 requests in flight to 6, which is what rules ask for, is enough."""
_NOTHING = (1, 0)
"""Requests in flight and bytes of which nothing follows."""


class Produced:
    """Of one connection.

    Attributes:
        in_flight: correlation ids of requests that were looked into and await an answer; the session takes them out.
    """

    __slots__ = ("_most", "_reported", "_reports", "_requests", "in_flight")

    def __init__(self) -> None:
        self.in_flight: set[int] = set()
        self._requests = self._reports = 0
        self._most = self._reported = _NOTHING

    def read(self, correlation_id: int, fields: dict[str, str]) -> dict[str, str] | None:
        """Takes one more request; returns what to report beside its fields, or None if that would be one report too many.

        Args:
            fields: of the request; what differs with each request is taken out.
        """
        size = _rounded(int(fields.pop("batchBytes", 0)))
        if fields.get("acks", "0") != "0" and len(self.in_flight) < FIRST:
            self.in_flight.add(correlation_id)
        self._requests += 1
        self._most = max(self._most[0], len(self.in_flight)), max(self._most[1], size)
        grown = any(now > before and now >= before * _GROWN for now, before in zip(self._most, self._reported, strict=True))
        if self._requests % _EVERY or not grown:
            return {}
        if self._reports == MOST_REPORTS:
            return None
        self._reported, self._reports = self._most, self._reports + 1
        in_flight, batch = self._most
        return {"mostInFlight": str(in_flight), "mostBatchBytes": str(batch), "ofRequests": str(self._requests)}


def _rounded(size: int) -> int:
    """Two digits of it, so that connections of many clients show the same (`clientscope.session.shown.SharedFields`)."""
    unit: int = 10 ** max(0, len(str(size)) - 2)
    return size // unit * unit
