"""Open connections, by their records: a client that fails a rule counts only while it is connected."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import TypeVar, cast

from clientscope.fair_share import BATCH, HeldEntry, too_many
from clientscope.records.client_key import tenant_of
from clientscope.records.codec import Kind
from streaming.findings.inputs import ConnectionChange, Gateway, JudgedPush, There, whereabouts
from streaming.findings.overflow import Overflow

GRACE_MS = 30_000
"""For so long after its push a client counts as connected whose connection hasn't been read yet."""

_WINDOW_MS = 5 * 60_000
_SLICE_MS = 10_000
MOST_CONNECTIONS = 1_000_000
"""Open connections that are known, some 200 bytes each; `clientscope.fair_share` chooses those that make room for further ones."""

_MOST_NAMES = 1_000
"""client.ids of one principal that are distinguished among connections closed within ten seconds; further ones count as no client.id."""

_MOST_LATELY = 100_000

Who = tuple[str | None, str | None]
"""Principal and client.id."""

_Key = TypeVar("_Key", bound=Hashable)


@dataclass(slots=True, eq=False)
class OpenConnections:
    """Those of one client: a connection itself is its number and a reference to this, so that a client may have many.

    Attributes:
        count: how many are open.
    """

    there: There
    who: Who
    count: int = 0


