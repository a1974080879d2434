"""Open connections, by their records: a client that fails a rule counts only while it is connected."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import cast

from clientscope.fair_share import HeldEntry, beyond
from clientscope.records.client_key import tenant_of
from clientscope.records.enums import Kind
from streaming.findings.closings import ClosedAt, ClosingRates, Departures, Who
from streaming.findings.gateways import GatewayProcesses
from streaming.findings.inputs import ConnectionChange, Gateway, JudgedPush, There, whereabouts
from streaming.findings.unordered import UnorderedEvents
from streaming.limits import Limit, Overflow

CONNECTIONS_PER_CLIENT = 5
"""Open connections that are known for each client that is remembered, some 200 bytes each; `clientscope.fair_share` chooses those that make
room for further ones."""

CONNECTIONS = Limit(
    "connections",
    1_000_000,
    "connections",
    "of those who have more than their share some are forgotten: their clients may count as gone",
)


@dataclass(slots=True, eq=False)
class OpenConnections:
    """Those of one client: a connection itself is its number and a reference to this, so that a client may have many.

    Attributes:
        principal: of the first; `streaming.findings.inputs.There` has none of clients that don't authenticate.
        count: how many are open.
    """

    there: There
    principal: str | None
    count: int = 0


class Liveness:
    """Open connections, and how many each client has.  Times are ms since the epoch, of Kafka's clock.

    Older records of a gateway may come after newer ones until `in_order`.
    """

    def __init__(self, most: int = CONNECTIONS.most) -> None:
        self._most = most
        self._gateways = GatewayProcesses(self._gone)
        self._unordered: UnorderedEvents | None = UnorderedEvents()
        self._ranges_full = self._unordered.full
        self._open: dict[Gateway, dict[int, OpenConnections]] = {}
        self._clients: dict[There, OpenConnections] = {}
        self._total = 0
        self._rates = ClosingRates()
        self._departures = Departures()
        self._full = Overflow(replace(CONNECTIONS, most=most))
        self._touched: list[tuple[Gateway, int]] = []
        self._moved: dict[There, None] = {}

    @property
    def limits(self) -> tuple[Overflow, ...]:
        """What its bounds left out."""
        return (
            self._full,
            self._ranges_full,
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

    @property
    def closed_ranges(self) -> int:
        """How much is known of closed connections, while records come in any order."""
        return 0 if self._unordered is None else self._unordered.ranges

    def apply(self, event: ConnectionChange) -> None:
        """Takes in one."""
        gateway = event.cluster, event.broker, event.gateway
        is_new = self._gateways.takes(event)
        if event.kind == Kind.HEARTBEAT:
            return
        if self._unordered is not None:
            is_new = self._gateways.epoch(gateway) == event.epoch and self._unordered.takes(gateway, event)
        if not is_new:
            return
        client = self._drop(gateway, event.connection)
        if event.kind == Kind.CLOSED:
            self._rates.count(event)
            self._leave(client, event.appended_ms)
            self._touched.append((gateway, event.connection))  # though it was never known as open: its client's grace ends
            self._departures.closed(event)
        else:
            if self._total >= self._most:
                self._make_room()
            self._put(gateway, event)

    def in_order(self) -> None:
        """Each gateway's records come in the order in which it wrote them from now on, some of them twice."""
        self._unordered = None

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
        return there in self._clients

    def known(self, there: There) -> There:
        """The whereabouts as open connections have them, so that a client's are held once; or what was given."""
        client = self._clients.get(there)
        return there if client is None else client.there

    def left_ms(self, there: There, push: JudgedPush | None = None) -> int | None:
        """When a client closed its last connection, with its like on the same host; or else the one it pushed on; None where not known."""
        left_ms = self._departures.left_ms(there)
        return self._departures.closed_ms(push) if left_ms is None and push is not None else left_ms

    def beat_ms(self, gateway: str) -> int:
        """When a gateway, by `clientscope.findings.conditions.gateway_subject`, last sent a heartbeat; 0 where that isn't known."""
        return self._gateways.beat_ms(gateway)

    def _gone(self, gateway: Gateway, at_ms: int) -> None:
        """Nothing is open at a gateway any more."""
        if self._unordered is not None:
            self._unordered.ended(gateway)
        for connection in list(self._open.get(gateway, ())):
            self._leave(self._drop(gateway, connection), at_ms)
        self._open.pop(gateway, None)

    def _leave(self, client: There | None, at_ms: int) -> None:
        if client is not None and client not in self._clients:
            self._departures.left(client, at_ms)

    def open_of(self, owners: Mapping[Who, str]) -> Counter[str]:
        """Connections that these clients have open, by owner. It looks at all clients, a million of them in a fifth of a second."""
        counts: Counter[str] = Counter()
        for client in self._clients.values() if owners else ():
            owner = owners.get((client.principal, client.there.client_id))
            if owner is not None:
                counts[owner] += client.count
        return counts

    def closed(self, now_ms: int) -> Counter[Who]:
        """How many connections each client closed in the last five minutes."""
        return self._rates.at(now_ms)

    def closed_at(self, now_ms: int) -> Iterator[tuple[Who, ClosedAt, int]]:
        """Where, and how many there."""
        return self._rates.origins(now_ms)

    def _make_room(self) -> None:
        """Forgets connections of the tenants that have the most."""
        held = [
            HeldEntry((gateway, number), tenant_of(client.there.principal, client.there.address), 0, number)
            for gateway, connections in self._open.items()
            for number, client in connections.items()
        ]
        gone = beyond(held, self._most)
        self._full.dropped(gone)
        for each in gone:
            gateway, number = cast(tuple[Gateway, int], each.key)
            self._drop(gateway, number)
            if self._unordered is not None:
                self._unordered.forget(gateway, number)

    def _put(self, gateway: Gateway, event: ConnectionChange) -> None:
        there = whereabouts(event.cluster, event.principal, event.client_id, event.address)
        client = self._clients.get(there)
        if client is None:
            client = self._clients[there] = OpenConnections(there, event.principal)
            self._moved[there] = None
            self._departures.back(there)
        client.count += 1
        self._open.setdefault(gateway, {})[event.connection] = client
        self._touched.append((gateway, event.connection))
        self._total += 1

    def _drop(self, gateway: Gateway, connection: int) -> There | None:
        """Forgets a connection; returns whose it was."""
        client = self._open.get(gateway, {}).pop(connection, None)
        if client is None:
            return None
        self._total -= 1
        self._touched.append((gateway, connection))
        client.count -= 1
        if not client.count:
            del self._clients[client.there]
            self._moved[client.there] = None
        return client.there
