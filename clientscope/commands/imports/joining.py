"""Which live client a logged one is, where that is certain. Pure: connections' records and starts in logs in, pairs out.

A log says client.id, library, version and when the client started; a connection says these, its address and its principal. Pods share
client.ids, processes start again, clocks differ, and some clients have no log, or reach the brokers past the gateways. So a start is a live
client's only if

- the principals are the same, and neither is unknown: who writes a log can't give settings to clients of others;
- exactly one client of that client.id and library began (opened a connection while it had none) at about that time, is still connected,
  and hasn't begun again since;
- no other client of these names began within the minute after it without a start in the logs that explains it: it might be the logged one;
- no second start is that client's.

A start without a time is a live client's where all records know one client of its names, and the user chose the client.id.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from clientscope.catalog.dialects import DIALECTS
from clientscope.records.layouts import Kind
from clientscope.records.principals import authenticated
from sinks.dashboard.state.connection_events import AnyEvent

CLOCKS_MS = 5_000
"""How far the clocks of a client's host and of a gateway may be apart."""
CONNECTS_WITHIN_MS = 10_000
"""How long after it has logged its settings a client opens its first connection."""
LATE_MS = 60_000
"""How long after it has logged its settings a client's first connection may come at the latest, where another one of its names began."""
MOST_CLIENTS = 100_000
"""Of those that are looked for."""
_MOST_BEGINNINGS = 64

_CHOSEN_BY_LIBRARY = re.compile(
    r"(?:producer|consumer|adminclient|connector-(?:producer|consumer|adminclient))-.*|rdkafka|sarama|kgo", re.S
)
_UNKNOWN = "unknown"
_LIBRARIES = {software.lower(): dialect.name for dialect in DIALECTS for software in dialect.software}


class SeenIdentity(NamedTuple):
    """What connections of one client have in common.

    Attributes:
        principal: None for one that doesn't authenticate.
    """

    cluster_id: str
    principal: str | None
    client_id: str
    address: str
    software_name: str
    software_version: str


_Names = tuple[str, str | None]
_Beginning = tuple[int, SeenIdentity]


class LoggedStart(NamedTuple):
    """A start of a client, as a log says it.

    Attributes:
        key: of its record.
        library: the name of its dialect.
        principal: None for one that doesn't authenticate.
        principal_known: whether that is known.
        started_ms: None where the log has no times.
        last: it is the newest of its client in its log.
    """

    key: str
    client_id: str
    library: str
    software_version: str
    principal: str | None
    principal_known: bool
    started_ms: int | None
    last: bool = True


@dataclass(slots=True)
class RecordedClient:
    """A client that connections' records have shown.

    Attributes:
        open: its open connections.
        beginnings: when it opened a connection while it had none, in ms since the epoch by the gateways' clocks; ascending.
        older: it was connected before the records began.
        forgot_ms: the newest of the beginnings that were too many; 0 for none.
        pushed: it pushes its configuration itself.
    """

    identity: SeenIdentity
    broker_id: int
    listener: str
    security_protocol: str
    open: int = 0
    beginnings: list[int] = field(default_factory=list)
    older: bool = False
    forgot_ms: int = 0
    pushed: bool = False

    def began_between(self, first_ms: int, last_ms: int) -> list[int]:
        """Its beginnings from the one to the other."""
        at = bisect_left(self.beginnings, first_ms)
        return [each for each in self.beginnings[at:] if each <= last_ms]

    def began(self, at_ms: int) -> None:
        """Notes a beginning."""
        self.beginnings.insert(bisect_left(self.beginnings, at_ms), at_ms)
        if len(self.beginnings) > _MOST_BEGINNINGS:
            self.forgot_ms = max(self.forgot_ms, self.beginnings.pop(0))


@dataclass(slots=True)
class _GatewayProcess:
    epoch: int
    open: dict[int, tuple[int | None, SeenIdentity | None]] = field(default_factory=dict)
    closed: deque[int] = field(default_factory=lambda: deque(maxlen=1_000))
    beat_ms: int = 0
    interval_ms: int = 30_000


