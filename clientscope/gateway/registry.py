"""Registry of open connections, the counts per software name and version, and the records of both.

All of it happens in the main process's event loop, so there are no locks; time is passed in. Each change makes one
ClientConnectionRecord with the absolute counts of the series it touched (design: "Gauges tell the truth").
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from sys import intern
from typing import Any, cast

from clientscope.api.gateway import GatewayConnection
from clientscope.bounded import Present, Recent, Shared
from clientscope.catalog.sensitive_names import placeholder
from clientscope.gateway.place import GatewayPlace
from clientscope.model.client_key import scope
from clientscope.model.connection import MOST_COUNTS, ClientConnectionRecord, Passed, SeriesCount, rates
from clientscope.model.enums import OF_GATEWAYS, Kind
from clientscope.model.fields import SecurityProtocol
from clientscope.model.requested_versions import unpack
from clientscope.model.series import MOST_BYTES, MOST_SERIES, OTHER, series_bytes, series_key
from clientscope.model.setting import Setting
from clientscope.policy.interface import RequestContext
from clientscope.policy.redaction import ClientNames
from clientscope.session.state import UNKNOWN, Identity

# franz-go was seen to say its name on its first connection alone. A connection that says nothing is recognised by client id, address
# and principal together; that is an inference, shown as such, and never counted.
_MOST = 10_000

_ANY = placeholder()
"""A client id that was redacted without a digest, so that its client is unknown."""


class KnownClients:
    """The software that each client said last; the 10,000 most recent clients."""

    def __init__(self) -> None:
        self._software: Recent[tuple[str, str, str | None], tuple[str, str]] = Recent(_MOST)

    def said(self, address: str, identity: Identity) -> None:
        """Remembers what a connection said."""
        if identity.client_id and identity.client_id != _ANY and identity.software_name != UNKNOWN:
            self._software[identity.client_id, address, identity.principal] = identity.software_name, identity.software_version

    def infer(self, address: str, identity: Identity) -> tuple[str, str] | None:
        """Name and version of a connection that didn't say, if its client once did."""
        if identity.software_name != UNKNOWN or not identity.client_id:
            return None
        return self._software.get((identity.client_id, address, identity.principal))


# The counts heal by themselves, with the next heartbeat. A single connection does not: readers would show one that has long closed, or
# miss one that is open. No I/O, no clock. Memory is bounded by what was open: a connection that came and went unpublished leaves
# nothing.
class Unpublished:
    """Remembers whose records were dropped."""

    def __init__(self) -> None:
        self._new: set[int] = set()  # open, and no record of theirs was ever taken
        self._changed: dict[int, None] = {}  # open, in order: what the topic says of them is missing or old
        self._closed: dict[int, ClientConnectionRecord] = {}

    def published(self, record: ClientConnectionRecord, taken: bool) -> None:
        """Whether a record was taken, or dropped."""
        if record.kind in OF_GATEWAYS or (taken and not self._changed):
            return
        connection_id = record.connection
        if taken:
            self._forget(connection_id)
        elif record.kind == Kind.CLOSED:
            if connection_id not in self._new:
                self._closed[connection_id] = record
            self._forget(connection_id)
        else:
            if record.kind == Kind.OPENED:
                self._new.add(connection_id)
            self._changed[connection_id] = None

    def take_closed(self, most: int) -> list[ClientConnectionRecord]:
        """The dropped records of connections that have closed, as they were, the oldest first; at most so many."""
        return [self._closed.pop(connection_id) for connection_id in list(self._closed)[:most]]

    def open(self, most: int) -> list[int]:
        """Open connections that are to be recorded again, the longest unpublished first; at most so many."""
        return list(self._changed)[:most]

    def _forget(self, connection_id: int) -> None:
        self._new.discard(connection_id)
        self._changed.pop(connection_id, None)


_OTHERS = (OTHER, OTHER)

_UNKNOWNS = (UNKNOWN, UNKNOWN)

_HEARTBEATS_AT_ZERO = 3

_PRESENT_AFTER_MS = 6 * 60 * 60 * 1000

_RECORDED_LENGTH = 256

_MOST_REQUESTED = 1_024
"""Different lists of versions that are held once."""


@dataclass(frozen=True, slots=True)
class Connection:
    """One open connection.

    Attributes:
        requested: versions that its client has requested, as `clientscope.model.requested_versions.pack`.
    """

    connection_id: int
    client_address: str
    opened_ms: int
    identity: Identity
    series: tuple[str, str]
    requested: bytes = b""


