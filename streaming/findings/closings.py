"""What was closed: how many connections each client closed lately, which ones, and when clients left."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from clientscope.gauges import GatewayKey
from clientscope.records.client_key import tenant_of
from streaming.findings.inputs import ConnectionChange, JudgedPush, There
from streaming.limits import Limit, Overflow

GRACE_MS = 30_000
"""For so long after its push a client counts as connected whose connection hasn't been read yet."""

_WINDOW_MS = 5 * 60_000
_SLICE_MS = 10_000

MOST_NAMES = 1_000
MOST_ORIGINS = 2_000
MOST_CLOSED = 100_000
MOST_LEFT = 100_000

NAMES = Limit(
    "closing_clients",
    MOST_NAMES,
    "client.ids of one principal that close connections within ten seconds",
    "AN404 counts the others together, as a client without client.id",
    "low",
)
ORIGINS = Limit(
    "closing_origins",
    MOST_ORIGINS,
    "brokers, addresses and releases at which clients close connections within ten seconds",
    "AN404 counts these connections, and doesn't name where they were closed",
    "low",
)
CLOSED = Limit(
    "closed_connections",
    MOST_CLOSED,
    "connections that were closed within a minute",
    "a client whose connection was closed before its push was read counts as connected for 30 s",
    "low",
)
LEFT = Limit(
    "left_clients", MOST_LEFT, "clients that left", "a finding says of the first that left when they pushed, not when they left", "low"
)

Who = tuple[str | None, str | None]
"""Principal and client.id."""


class ClosedAt(NamedTuple):
    """Where connections were closed, and by what; ``software`` is a name and a version."""

    broker: int
    address: str
    software: str


class ClosingRates:
    """How many connections each client closed in the last five minutes.  Times are ms since the epoch, of Kafka's clock."""

    def __init__(self) -> None:
        self.full, self.origins_full = Overflow(NAMES), Overflow(ORIGINS)
        self._slices: dict[int, Counter[Who]] = {}
        self._origins: dict[int, Counter[tuple[Who, ClosedAt]]] = {}
        self._newest_ms = 0
        self._names: Counter[str | None] = Counter()  # of each principal, since the last slice began

    def count(self, event: ConnectionChange) -> None:
        """A connection was closed."""
        begin = event.appended_ms // _SLICE_MS * _SLICE_MS
        if begin > self._newest_ms:
            self._newest_ms = begin
            self._names.clear()
            self._end(begin)
        if begin <= self._newest_ms - _WINDOW_MS:
            return
        counts, who = self._slices.setdefault(begin, Counter()), (event.principal, event.client_id)
        if who not in counts:
            if self._names[event.principal] >= MOST_NAMES:
                who = event.principal, None
                self.full.left_out(tenant_of(event.principal, event.address))
            else:
                self._names[event.principal] += 1
        counts[who] += 1
        software = " ".join(filter(None, (event.software_name, event.software_version)))
        origins, origin = self._origins.setdefault(begin, Counter()), (who, ClosedAt(event.broker, event.address, software))
        if origin in origins or len(origins) < MOST_ORIGINS:
            origins[origin] += 1
        else:
            self.origins_full.left_out(tenant_of(event.principal, event.address))

    def origins(self, now_ms: int) -> Iterator[tuple[Who, ClosedAt, int]]:
        """Where each client closed how many of them, within the five minutes before; the same place may come several times."""
        self._end(now_ms)
        for counts in self._origins.values():
            for (who, at), count in counts.items():
                yield who, at, count

    def at(self, now_ms: int) -> Counter[Who]:
        """By client, within the five minutes before."""
        self._end(now_ms)
        total: Counter[Who] = Counter()
        for counts in self._slices.values():
            total.update(counts)
        return total

    def _end(self, now_ms: int) -> None:
        for begin in [begin for begin in self._slices if begin <= now_ms - _WINDOW_MS]:
            del self._slices[begin]
            self._origins.pop(begin, None)


class Departures:
    """Connections that were closed a moment ago, and when clients left.  Times are ms since the epoch, of Kafka's clock."""

    def __init__(self) -> None:
        self.closed_full, self.left_full = Overflow(CLOSED), Overflow(LEFT)
        self._closed: dict[tuple[GatewayKey, int, int], int] = {}
        self._left: dict[There, int] = {}

    def closed(self, event: ConnectionChange) -> None:
        """A connection was closed."""
        self._closed[(event.cluster, event.broker, event.gateway), event.epoch, event.connection] = event.appended_ms
        while next(iter(self._closed.values())) < event.appended_ms - 2 * GRACE_MS:
            del self._closed[next(iter(self._closed))]
        if len(self._closed) > MOST_CLOSED:
            del self._closed[next(iter(self._closed))]
            self.closed_full.left_out(tenant_of(event.principal, event.address))

    def closed_ms(self, push: JudgedPush) -> int | None:
        """When the connection was closed that a client pushed on; None where that isn't known, or was more than a minute ago."""
        return self._closed.get((push.gateway_key, push.epoch, push.connection))

    def left(self, there: There, at_ms: int) -> None:
        """A client closed its last connection."""
        self._left.pop(there, None)
        self._left[there] = at_ms
        if len(self._left) > MOST_LEFT:
            del self._left[next(iter(self._left))]
            self.left_full.left_out(tenant_of(there.principal, there.address))

    def back(self, there: There) -> None:
        """It has one again."""
        self._left.pop(there, None)

    def left_ms(self, there: There) -> int | None:
        """When it left; None where that isn't known."""
        return self._left.get(there)
