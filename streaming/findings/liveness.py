"""Open connections, by their records: a client that fails a rule counts only while it is connected."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import cast

from clientscope.fair_share import HeldEntry, beyond
from clientscope.findings.conditions import gateway_subject
from clientscope.gauges import GatewayKey
from clientscope.presence import FORGOTTEN_MS, MOST_GATEWAYS, MOST_RANGES, GatewayProcess, Presence
from clientscope.records.client_key import tenant_of
from clientscope.records.enums import Kind
from streaming.findings.closings import ClosedAt, ClosingRates, Departures, Who
from streaming.findings.inputs import ConnectionChange, JudgedPush, There, whereabouts
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
GATEWAYS = Limit(
    "gateways",
    MOST_GATEWAYS,
    "gateways",
    "while none was silent for an hour, clients of further ones count as connected for 30 s after a push alone",
    advice="look at who writes to clientscope.connections",
)
CLOSED_RANGES = Limit(
    "closed_ranges",
    MOST_RANGES,
    "ranges of closed connections",
    "of one gateway some connections that are still to be read count as closed: their clients may count as gone",
    "low",
    "look at who writes to clientscope.connections",
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

    Those of a lost gateway count until it has been silent for a day: it may only have been cut off, and a finding that ends is an alert
    that is taken back.
    """

    def __init__(self, most: int = CONNECTIONS.most) -> None:
        self._most = most
        self._gateways_full, self._ranges_full = Overflow(GATEWAYS), Overflow(CLOSED_RANGES)
        self._presence: Presence[OpenConnections] = Presence(
            self._ended,
            no_room=lambda gateway: self._gateways_full.exceeded(gateway_subject(*gateway)[:200]),
            narrowed=lambda gateway: self._ranges_full.exceeded(gateway_subject(*gateway)[:200]),
        )
        self._clients: dict[There, OpenConnections] = {}
        self._total = 0
        self._rates = ClosingRates()
        self._departures = Departures()
        self._full = Overflow(replace(CONNECTIONS, most=most))
        self._touched: list[tuple[GatewayKey, int]] = []
        self._moved: dict[There, None] = {}

    @property
    def limits(self) -> tuple[Overflow, ...]:
        """What its bounds left out."""
        return (
            self._full,
            self._ranges_full,
            self._gateways_full,
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
        """How much is known of closed connections."""
        return self._presence.ranges

    def apply(self, event: ConnectionChange) -> None:
        """Takes in one."""
        process = self._presence.process((event.cluster, event.broker, event.gateway), event.epoch, event.appended_ms)
        if process is None:
            return
        if event.kind == Kind.HEARTBEAT:
            self._presence.heard(process, event.sequence, event.interval_ms, event.appended_ms)
        elif event.kind != Kind.CLOSED:
            if process.takes(event.connection, event.sequence):
                self._drop(process, event.connection)
                if self._total >= self._most:
                    self._make_room()
                self._put(process, event)
        elif self._presence.close(process, event.connection):
            self._rates.count(event)
            self._leave(self._drop(process, event.connection), event.appended_ms)
            self._touched.append((process.key, event.connection))  # though it was never known as open: its client's grace ends
            self._departures.closed(event)

    def forget(self, now_ms: int) -> None:
        """Ends what is open at gateways of which no heartbeat has come for a day."""
        for process in self._presence.processes.values():
            if process.gone_ms is None and now_ms - process.heard_ms > FORGOTTEN_MS:
                self._presence.lose(process, process.heard_ms)
        self._presence.forget(now_ms)

    def news(self) -> tuple[list[tuple[GatewayKey, int]], Iterable[There]]:
        """What has changed since the last call: connections, by gateway and number, and clients that have their first one, or no more."""
        touched, moved = self._touched, self._moved
        if touched or moved:
            self._touched, self._moved = [], {}
        return touched, moved

    def is_open(self, push: JudgedPush) -> bool:
        """Whether the connection is open that a client pushed on."""
        process = self._presence.processes.get(push.gateway_key)
        return process is not None and process.epoch == push.epoch and push.connection in process.open

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

    def beat_ms(self, subject: str) -> float:
        """When a gateway, by `clientscope.findings.conditions.gateway_subject`, last sent a heartbeat; 0 where that isn't known."""
        heard = (process for key, process in self._presence.processes.items() if gateway_subject(*key) == subject)
        return max((process.heard_ms for process in heard if process.interval_ms is not None), default=0)

    def _ended(self, process: GatewayProcess[OpenConnections], at_ms: float) -> None:
        """Nothing is open at a gateway any more."""
        for connection in list(process.open):
            self._leave(self._drop(process, connection), int(at_ms))

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
            HeldEntry((process.key, number), tenant_of(client.there.principal, client.there.address), 0, number)
            for process in self._presence.processes.values()
            for number, (_, client) in process.open.items()
        ]
        gone = beyond(held, self._most)
        self._full.dropped(gone)
        for each in gone:
            gateway, number = cast(tuple[GatewayKey, int], each.key)
            self._drop(self._presence.processes[gateway], number)

    def _put(self, process: GatewayProcess[OpenConnections], event: ConnectionChange) -> None:
        there = whereabouts(event.cluster, event.principal, event.client_id, event.address)
        client = self._clients.get(there)
        if client is None:
            client = self._clients[there] = OpenConnections(there, event.principal)
            self._moved[there] = None
            self._departures.back(there)
        client.count += 1
        process.open[event.connection] = event.sequence, client
        self._touched.append((process.key, event.connection))
        self._total += 1

    def _drop(self, process: GatewayProcess[OpenConnections], connection: int) -> There | None:
        """Forgets a connection; returns whose it was."""
        if connection not in process.open:
            return None
        _, client = process.open.pop(connection)
        self._total -= 1
        self._touched.append((process.key, connection))
        client.count -= 1
        if not client.count:
            del self._clients[client.there]
            self._moved[client.there] = None
        return client.there
