"""What several Produce requests of one connection show together: how many await an answer at once, how large and how old batches are.

The first two are the least that a setting can be, never the most. A request counts as in flight from its first bytes to the head of its
answer, less long than its client counts it. One with acks=0 has no answer, and doesn't count. `clientscope.session.lingered` reads how old
batches are when they are sent. No I/O, no clock.
"""

from __future__ import annotations

from clientscope.session.lingered import Lingered

FIRST = 40
"""Produce requests that are looked into when a connection is new: fewer show no pipeline of more than some."""
AGAIN = 10
"""The same after each interval (`clientscope.session.reports`)."""
MOST_REPORTS = 4
"""Reports of one connection: numbers that grow and grow leave room for what other requests show."""

_EVERY = 10
_GROWN = 1.2
"""By how much a number has to be above the reported one: from 5 requests in flight to 6, which is what rules ask for, is enough."""
_NO_REACTION = 2
_NO_REACTION_S = 0.005
"""What was sent so long after an answer had passed, in times of the way to the client and back and in seconds, is no reaction to it."""
_NOTHING = (1, 0)
"""Requests in flight and bytes of which nothing follows."""


class Produced:
    """Of one connection.

    Args:
        hop_s: how long a client took at most to get an answer and send what it had waited for it with.

    Attributes:
        in_flight: correlation ids of requests that were looked into and await an answer.
    """

    __slots__ = ("_answered_s", "_hop_s", "_lingered", "_most", "_reported", "_reports", "_requests", "in_flight")

    def __init__(self, hop_s: float) -> None:
        self.in_flight: set[int] = set()
        self._hop_s, self._answered_s = hop_s, 0.0
        self._lingered: Lingered | None = Lingered()
        self._requests = self._reports = 0
        self._most = self._reported = _NOTHING

    def answered(self, correlation_id: int, now_s: float) -> None:
        """The answer to a request has begun."""
        self._answered_s = now_s
        self.in_flight.discard(correlation_id)

    def read(self, correlation_id: int, fields: dict[str, str], now_s: float) -> dict[str, str] | None:
        """Takes one more request; returns what to report beside its fields, or None if that would be one report too many.

        Args:
            fields: of the request; what differs with each request is taken out.
            now_s: when it came, by a clock that never goes back.
        """
        size = _rounded(int(fields.pop("batchBytes", 0)))
        linger = self._gathered(fields, now_s)
        if fields.get("acks", "0") != "0" and len(self.in_flight) < FIRST:
            self.in_flight.add(correlation_id)
        self._requests += 1
        self._most = max(self._most[0], len(self.in_flight)), max(self._most[1], size)
        grown = any(now > before and now >= before * _GROWN for now, before in zip(self._most, self._reported, strict=True))
        if not linger and (self._requests % _EVERY or not grown):
            return {}
        if self._reports == MOST_REPORTS:
            return None
        self._reported, self._reports = self._most, self._reports + 1
        in_flight, batch = self._most
        return {"mostInFlight": str(in_flight), "mostBatchBytes": str(batch), "ofRequests": str(self._requests), **linger}

    def _gathered(self, fields: dict[str, str], now_s: float) -> dict[str, str]:
        """How long batches gathered records, with the last of the first requests: later ones aren't all seen."""
        times = fields.pop("batchTimes", "")
        if (lingered := self._lingered) is None:
            return {}
        # A transaction begins with a wait for its coordinator.
        if times and fields.get("acks", "0") != "0" and "transactionalId" not in fields:
            idle_s = now_s - self._answered_s if self._answered_s and not self.in_flight else 0.0
            lingered.take(times, now_s, idle_s > _NO_REACTION * self._hop_s + _NO_REACTION_S)
        if self._requests < FIRST - 1:
            return {}
        self._lingered = None
        found = lingered.range_ms()
        return {} if found is None else {"lingerLeastMs": str(_rounded(found[0])), "lingerMostMs": str(-_rounded(-found[1]))}


def _rounded(size: int) -> int:
    """Two digits of it, downwards, so that connections of many clients show the same (`clientscope.session.shown.SharedFields`)."""
    unit: int = 10 ** max(0, len(str(abs(size))) - 2)
    return size // unit * unit
