"""Open connections, from ``clientscope.connections``."""

from __future__ import annotations

from collections import Counter, OrderedDict
from dataclasses import dataclass, field
from typing import cast

from clientscope.api.overview import GatewayStatus
from clientscope.fair_share import HeldEntry, beyond
from clientscope.profiles.owners import NO_OWNERS, Owners
from clientscope.records.client_key import Tenant, tenant_of
from clientscope.records.connection_record import ClientConnectionRecord, Passed
from clientscope.records.enums import Kind
from clientscope.topic_values import clean
from sinks.dashboard.rows import Database, Lists, Writing
from sinks.dashboard.rows.identity import ClientIdentity, OpenConnection

DEFAULT_INTERVAL_MS = 30_000
"""When to expect a gateway's first heartbeat."""

LOST_AFTER = 3
"""Intervals without a heartbeat after which a gateway is lost."""

_CLOSED_LIMIT = 10_000

_Open = tuple[int, int, str, int | None, int, Tenant]
"""What is needed of an open connection to know what a further record changes: sequence, number of its row, key of its client,
``opened_ms``, ``seen_ms``, and whose it is.  There are very many; Python's garbage collector looks through named tuples again and
again, and not through plain ones."""


@dataclass
class _Gateway:
    """One epoch of one gateway.

    Attributes:
        closed: sequence of the close of recently closed connections, so that a repeated or late record opens none of them again.
        expected_from_ms: Kafka's time of the last heartbeat, or of the first record before there is one.
        busy: whether bytes passed before its last heartbeat.
        lost: its connections are hidden, yet kept: a gateway that was cut off from Kafka for a while comes back with them.
    """

    cluster: str
    broker: int
    epoch: int
    expected_from_ms: int
    heartbeat_ms: int | None = None
    interval_ms: int = DEFAULT_INTERVAL_MS
    open: dict[int, _Open] = field(default_factory=dict)
    closed: OrderedDict[int, int] = field(default_factory=OrderedDict)
    late: bool = False
    lost: bool = False
    busy: bool = False


