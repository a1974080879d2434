"""Liveness of the clients that pushed: whether each is connected, by the connections that `clientscope.presence` says are open.

A client is connected while the connection that it pushed on is open; for `GRACE_MS` after its push, until that connection is closed, since
its record may still be unread; and, being the newest one with its principal, client.id and address, while any connection with the same is
open: clients close what is idle, and which of the others is theirs isn't known.

What a client pushes beats what it logs, and that beats what was seen of its requests: while a client is connected that has declared its
configuration, other records of its names and type count as those of a client that isn't. So it counts once, and by what it says.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from sys import intern
from typing import NamedTuple, cast

from clientscope.catalog.configs import ClientType
from clientscope.fair_share import HeldEntry, beyond
from clientscope.findings.conditions import gateway_subject
from clientscope.model.client_key import tenant_of
from clientscope.model.connection import ClientConnectionRecord
from clientscope.model.enums import Kind
from clientscope.model.gauge import GatewayKey
from clientscope.model.input import InputRecord
from clientscope.presence import FORGOTTEN_MS, MOST_GATEWAYS, MOST_RANGES, GatewayProcess, Presence
from streaming.findings import ordered
from streaming.findings.inputs import JudgedPush, SeenAs, There, whereabouts
from streaming.limits import Limit, Overflow

GRACE_MS = 30_000
"""For so long after its push a client counts as connected whose connection hasn't been read yet."""

_WINDOW_MS = 5 * 60_000

_SLICE_MS = 10_000

MOST_CLOSINGS = 2_000

MOST_CLOSED = 100_000

MOST_LEFT = 100_000