class RecordedClients:
    """The clients that connections' records show.

    Attributes:
        since_ms: when the first of these records was made; None before it.
        too_many: there are more than `MOST_CLIENTS`, so nothing is certain.

    Args:
        wanted: which client.ids are looked for.
    """

    def __init__(self, wanted: Callable[[str], bool] = lambda client_id: True) -> None:
        self.clients: dict[SeenIdentity, RecordedClient] = {}
        self.since_ms: int | None = None
        self.too_many = False
        self._wanted = wanted
        self._gateways: dict[tuple[str, str], _GatewayProcess] = {}

    def apply(self, event: AnyEvent) -> None:
        """Takes a record, in the order of its partition."""
        self.since_ms = event.timestamp_ms if self.since_ms is None else min(self.since_ms, event.timestamp_ms)
        name = event.cluster_id, event.gateway_id
        gateway = self._gateways.get(name)
        if gateway is None or event.gateway_epoch > gateway.epoch:
            if gateway is not None:
                self._end(gateway)
            gateway = self._gateways[name] = _GatewayProcess(event.gateway_epoch)
        elif event.gateway_epoch < gateway.epoch:
            return
        gateway.beat_ms = max(gateway.beat_ms, event.timestamp_ms)
        if event.kind == Kind.HEARTBEAT:
            gateway.interval_ms = event.heartbeat_interval_ms
            if not event.heartbeat_interval_ms:
                self._end(gateway)
        elif event.kind == Kind.CLOSED:
            self._leave(gateway.open.pop(event.connection_id, None))
            gateway.closed.append(event.connection_id)
        elif event.connection_id not in gateway.closed:
            self._enter(gateway, event)

    def silent(self, now_ms: int) -> None:
        """Gateways that haven't been heard of for three of their intervals have no connections."""
        for gateway in self._gateways.values():
            if now_ms - gateway.beat_ms > 3 * max(gateway.interval_ms, 1_000):
                self._end(gateway)

    def _enter(self, gateway: _GatewayProcess, event: AnyEvent) -> None:
        before = gateway.open.get(event.connection_id)
        opened_ms = before[0] if before else (event.timestamp_ms if event.kind == Kind.OPENED else None)
        identity = _identity(event) if event.client_id and self._wanted(event.client_id) else None
        if before and before[1] == identity:
            return
        self._leave(before)
        gateway.open[event.connection_id] = opened_ms, identity
        if identity is None:
            return
        client = self.clients.get(identity)
        if client is None:
            if len(self.clients) >= MOST_CLIENTS:
                self.too_many = True
                return
            client = RecordedClient(identity, event.broker_id, event.listener_name, event.security_protocol)
            self.clients[identity] = client
        if opened_ms is None:
            client.older = True
        elif not client.open:
            client.began(opened_ms)
        client.open += 1

    def _leave(self, connection: tuple[int | None, SeenIdentity | None] | None) -> None:
        if connection and connection[1] and (client := self.clients.get(connection[1])):
            client.open = max(0, client.open - 1)

    def _end(self, gateway: _GatewayProcess) -> None:
        for connection in gateway.open.values():
            self._leave(connection)
        gateway.open.clear()


def join(starts: Iterable[LoggedStart], seen: RecordedClients) -> dict[str, RecordedClient]:
    """Of each logged client that is certainly a live one: its record's key → that client.

    Args:
        starts: all in the logs, since each explains what is seen of its client.
    """
    if seen.since_ms is None or seen.too_many:
        return {}
    clients: dict[_Names, list[RecordedClient]] = {}
    for client in seen.clients.values():
        clients.setdefault((client.identity.client_id, client.identity.principal), []).append(client)
    by_names: dict[_Names, list[LoggedStart]] = {}
    for start in starts:
        if start.principal_known and start.client_id:
            by_names.setdefault((start.client_id, start.principal), []).append(start)
    claims: list[tuple[str, RecordedClient]] = []
    for names, alike in by_names.items():
        claims += _Alike(alike, clients.get(names, []), seen.since_ms).claims()
    claimed = Counter(client.identity for _, client in claims)
    return {key: client for key, client in claims if claimed[client.identity] == 1 and client.open and not client.pushed}