class ConnectionTable:
    """Open connections by (gateway, epoch, connection), at most ``limit`` of them.

    What doesn't fit is counted in ``dropped``; tenants above their share make room (`clientscope.fair_share`).

    What `apply` takes in comes into the tables by ``writing.flush``: together, which is faster.
    """

    def __init__(
        self, limit: int = 100_000, gateway_limit: int = 10_000, database: Database | None = None, owners: Owners = NO_OWNERS
    ) -> None:
        self.dropped: Counter[str] = Counter()
        self.database = database or Database()
        self.writing = Writing(self.database, owners)
        self.reading = Lists(self.database, self.writing)
        self._limit = limit
        self._gateway_limit = gateway_limit
        self._gateways: dict[str, _Gateway] = {}
        self._held = 0
        self._of_tenant: Counter[Tenant] = Counter()
        self._rows = 0

    def apply(self, record: ClientConnectionRecord, arrived_ms: int) -> bool:
        """Takes one record, in the order of its partition; ``arrived_ms`` is Kafka's time.  Returns whether anything changed."""
        name = clean(record.gateway_id)
        gateway, changed = self._gateway(name, record, arrived_ms)
        if gateway is None:
            return changed
        if record.kind == Kind.HEARTBEAT:
            return self._heartbeat(name, gateway, record, arrived_ms) or changed
        if record.kind == Kind.TRAFFIC:
            return self._traffic(name, gateway, record, arrived_ms) or changed
        if record.kind == Kind.CLOSED:
            return self._close(gateway, record) or changed
        return self._upsert(name, gateway, record) or changed

    def expire(self, now_ms: int) -> bool:
        """Hides the connections of lost gateways.  Only to be called when the topic has been read to its end."""
        changed = False
        for name, gateway in self._gateways.items():
            silent_ms = now_ms - gateway.expected_from_ms
            late, lost = silent_ms > 2 * gateway.interval_ms, silent_ms > LOST_AFTER * gateway.interval_ms
            changed |= (late, lost) != (gateway.late, gateway.lost)
            if lost != gateway.lost:
                self.writing.lose_gateway(name, lost)
            gateway.late, gateway.lost = late, lost
        return changed

    def gateways(self) -> list[GatewayStatus]:
        """The gateways that are there, by name."""
        return [
            GatewayStatus(
                gateway=name,
                cluster=g.cluster,
                broker=g.broker,
                epoch=g.epoch,
                heartbeat_ms=g.heartbeat_ms,
                late=g.late,
            )
            for name, g in sorted(self._gateways.items())
            if not g.lost
        ]

    def lost(self) -> list[str]:
        """Names of the gateways that fell silent without saying goodbye."""
        return sorted(name for name, gateway in self._gateways.items() if gateway.lost)

    def counts(self) -> dict[str, int]:
        """Open connections by gateway; only gateways that have any."""
        return {name: len(g.open) for name, g in self._gateways.items() if g.open and not g.lost}

    def _gateway(self, name: str, record: ClientConnectionRecord, arrived_ms: int) -> tuple[_Gateway | None, bool]:
        """The gateway that a record belongs to, or None where the record is to be ignored; and whether an older epoch ended."""
        gateway = self._gateways.get(name)
        if gateway is not None and record.gateway_epoch <= gateway.epoch:
            return (gateway if record.gateway_epoch == gateway.epoch else None), False
        if gateway is not None:
            self._forget(name, int(record.timestamp_ms))
        elif len(self._gateways) >= self._gateway_limit:
            self.dropped["gateways"] += 1
            return None, False
        gateway = _Gateway(clean(record.cluster_id), record.broker_id, record.gateway_epoch, expected_from_ms=arrived_ms)
        self._gateways[name] = gateway
        return gateway, True

    def _heartbeat(self, name: str, gateway: _Gateway, record: ClientConnectionRecord, arrived_ms: int) -> bool:
        if record.heartbeat_interval_ms <= 0:  # its goodbye
            self._forget(name, int(record.timestamp_ms))
            return True
        changed = gateway.heartbeat_ms is None or gateway.late or gateway.lost
        if gateway.lost:
            self.writing.lose_gateway(name, False)
        gateway.heartbeat_ms = gateway.expected_from_ms = arrived_ms
        gateway.interval_ms = record.heartbeat_interval_ms
        gateway.late = gateway.lost = False
        return changed

    def _traffic(self, name: str, gateway: _Gateway, record: ClientConnectionRecord, arrived_ms: int) -> bool:
        """Bytes per second from clients and to them, by their keys."""
        rates: dict[str, Passed] = {}
        for connection, bytes_in, bytes_out in record.traffic:
            if (known := gateway.open.get(connection)) is not None:
                before = rates.get(known[2], (0, 0))
                rates[known[2]] = before[0] + bytes_in, before[1] + bytes_out
        self.writing.traffic(name, rates, arrived_ms)
        was_busy, gateway.busy = gateway.busy, bool(rates)
        return was_busy or gateway.busy

    def _close(self, gateway: _Gateway, record: ClientConnectionRecord) -> bool:
        connection_id, sequence = record.connection_id, record.sequence
        gateway.closed[connection_id] = sequence
        if len(gateway.closed) > _CLOSED_LIMIT:
            gateway.closed.popitem(last=False)
        known = gateway.open.pop(connection_id, None)
        if known is None:
            return False
        self._gone(known, int(record.timestamp_ms))
        return True

    def _upsert(self, name: str, gateway: _Gateway, record: ClientConnectionRecord) -> bool:
        known = gateway.open.get(record.connection_id)
        if record.connection_id in gateway.closed:
            return False
        opened_ms = int(record.timestamp_ms) if record.kind == Kind.OPENED else None
        identity = _identity(name, record)
        tenant = tenant_of(identity.principal, identity.address)
        if known is None:
            if self._held >= self._limit and not self._make_room(tenant):
                self.dropped["connections"] += 1
                return False
            self._held += 1
            self._rows += 1
            row, seen_ms = self._rows, int(record.timestamp_ms)
        else:
            sequence, row, _, opened_before_ms, seen_ms, _ = known
            if record.sequence <= sequence:
                return False
            opened_ms = opened_before_ms if opened_ms is None else opened_ms
            self._of_tenant[known[-1]] -= 1
        self._of_tenant[tenant] += 1
        new = record.sequence, row, identity.key, opened_ms, seen_ms, tenant
        gateway.open[record.connection_id] = new
        if known is not None and known[1:] == new[1:]:
            return False
        self.writing.open(row, OpenConnection(identity, new[2], record.gateway_epoch, record.connection_id, opened_ms, seen_ms))
        return True

    def _make_room(self, tenant: Tenant) -> bool:
        """For one more connection of this tenant, unless it has its share already."""
        self._of_tenant = +self._of_tenant
        if self._of_tenant[tenant] >= self._limit // max(1, len(self._of_tenant)):
            return False
        held = [
            HeldEntry((gateway, number), known[-1], 0, known[4])
            for gateway, of in self._gateways.items()
            for number, known in of.open.items()
        ]
        gone = beyond(held, self._limit - 1)
        for each in gone:
            gateway, number = cast(tuple[str, int], each.key)
            self._gone(self._gateways[gateway].open.pop(number), None)
        self.dropped["connections"] += len(gone)
        return self._held < self._limit

    def _gone(self, known: _Open, at_ms: int | None) -> None:
        _, row, *_, tenant = known
        self._held -= 1
        self._of_tenant[tenant] -= 1
        self.writing.close(row, at_ms)

    def _forget(self, name: str, at_ms: int) -> None:
        gateway = self._gateways.pop(name)
        for known in gateway.open.values():
            self._gone(known, at_ms)
        self.writing.forget_gateway(name)


def _optional(text: str | None) -> str | None:
    return None if text is None else clean(text)


def _identity(gateway: str, record: ClientConnectionRecord) -> ClientIdentity:
    return ClientIdentity(
        cluster=clean(record.cluster_id),
        broker=record.broker_id,
        gateway=gateway,
        listener=clean(record.listener_name),
        protocol=clean(record.security_protocol),
        principal=_optional(record.principal),
        software=clean(record.client_software_name),
        version=clean(record.client_software_version),
        client_id=_optional(record.client_id),
        address=clean(record.client_address),
        instance=record.client_instance_id,
    )