CLOSINGS = Limit(
    "closings",
    MOST_CLOSINGS,
    "clients of one principal, and places, that close connections within ten seconds",
    "AN404 counts the others together, as a client without client.id, and doesn't name where",
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
    """Where connections were closed, and by what; ``software`` is a name and a version. All are empty where that is left out."""

    broker: int | str
    address: str
    software: str


_LEFT_OUT = ClosedAt("", "", "")

Closings = Counter[tuple[Who, ClosedAt]]
"""How many connections each client closed where."""


class ClosingRates:
    """What was closed in the last five minutes.  Times are ms since the epoch, of Kafka's clock."""

    def __init__(self) -> None:
        self.full = Overflow(CLOSINGS)
        self._slices: dict[int, Closings] = {}
        self._newest_ms = 0
        self._different: Counter[str | None] = Counter()  # of each principal, since the last slice began

    def count(self, event: InputRecord) -> None:
        """A connection was closed."""
        record, begin = event.record, event.appended_ms // _SLICE_MS * _SLICE_MS
        principal = record.principal
        if begin > self._newest_ms:
            self._newest_ms = begin
            self._different.clear()
            self._end(begin)
        if begin <= self._newest_ms - _WINDOW_MS:
            return
        software = " ".join(filter(None, (record.software_name, record.software_version)))
        closed = (principal, record.client_id), ClosedAt(record.broker, record.address, software)
        counts = self._slices.setdefault(begin, Counter())
        if closed not in counts:
            if self._different[principal] < MOST_CLOSINGS:
                self._different[principal] += 1
            else:
                closed = (principal, None), _LEFT_OUT
                self.full.left_out(tenant_of(principal, record.address))
        counts[closed] += 1

    def at(self, now_ms: int) -> Closings:
        """Within the five minutes before."""
        self._end(now_ms)
        total: Closings = Counter()
        for counts in self._slices.values():
            total.update(counts)
        return total

    def _end(self, now_ms: int) -> None:
        self._slices = {begin: counts for begin, counts in self._slices.items() if begin > now_ms - _WINDOW_MS}


class Departures:
    """Connections that were closed a moment ago, and when clients left.  Times are ms since the epoch, of Kafka's clock."""

    def __init__(self) -> None:
        self.closed_full, self.left_full = Overflow(CLOSED), Overflow(LEFT)
        self._closed: dict[tuple[GatewayKey, int, int], int] = {}
        self._left: dict[There, int] = {}

    def closed(self, gateway: GatewayKey, event: InputRecord) -> None:
        """A connection was closed."""
        record, at_ms = event.record, event.appended_ms
        self._closed[gateway, record.epoch, record.connection] = at_ms
        while next(iter(self._closed.values())) < at_ms - 2 * GRACE_MS:
            del self._closed[next(iter(self._closed))]
        if len(self._closed) > MOST_CLOSED:
            del self._closed[next(iter(self._closed))]
            self.closed_full.left_out(tenant_of(record.principal, record.address))

    def closed_ms(self, push: JudgedPush) -> int | None:
        """When the connection was closed that a client pushed on; None where that isn't known, or was more than a minute ago."""
        return self._closed.get((push.gateway_key, push.epoch, push.connection))

    def left(self, there: There, at_ms: int) -> None:
        """A client closed its last connection; one that it closed before may be read after it."""
        self._left[there] = max(at_ms, self._left.pop(there, 0))
        if len(self._left) > MOST_LEFT:
            del self._left[next(iter(self._left))]
            self.left_full.left_out(tenant_of(there.principal, there.address))

    def back(self, there: There, at_ms: int) -> None:
        """It has one again, or what is read was open before it left."""
        if self._left.get(there, at_ms) <= at_ms:
            self._left.pop(there, None)

    def left_ms(self, there: There) -> int | None:
        """When it left; None where that isn't known."""
        return self._left.get(there)


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
        closed_ms: when the last of those was closed that aren't; partitions are read one after the other.
    """

    there: There
    principal: str | None
    count: int = 0
    closed_ms: int = 0


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

    def apply(self, event: InputRecord) -> None:
        """Takes in one."""
        record = event.record
        key, number = (record.cluster, record.broker, record.gateway), record.connection
        process = self._presence.process(key, record.epoch, event.appended_ms)
        if process is None:
            return
        if record.kind == Kind.HEARTBEAT:
            self._presence.heard(process, record.sequence, record.heartbeat_interval_ms, event.appended_ms)
        elif record.kind != Kind.CLOSED:
            if process.takes(number, record.sequence):
                self._drop(process, number)
                if self._total >= self._most:
                    self._make_room()
                self._put(process, record, event.appended_ms)
        elif self._presence.close(process, number):
            self._rates.count(event)
            there, dropped = _there(record), self._drop(process, number)
            # What identified it may be still to be read: then it was dropped as another client's.
            client = dropped if dropped is not None and dropped.there == there else self._clients.get(there)
            self._leave(there, client, event.appended_ms)
            self._touched.append((process.key, number))  # though it was never known as open: its client's grace ends
            self._departures.closed(process.key, event)

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
        left_ms = None if self.has(there) else self._departures.left_ms(there)
        return self._departures.closed_ms(push) if left_ms is None and push is not None else left_ms

    def beat_ms(self, subject: str) -> float:
        """When a gateway, by `clientscope.findings.conditions.gateway_subject`, last sent a heartbeat; 0 where that isn't known."""
        heard = (process for key, process in self._presence.processes.items() if gateway_subject(*key) == subject)
        return max((process.heard_ms for process in heard if process.interval_ms is not None), default=0)

    def _ended(self, process: GatewayProcess[OpenConnections], at_ms: float) -> None:
        """Nothing is open at a gateway any more."""
        for connection in list(process.open):
            if (client := self._drop(process, connection)) is not None:
                self._leave(client.there, client, int(at_ms))

    def _leave(self, there: There, client: OpenConnections | None, at_ms: int) -> None:
        if client is None:  # what it closed was never read as open
            self._departures.left(there, at_ms)
            return
        client.closed_ms = max(at_ms, client.closed_ms)
        if not client.count:
            self._departures.left(client.there, client.closed_ms)

    def open_of(self, owners: Mapping[Who, str]) -> Counter[str]:
        """Connections that these clients have open, by owner. It looks at all clients, a million of them in a fifth of a second."""
        counts: Counter[str] = Counter()
        for client in self._clients.values() if owners else ():
            owner = owners.get((client.principal, client.there.client_id))
            if owner is not None:
                counts[owner] += client.count
        return counts

    def closed(self, now_ms: int) -> Closings:
        """What was closed in the last five minutes."""
        return self._rates.at(now_ms)

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

    def _put(self, process: GatewayProcess[OpenConnections], record: ClientConnectionRecord, at_ms: int) -> None:
        there = _there(record)
        client = self._clients.get(there)
        if client is None:
            client = self._clients[there] = OpenConnections(there, record.principal and intern(record.principal))
            self._moved[there] = None
            self._departures.back(there, at_ms)
        client.count += 1
        process.open[record.connection] = record.sequence, client
        self._touched.append((process.key, record.connection))
        self._total += 1

    def _drop(self, process: GatewayProcess[OpenConnections], connection: int) -> OpenConnections | None:
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
        return client


def _there(record: ClientConnectionRecord) -> There:
    return whereabouts(record.cluster, record.principal, record.client_id, record.address)


_MOST_ALIKE = 64
"""Clients of the same names that are looked through for one that has declared its configuration, the newest first."""

_TYPES = (None, *(each.value for each in ClientType))

_Alike = tuple[There, int, str | None]
"""Whereabouts, rank, and the type of what a client hasn't pushed."""


class LivePushes:
    """Of the newest push of each client.  Times are ms since the epoch.

    Args:
        moved: called with a push and whether its client is connected, each time that this changes while it is known.

    Attributes:
        live: the clients that are connected.
    """

    def __init__(self, liveness: Liveness, moved: Callable[[JudgedPush, bool], None]) -> None:
        self.live: set[str] = set()
        self._liveness = liveness
        self._moved = moved
        self._alike: dict[_Alike, ordered.Several] = {}
        self._seen: dict[SeenAs, None] = {}
        self._shifted: dict[SeenAs, None] = {}
        self._on: dict[GatewayKey, dict[int, ordered.Several]] = {}
        self._fresh: dict[str, JudgedPush] = {}
        self._now_ms = 0

    def came(self, push: JudgedPush, before: JudgedPush | None) -> bool:
        """It is its client's newest from now on, in place of the one before; whether the client is connected."""
        self._now_ms = max(self._now_ms, push.appended_ms)
        if before is not None:
            self._without(before, before.there != push.there)
        if self._now_ms - push.appended_ms < GRACE_MS and not self._liveness.closed_lately(push):
            self._fresh[push.client] = push
        numbers = self._on.setdefault(push.gateway_key, {})
        numbers[push.connection] = ordered.added(numbers.get(push.connection), push)
        key = _alike(push)
        self._alike[key] = ordered.added(self._alike.get(key), push)
        alike = ordered.each(self._alike[key])
        if push.rank:
            self._seen[push.there, push.client_type] = None
        if len(alike) > 1 and alike[-1] is push:
            self._look(alike[-2])
        is_live = self._is_live(push)
        if is_live:
            self._enter(push)
        self._settle()
        return is_live

    def went(self, push: JudgedPush) -> None:
        """Its client is forgotten."""
        self._without(push, True)
        self._settle()

    def heard(self) -> None:
        """Connections were opened or closed."""
        connections, places = self._liveness.news()
        for gateway, number in connections:
            for push in tuple(ordered.each(self._on.get(gateway, {}).get(number))):
                if push.client in self._fresh and self._liveness.closed_lately(push):
                    del self._fresh[push.client]
                self._look(push)
        for there in places:
            for alike in ((there, 0, None), *((there, 1, client_type) for client_type in _TYPES)):
                if alike in self._alike:
                    self._look(ordered.each(self._alike[alike])[-1])
        self._settle()

    def at(self, now_ms: int) -> None:
        """Advances the time; a clock that is set back lengthens no client's grace."""
        self._now_ms = max(self._now_ms, now_ms)
        for push in [push for push in self._fresh.values() if push.appended_ms + GRACE_MS <= self._now_ms]:
            del self._fresh[push.client]
            self._look(push)
        self._settle()

    def declared(self) -> Iterator[tuple[JudgedPush, JudgedPush]]:
        """What connected clients have declared, each beside what was seen of its requests at each gateway."""
        for there, client_type in self._seen:
            alike = ordered.each(self._alike.get((there, 0, None)))
            said = [each for each in alike[-_MOST_ALIKE:] if each.client_type == client_type and each.client in self.live]
            of_requests = ordered.each(self._alike[there, 1, client_type])[-_MOST_ALIKE:]
            yield from ((said[-1], seen) for seen in of_requests if len(said) == 1)

    def is_declared(self, push: JudgedPush) -> bool:
        """Whether a client of these names and this type has pushed its configuration, and this record is only of its requests.

        Whether it is still connected doesn't matter: a record of its requests may be read after it has left.
        """
        if not push.rank:
            return False
        alike = ordered.each(self._alike.get((push.there, 0, None)))
        return any(each.client_type == push.client_type for each in alike[-_MOST_ALIKE:])

    def _is_live(self, push: JudgedPush) -> bool:
        if self.is_declared(push):
            return False
        if push.client in self._fresh or self._liveness.is_open(push):
            return True
        return ordered.each(self._alike[_alike(push)])[-1] is push and self._liveness.has(push.there)

    def _enter(self, push: JudgedPush) -> None:
        self.live.add(push.client)
        self._shifted[push.there, push.client_type] = None

    def _leave(self, push: JudgedPush) -> None:
        if push.client in self.live:
            self.live.discard(push.client)
            self._shifted[push.there, push.client_type] = None

    def _settle(self) -> None:
        """Looks again at what is seen of clients that have begun to declare their configuration, or declare none any more."""
        while self._shifted:
            there, client_type = self._shifted.popitem()[0]
            for push in tuple(ordered.each(self._alike.get((there, 1, client_type)))):
                self._look(push)

    def _without(self, push: JudgedPush, is_next: bool) -> None:
        """Removes a push; the next newest with the same principal, client.id and address then represents them."""
        self._leave(push)
        self._fresh.pop(push.client, None)
        numbers = self._on[push.gateway_key]
        if (others := ordered.without(numbers.pop(push.connection), push)) is not None:
            numbers[push.connection] = others
        elif not numbers:
            del self._on[push.gateway_key]
        key = _alike(push)
        alike = self._alike.pop(key)
        was_newest = ordered.each(alike)[-1] is push
        if (others := ordered.without(alike, push)) is not None:
            self._alike[key] = others
            if was_newest and is_next:
                self._look(ordered.each(others)[-1])
        elif push.rank:
            self._seen.pop((push.there, push.client_type), None)

    def _look(self, push: JudgedPush) -> None:
        is_live = self._is_live(push)
        if is_live != (push.client in self.live):
            (self._enter if is_live else self._leave)(push)
            self._moved(push, is_live)


def _alike(push: JudgedPush) -> _Alike:
    return push.there, push.rank, push.client_type if push.rank else None
