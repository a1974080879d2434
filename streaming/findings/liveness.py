"""Open connections, by their records: a client that fails a rule counts only while it is connected."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeVar, cast

from clientscope.fair_share import HeldEntry, beyond
from clientscope.records.client_key import tenant_of
from clientscope.records.layouts import Kind
from streaming.findings.closings import ClosedAt, ClosingRates, Departures, Who
from streaming.findings.gateways import GatewayProcesses
from streaming.findings.inputs import ConnectionChange, Gateway, JudgedPush, There, whereabouts
from streaming.limits import Limit, Overflow

MOST_CONNECTIONS = 1_000_000
"""Open connections that are known, some 200 bytes each; `clientscope.fair_share` chooses those that make room for further ones."""

CONNECTIONS = Limit(
    "connections",
    MOST_CONNECTIONS,
    "connections",
    "of those who have more than their share some are forgotten: their clients may count as gone",
)

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
    """Open connections, and how many each client has.  Times are ms since the epoch, of Kafka's clock.

    Older records of a gateway may come after newer ones until `in_order`.
    """

    def __init__(self) -> None:
        self._gateways = GatewayProcesses(self._gone)
        self._sequences: dict[Gateway, dict[int, int]] | None = {}
        self._open: dict[Gateway, dict[int, OpenConnections]] = {}
        self._whose: dict[tuple[There, Who], OpenConnections] = {}
        self._connections: Counter[There] = Counter()
        self._of_who: Counter[Who] = Counter()
        self._total = 0
        self._rates = ClosingRates()
        self._departures = Departures()
        self._full = Overflow(CONNECTIONS)
        self._touched: list[tuple[Gateway, int]] = []
        self._moved: dict[There, None] = {}

    @property
    def limits(self) -> tuple[Overflow, ...]:
        """What its bounds left out."""
        return (
            self._full,
            self._gateways.full,
            self._rates.full,
            self._rates.origins_full,
            self._departures.closed_full,
            self._departures.left_full,
        )

    @property
    def connections(self) -> int:
        """Open ones, of all clients."""
        return self._total

    def apply(self, event: ConnectionChange) -> None:
        """Takes in one."""
        gateway = event.cluster, event.broker, event.gateway
        is_new = self._gateways.takes(event)
        if event.kind == Kind.HEARTBEAT:
            return
        if self._sequences is not None:
            is_new = self._gateways.epoch(gateway) == event.epoch and self._is_newest(gateway, event)
        if not is_new:
            return
        client = self._drop(gateway, event.connection)
        if event.kind == Kind.CLOSED:
            self._rates.count(event)
            self._leave(client, event.appended_ms)
            self._touched.append((gateway, event.connection))  # though it was never known as open: its client's grace ends
            self._departures.closed(event)
        else:
            if self._total >= MOST_CONNECTIONS:
                self._make_room()
            self._put(gateway, event)

    def in_order(self) -> None:
        """Each gateway's records come in the order in which it wrote them from now on, some of them twice."""
        self._sequences = None

    def _is_newest(self, gateway: Gateway, event: ConnectionChange) -> bool:
        """Whether it is newer than what came of its connection before; closed ones are remembered too."""
        sequences = cast(dict[Gateway, dict[int, int]], self._sequences).setdefault(gateway, {})
        if event.sequence <= sequences.get(event.connection, -1):
            return False
        sequences[event.connection] = event.sequence
        return True

    def news(self) -> tuple[list[tuple[Gateway, int]], Iterable[There]]:
        """What has changed since the last call: connections, by gateway and number, and clients that have their first one, or no more."""
        touched, moved = self._touched, self._moved
        if touched or moved:
            self._touched, self._moved = [], {}
        return touched, moved

    def is_open(self, push: JudgedPush) -> bool:
        """Whether the connection is open that a client pushed on."""
        gateway = push.gateway_key
        return push.connection in self._open.get(gateway, ()) and self._gateways.epoch(gateway) == push.epoch

    def closed_lately(self, push: JudgedPush) -> bool:
        """Whether that connection was closed a moment ago."""
        return self._departures.closed_ms(push) is not None

    def has(self, there: There) -> bool:
        """Whether any connection of such a client is open."""
        return there in self._connections

    def left_ms(self, there: There, push: JudgedPush | None = None) -> int | None:
        """When a client closed its last connection, with its like on the same host; or else the one it pushed on; None where not known."""
        left_ms = self._departures.left_ms(there)
        return self._departures.closed_ms(push) if left_ms is None and push is not None else left_ms

    def beat_ms(self, gateway: str) -> int:
        """When a gateway, by `clientscope.findings.conditions.gateway_subject`, last sent a heartbeat; 0 where that isn't known."""
        return self._gateways.beat_ms(gateway)

    def _gone(self, gateway: Gateway, at_ms: int) -> None:
        """Nothing is open at a gateway any more."""
        if self._sequences is not None:
            self._sequences.pop(gateway, None)
        for connection in list(self._open.get(gateway, ())):
            self._leave(self._drop(gateway, connection), at_ms)
        self._open.pop(gateway, None)

    def _leave(self, client: There | None, at_ms: int) -> None:
        if client is not None and client not in self._connections:
            self._departures.left(client, at_ms)

    def open_of(self, who: Iterable[Who]) -> int:
        """Connections that these clients have open."""
        return sum(self._of_who[each] for each in who)

    def closed(self, now_ms: int) -> Counter[Who]:
        """How many connections each client closed in the last five minutes."""
        return self._rates.at(now_ms)

    def closed_at(self, now_ms: int) -> Iterator[tuple[Who, ClosedAt, int]]:
        """Where, and how many there."""
        return self._rates.origins(now_ms)

    def _make_room(self) -> None:
        """Forgets connections of the tenants that have the most."""
        held = [
            HeldEntry((gateway, number), tenant_of(whose.there[1], whose.there[3]), 0, number)
            for gateway, connections in self._open.items()
            for number, whose in connections.items()
        ]
        gone = beyond(held, MOST_CONNECTIONS)
        self._full.dropped(gone)
        for each in gone:
            self._drop(*cast(tuple[Gateway, int], each.key))

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
        self._departures.back(there)
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