class Liveness:
    """Open connections, and how many each client has.  Times are ms since the epoch, of Kafka's clock."""

    def __init__(self) -> None:
        self._epochs: dict[Gateway, int] = {}
        self._sequences: dict[Gateway, int] = {}
        self._open: dict[Gateway, dict[int, OpenConnections]] = {}
        self._whose: dict[tuple[There, Who], OpenConnections] = {}
        self._connections: Counter[There] = Counter()
        self._of_who: Counter[Who] = Counter()
        self._total = 0
        self._closed: deque[tuple[int, Counter[Who]]] = deque()
        self._names: Counter[str | None] = Counter()  # of each principal in the last slice of what was closed
        self.full = Overflow()
        self._lately: dict[tuple[Gateway, int, int], int] = {}
        self._left: dict[There, int] = {}
        self._touched: list[tuple[Gateway, int]] = []
        self._moved: dict[There, None] = {}

    @property
    def connections(self) -> int:
        """Open ones, of all clients."""
        return self._total

    def apply(self, event: ConnectionChange) -> None:
        """Takes in one; those of a gateway come in its order, some of them twice."""
        gateway = event.cluster, event.broker, event.gateway
        epoch = self._epochs.get(gateway, -1)
        if event.epoch < epoch:
            return
        if event.epoch > epoch:  # what the process before had open ended with it
            self._gone(gateway, event.appended_ms)
            self._epochs[gateway], self._sequences[gateway] = event.epoch, -1
        if event.sequence <= self._sequences[gateway]:
            return
        self._sequences[gateway] = event.sequence
        if event.kind == Kind.HEARTBEAT:
            return
        client = self._drop(gateway, event.connection)
        if event.kind == Kind.CLOSED:
            self._count_closed(event)
            self._leave(client, event.appended_ms)
            self._touched.append((gateway, event.connection))  # though it was never known as open: its client's grace ends
            self._lately[gateway, event.epoch, event.connection] = event.appended_ms
            while (oldest := next(iter(self._lately.items())))[1] < event.appended_ms - 2 * GRACE_MS or len(self._lately) > _MOST_LATELY:
                del self._lately[oldest[0]]
        else:
            if self._total >= MOST_CONNECTIONS:
                self._make_room()
            self._put(gateway, event)

    def news(self) -> tuple[list[tuple[Gateway, int]], Iterable[There]]:
        """What has changed since the last call: connections, by gateway and number, and clients that have their first one, or no more."""
        touched, moved = self._touched, self._moved
        if touched or moved:
            self._touched, self._moved = [], {}
        return touched, moved

    def is_open(self, push: JudgedPush) -> bool:
        """Whether the connection is open that a client pushed on."""
        gateway = push.gateway_key
        return push.connection in self._open.get(gateway, ()) and self._epochs[gateway] == push.epoch

    def closed_lately(self, push: JudgedPush) -> bool:
        """Whether that connection was closed a moment ago."""
        return (push.gateway_key, push.epoch, push.connection) in self._lately

    def has(self, there: There) -> bool:
        """Whether any connection of such a client is open."""
        return there in self._connections

    def left_ms(self, there: There, push: JudgedPush | None = None) -> int | None:
        """When a client closed its last connection, with its like on the same host; or else the one it pushed on; None where not known."""
        own = None if push is None else self._lately.get((push.gateway_key, push.epoch, push.connection))
        return self._left.get(there, own)

    def _gone(self, gateway: Gateway, at_ms: int) -> None:
        """Nothing is open at a gateway any more."""
        for connection in list(self._open.get(gateway, ())):
            self._leave(self._drop(gateway, connection), at_ms)
        self._open.pop(gateway, None)

    def _leave(self, client: There | None, at_ms: int) -> None:
        if client is not None and client not in self._connections:
            self._left.pop(client, None)
            self._left[client] = at_ms
            if len(self._left) > _MOST_LATELY:
                del self._left[next(iter(self._left))]

    def open_of(self, who: Iterable[Who]) -> int:
        """Connections that these clients have open."""
        return sum(self._of_who[each] for each in who)

    def closed(self, now_ms: int) -> Counter[Who]:
        """How many connections each client closed in the last five minutes."""
        while self._closed and self._closed[0][0] <= now_ms - _WINDOW_MS:
            self._closed.popleft()
        total: Counter[Who] = Counter()
        for _, counts in self._closed:
            total.update(counts)
        return total

    def _make_room(self) -> None:
        """Forgets connections of the tenants that have the most."""
        held = [
            HeldEntry((gateway, number), tenant_of(whose.there[1], whose.there[3]), 0, number)
            for gateway, connections in self._open.items()
            for number, whose in connections.items()
        ]
        gone = too_many(held, MOST_CONNECTIONS - MOST_CONNECTIONS // BATCH)
        self.full.dropped(gone)
        for each in gone:
            self._drop(*cast(tuple[Gateway, int], each.key))

    def _count_closed(self, event: ConnectionChange) -> None:
        begin = event.appended_ms // _SLICE_MS * _SLICE_MS
        if not self._closed or self._closed[-1][0] < begin:
            self._closed.append((begin, Counter()))
            self._names.clear()
            while self._closed[0][0] <= begin - _WINDOW_MS:
                self._closed.popleft()
        counts, who = self._closed[-1][1], (event.principal, event.client_id)
        if who not in counts:
            self._names[event.principal] += 1
            if self._names[event.principal] > _MOST_NAMES:
                who = event.principal, None
        counts[who] += 1

    def _put(self, gateway: Gateway, event: ConnectionChange) -> None:
        there = whereabouts(event.cluster, event.principal, event.client_id, event.address)
        who = event.principal, event.client_id
        whose = self._whose.get((there, who))
        if whose is None:
            whose = self._whose[there, who] = OpenConnections(there, who)
        whose.count += 1
        self._open.setdefault(gateway, {})[event.connection] = whose
        self._touched.append((gateway, event.connection))
        self._connections[whose.there] += 1
        if self._connections[there] == 1:
            self._moved[whose.there] = None
        self._left.pop(there, None)
        self._of_who[whose.who] += 1
        self._total += 1

    def _drop(self, gateway: Gateway, connection: int) -> There | None:
        """Forgets a connection; returns whose it was."""
        whose = self._open.get(gateway, {}).pop(connection, None)
        if whose is None:
            return None
        self._total -= 1
        self._touched.append((gateway, connection))
        whose.count -= 1
        if not whose.count:
            del self._whose[whose.there, whose.who]
        _less(self._connections, whose.there)
        if whose.there not in self._connections:
            self._moved[whose.there] = None
        _less(self._of_who, whose.who)
        return whose.there


def _less(counter: Counter[_Key], key: _Key) -> None:
    counter[key] -= 1
    if counter[key] <= 0:
        del counter[key]