@dataclass(slots=True)
class _Count:
    series: tuple[str, str]
    size: int
    open: int = 0
    opened: int = 0
    closed: int = 0
    heartbeats_at_zero: int = 0


class ConnectionRegistry:
    """Knows every open connection of this gateway.

    Args:
        most_series: (name, version) pairs counted by themselves; a further one counts as (other, other).
        most_bytes: what they may take, by ``model.series.series_bytes``; whichever bound comes first.
        names: judges what clients call themselves.
        hidden: called with the field of each name that was redacted.
    """

    def __init__(
        self,
        place: GatewayPlace,
        most_series: int = MOST_SERIES,
        most_bytes: int = MOST_BYTES,
        names: ClientNames | None = None,
        hidden: Callable[[str], None] = lambda field: None,
    ) -> None:
        self.place = place
        self.names = names or ClientNames()
        self._hidden = hidden
        self.connections: dict[int, Connection] = {}
        self._counts: dict[tuple[str, str], _Count] = {}
        self._known = KnownClients()
        self._addresses: Present[str] = Present()
        self._most_series = most_series
        self._most_bytes = most_bytes
        self._bytes = self._opened = self._closed = 0
        self._sequence = 0
        self._requested: Shared[bytes] = Shared(_MOST_REQUESTED)
        self._leaks: dict[int, tuple[Setting, ...]] = {}
        self._recorded_ms: dict[int, int] = {}  # when each open connection was last on the topic, the longest ago first

    def opened(self, connection_id: int, client_address: str, now_ms: int, identity: Identity | None = None) -> ClientConnectionRecord:
        """A client has connected, under an id that no other connection of this gateway's has had, and may have identified itself."""
        client_address = intern(client_address)
        if identity is None:
            identity, series = self.place.identity, _UNKNOWNS
        else:
            identity = self._recorded(connection_id, identity)
            self._known.said(client_address, identity)
            series = self._series(identity)
        connection = Connection(connection_id, client_address, now_ms, identity, series)
        self.connections[connection_id] = connection
        self._addresses[client_address] += 1
        self._opened += 1
        self._enter(series)
        return self._event(Kind.OPENED, now_ms, connection)

    def identified(self, connection_id: int, identity: Identity, now_ms: int) -> ClientConnectionRecord | None:
        """A client has identified itself; None if that connection is gone."""
        before = self.connections.get(connection_id)
        if before is None:
            return None
        identity = self._recorded(connection_id, identity)
        self._known.said(before.client_address, identity)
        series = self._series(identity)
        after = replace(before, identity=identity, series=series)
        self.connections[connection_id] = after
        left = []
        if series != before.series:
            self._leave(before.series)
            self._enter(series)
            left.append(before.series)
        said = before.identity
        names = {"previous_software_name": said.software_name, "previous_software_version": said.software_version}
        return self._event(Kind.IDENTIFIED, now_ms, after, *left, **names)

    def used(self, connection_id: int, versions: bytes, now_ms: int) -> ClientConnectionRecord | None:
        """A client has requested these versions; None if that is known, or the connection is gone."""
        before = self.connections.get(connection_id)
        if before is None or before.requested == versions:
            return None
        after = replace(before, requested=self._requested.same(versions))
        self.connections[connection_id] = after
        return self._event(Kind.PRESENT, now_ms, after)

    def closed(self, connection_id: int, reason: str, now_ms: int, requested: bytes | None = None) -> ClientConnectionRecord | None:
        """A connection has ended, for the first time that this is called; None afterwards.

        Args:
            requested: versions that its client has requested; None for those that are known.
        """
        connection = self.connections.pop(connection_id, None)
        if connection is None:
            return None
        if requested is not None:
            connection = replace(connection, requested=requested)
        self._addresses.leave(connection.client_address)
        self._closed += 1
        self._leaks.pop(connection_id, None)
        self._leave(connection.series)
        record = self._event(Kind.CLOSED, now_ms, connection, reason=reason)
        del self._recorded_ms[connection_id]
        return record

    def present(self, now_ms: int) -> list[ClientConnectionRecord]:
        """Records again what has not been on the topic for six hours, so that its last day holds all that are open."""
        records = []
        for connection_id, recorded_ms in list(self._recorded_ms.items()):
            if now_ms - recorded_ms < _PRESENT_AFTER_MS:
                break
            connection = self.connections[connection_id]
            records.append(self._event(Kind.PRESENT, now_ms, connection))
        return records

    def again(self, connection_ids: Iterable[int], now_ms: int) -> list[ClientConnectionRecord]:
        """Records these once more, as far as they are open: the topic has missed something of them."""
        found = [self.connections[connection_id] for connection_id in connection_ids if connection_id in self.connections]
        return [self._event(Kind.PRESENT, now_ms, connection) for connection in found]

    def heartbeat(self, now_ms: int, interval_ms: int) -> list[ClientConnectionRecord]:
        """All counts, in parts; ``interval_ms`` 0 says that there will be no further one.

        A series at zero is sent three times more, for readers that lost the record of its last close, and is then forgotten. If it
        appears again, it counts from zero.
        """
        listed = []
        for series, count in list(self._counts.items()):
            if count.open == 0:
                count.heartbeats_at_zero += 1
                if count.heartbeats_at_zero > _HEARTBEATS_AT_ZERO:
                    del self._counts[series]
                    self._bytes -= count.size
                    continue
            listed.append(series)
        parts = [listed[start : start + MOST_COUNTS] for start in range(0, len(listed), MOST_COUNTS)] or [[]]
        instances = self.instances()
        return [
            self._record(
                Kind.HEARTBEAT,
                now_ms,
                touched,
                heartbeat_part=part,
                heartbeat_parts=len(parts),
                heartbeat_interval_ms=interval_ms,
                instances=instances,
                opened=self._opened,
                closed=self._closed,
                host=self.place.host,
            )
            for part, touched in enumerate(parts)
        ]

    def traffic(self, now_ms: int, measured_ms: int, passed: Mapping[int, Passed]) -> ClientConnectionRecord:
        """Bytes that have passed through connections, by their ids, within a time."""
        return self._record(Kind.TRAFFIC, now_ms, (), measured_ms=measured_ms, traffic=rates(measured_ms, passed))

    def open_from(self, client_address: str) -> int:
        """Open connections of one address."""
        return self._addresses[client_address]

    def listing(self) -> list[GatewayConnection]:
        """Every open connection. From any thread."""
        place = self.place
        return [
            GatewayConnection(
                client_id=connection.identity.client_id,
                client_name=connection.identity.software_name,
                client_version=connection.identity.software_version,
                inferred=self._known.infer(connection.client_address, connection.identity),
                client_address=connection.client_address,
                principal=connection.identity.principal,
                listener=place.listener_name,
                security_protocol=place.security_protocol,
                client_instance_id=str(connection.identity.instance_id) if connection.identity.instance_id else None,
                connection_id=connection.connection_id,
                opened_ms=connection.opened_ms,
            )
            for connection in list(self.connections.values())
        ]

    def counts(self) -> dict[tuple[str, str], int]:
        """Open connections per (name, version), those at zero left out. From any thread."""
        return {series: count.open for series, count in list(self._counts.items()) if count.open}

    def instances(self) -> int:
        """Different clients with an instance id that are connected (KIP-1324's ClientConfigInstances). From any thread."""
        return len(self.instance_keys())

    def instance_keys(self) -> set[tuple[object, ...]]:
        """What distinguishes them, on whichever broker. From any thread."""
        cluster, known = self.place.cluster_id, [(each.identity, each.client_address) for each in list(self.connections.values())]
        return {(of.instance_id, scope(cluster, of.principal, address)) for of, address in known if of.instance_id is not None}

    def context(self, connection_id: int, correlation_id: int = 0) -> RequestContext | None:
        """The context of a request for a policy; None if its connection is gone."""
        connection = self.connections.get(connection_id)
        if connection is None:
            return None
        place, identity = self.place, connection.identity
        return RequestContext(
            cluster_id=place.cluster_id,
            broker_id=place.broker_id,
            gateway_id=place.gateway_id,
            gateway_epoch=place.gateway_epoch,
            connection_id=connection_id,
            listener_name=place.listener_name,
            security_protocol=place.security_protocol,
            client_address=connection.client_address,
            principal=identity.principal,
            principal_source=identity.principal_source,
            client_id=identity.client_id,
            software_name=identity.software_name,
            software_version=identity.software_version,
            client_instance_id=identity.instance_id,
            correlation_id=correlation_id,
        )

    def software(self, connection: Connection) -> tuple[str, str]:
        """Name and version of a connection's client, or what another connection of the same client has said."""
        identity = connection.identity
        return self._known.infer(connection.client_address, identity) or (identity.software_name, identity.software_version)

    def leaks(self, connection_id: int) -> tuple[Setting, ...]:
        """Names of a connection's client that hold a credential, as settings that may be written down."""
        return self._leaks.get(connection_id, ())

    def knows_as(self, connection_id: int, identity: Identity) -> bool:
        """Whether that is what is recorded of an open connection, bounded and judged."""
        connection = self.connections.get(connection_id)
        return connection is not None and connection.identity == self._bounded(identity, counted=False)

    def _recorded(self, connection_id: int, identity: Identity) -> Identity:
        """An identity as it is recorded, and what leaked with it."""
        recorded = self._bounded(identity)
        self._leaks.pop(connection_id, None)
        if recorded != identity:  # as it is of few, and looking for what leaked takes as long as all else here
            software = {"software_name": identity.software_name, "software_version": identity.software_version}
            if leaks := self.names.leaks(client_id=identity.client_id, principal=identity.principal, **software):
                self._leaks[connection_id] = leaks
        return recorded

    def _bounded(self, identity: Identity, counted: bool = True) -> Identity:
        """What we record is bounded, and no secret; what passes isn't (the broker has no limit on a name's length)."""

        def recorded(field: str, name: str) -> str:
            shown = self.names(field, name)
            if counted and shown != name:
                self._hidden(field)
            return _held_once(_shortened(shown) if field == "principal" else shown)

        return replace(
            identity,
            software_name=recorded("software_name", identity.software_name),
            software_version=recorded("software_version", identity.software_version),
            client_id=identity.client_id and recorded("client_id", identity.client_id),
            principal=identity.principal and recorded("principal", identity.principal),
        )

    def _series(self, identity: Identity) -> tuple[str, str]:
        series = (identity.software_name, identity.software_version)
        if (count := self._counts.get(series)) is not None:
            return count.series  # one tuple for all
        fits = len(self._counts) < self._most_series and self._bytes + self._size(series) <= self._most_bytes
        return series if fits else _OTHERS

    def _size(self, series: tuple[str, str]) -> int:
        return series_bytes(series_key(self.place.listener_name, *series))

    def _enter(self, series: tuple[str, str]) -> None:
        count = self._counts.get(series)
        if count is None:
            count = self._counts[series] = _Count(series, self._size(series))
            self._bytes += count.size
        count.open += 1
        count.opened += 1
        count.heartbeats_at_zero = 0

    def _leave(self, series: tuple[str, str]) -> None:
        count = self._counts[series]
        count.open -= 1
        count.closed += 1

    def _event(self, kind: Kind, now_ms: int, connection: Connection, *others: tuple[str, str], **more: Any) -> ClientConnectionRecord:
        """What happened to a connection; its series is counted, and the others that it touched."""
        identity = connection.identity
        self._recorded_ms.pop(connection.connection_id, None)
        self._recorded_ms[connection.connection_id] = now_ms
        return self._record(
            kind,
            now_ms,
            (connection.series, *others),
            connection=connection.connection_id,
            address=connection.client_address,
            principal=identity.principal,
            principal_source=identity.principal_source,
            client_id=identity.client_id,
            software_name=identity.software_name,
            software_version=identity.software_version,
            instance_id=str(identity.instance_id) if identity.instance_id else None,
            requested_versions=tuple(unpack(connection.requested)),
            **more,
        )

    def _record(self, kind: Kind, now_ms: int, touched: Iterable[tuple[str, str]], **more: Any) -> ClientConnectionRecord:
        place, counts = self.place, self._counts
        record = ClientConnectionRecord(
            version=1,
            kind=kind,
            cluster=place.cluster_id,
            broker=place.broker_id,
            gateway=place.gateway_id,
            epoch=place.gateway_epoch,
            sequence=self._sequence,
            timestamp_ms=now_ms,
            listener=place.listener_name,
            security_protocol=cast(SecurityProtocol, place.security_protocol),
            counts=tuple(
                SeriesCount(place.listener_name, *series, (count := counts[series]).open, count.opened, count.closed) for series in touched
            ),
            **more,
        )
        self._sequence += 1
        return record


def _shortened(principal: str) -> str:
    """A principal that is too long ends with its digest, so that two with the same beginning stay two clients."""
    if len(principal) <= _RECORDED_LENGTH:
        return principal
    digest = hashlib.sha256(principal.encode("utf-8", "surrogatepass")).hexdigest()[:32]
    return f"{principal[: _RECORDED_LENGTH - len(digest) - 1]}…{digest}"


def _held_once(text: str) -> str:
    """Thousands of connections say the same, so each string is held once, for as long as one of them is open."""
    return intern(text[:_RECORDED_LENGTH])