class _Alike:
    """Starts and clients of the same names: which belong together."""

    def __init__(self, starts: list[LoggedStart], clients: list[RecordedClient], since_ms: int) -> None:
        self._starts, self._clients = starts, clients
        self._times = sorted(start.started_ms for start in starts if start.started_ms is not None)
        self._timed = [start for start in starts if start.started_ms is not None and start.started_ms - CLOCKS_MS >= since_ms]
        self._taken: set[_Beginning] = set()

    def claims(self) -> Iterator[tuple[str, RecordedClient]]:
        """Of each start that is its client's last, and that has but one client: its key, and that client."""
        timed = {id(start) for start in self._timed}
        for start in self._starts:
            candidates = [client for client in self._clients if _may_be(client.identity, start)]
            chosen_by_user = not _CHOSEN_BY_LIBRARY.fullmatch(start.client_id)
            if start.last and id(start) not in timed and chosen_by_user and len(candidates) == 1:
                yield start.key, candidates[0]
        for start, (began_ms, client) in self._matched():
            if start.last and client.beginnings[-1] == began_ms:
                yield start.key, client

    def _matched(self) -> Iterator[tuple[LoggedStart, tuple[int, RecordedClient]]]:
        """Starts with the one beginning that each can be. What is settled is out of the question for others, so it is asked again."""
        left = self._timed
        while left:
            found = [(start, self._only(start)) for start in left]
            settled = [(start, only) for start, only in found if only is not None]
            claimed = Counter((began_ms, client.identity) for _, (began_ms, client) in settled)
            settled = [(start, only) for start, only in settled if claimed[only[0], only[1].identity] == 1]
            if not settled:
                return
            yield from settled
            self._taken |= {(began_ms, client.identity) for _, (began_ms, client) in settled}
            done = {id(start) for start, _ in settled}
            left = [start for start in left if id(start) not in done]

    def _only(self, start: LoggedStart) -> tuple[int, RecordedClient] | None:
        """The one beginning that a start can be; None where there are several, or none."""
        assert start.started_ms is not None
        around: list[tuple[int, RecordedClient]] = []
        for client in self._clients:
            if not _may_be(client.identity, start):
                continue
            if client.forgot_ms >= start.started_ms - CLOCKS_MS:
                return None
            began = client.began_between(start.started_ms - CLOCKS_MS, start.started_ms + LATE_MS)
            around += [(each, client) for each in began if (each, client.identity) not in self._taken]
        near = [(began_ms, client) for began_ms, client in around if _fits(start.started_ms, began_ms)]
        if len(near) != 1:
            return None
        others = (began_ms for began_ms, client in around if client is not near[0][1])
        return near[0] if all(self._explained(began_ms, start.started_ms) for began_ms in others) else None

    def _explained(self, began_ms: int, besides: int) -> bool:
        """Whether another start than the one at ``besides`` can be what a client's beginning shows."""
        at = bisect_left(self._times, began_ms - CONNECTS_WITHIN_MS - CLOCKS_MS)
        within = [each for each in self._times[at : at + _MOST_BEGINNINGS] if _fits(each, began_ms)]
        return len(within) > (besides in within)


def _fits(started_ms: int, began_ms: int) -> bool:
    return -CLOCKS_MS <= began_ms - started_ms <= CONNECTS_WITHIN_MS + CLOCKS_MS


def _may_be(identity: SeenIdentity, start: LoggedStart) -> bool:
    """Whether library and version contradict nothing; clients before KIP-511 don't say them."""
    library = _LIBRARIES.get(identity.software_name.lower())
    if identity.software_name != _UNKNOWN and library != start.library:
        return False
    return _UNKNOWN in (identity.software_version, start.software_version) or identity.software_version == start.software_version


def _identity(event: AnyEvent) -> SeenIdentity:
    return SeenIdentity(
        event.cluster_id,
        authenticated(event.principal),
        event.client_id or "",
        event.client_address,
        event.client_software_name,
        event.client_software_version,
    )
