"""Open connections, from ``clientscope.connections``."""

from __future__ import annotations

from collections import Counter
from hashlib import blake2b
from typing import Any, cast

from clientscope.api.clients import ConnectionRow
from clientscope.api.overview import GatewayStatus
from clientscope.bounded import Present
from clientscope.clock import clamped
from clientscope.fair_share import HeldEntry, beyond
from clientscope.model.client_key import Tenant, tenant_of
from clientscope.model.codec import decode
from clientscope.model.connection import ClientConnectionRecord, Passed
from clientscope.model.enums import Kind
from clientscope.model.fields import clean
from clientscope.model.gauge import GatewayKey
from clientscope.policy.redaction import ClientNames
from clientscope.presence import GatewayProcess, Presence
from clientscope.profiles.owners import Owners
from sinks.dashboard.rows.lists import Lists
from sinks.dashboard.rows.sql import Database
from sinks.dashboard.rows.writing import Writing
from sinks.dashboard.state.gauges import MinuteTable, Version

_names = ClientNames()


def event(value: bytes | None) -> ClientConnectionRecord:
    """A record.

    Raises:
        RecordError: it is none.
    """
    return _names.of_record(decode(ClientConnectionRecord, value))


_Open = tuple[int, str, int | None, int, Tenant]
"""What is needed of an open connection to know what a further record changes: number of its row, key of its client, ``opened_ms``,
``seen_ms``, and whose it is.  There are very many; Python's garbage collector looks through named tuples again and again, and not through
plain ones."""


class ConnectionTable:
    """Open connections, at most ``limit`` of them.  Those of a lost gateway are hidden, yet kept.

    What doesn't fit is counted in ``dropped``; tenants above their share make room (`clientscope.fair_share`).

    What `apply` takes in comes into the tables by ``writing.flush``: together, which is faster.

    Attributes:
        minutes: numbers over the last day, from the same records.
    """

    def __init__(self, limit: int, owners: Owners) -> None:
        self.dropped: Counter[str] = Counter()
        self.database = Database()
        self.writing = Writing(self.database, owners)
        self.reading = Lists(self.database, self.writing)
        self.minutes = MinuteTable()
        self._limit = limit
        self._presence: Presence[_Open] = Presence(self._ended, lambda _: self.dropped.update(("gateways",)))
        self._late: set[GatewayKey] = set()
        self._busy: set[GatewayKey] = set()
        self._held = 0
        self._of_tenant: Present[Tenant] = Present()
        self._rows = 0
        self._by_kind = {Kind.HEARTBEAT: self._heartbeat, Kind.TRAFFIC: self._traffic, Kind.CLOSED: self._close}

    def apply(self, record: ClientConnectionRecord, arrived_ms: int) -> bool:
        """Takes one record; ``arrived_ms`` is Kafka's time.  Returns whether anything changed."""
        key = clean(record.cluster), record.broker, clean(record.gateway)
        known = self._presence.processes.get(key)
        process = self._presence.process(key, record.epoch, arrived_ms)
        if process is None:
            return False
        apply = self._by_kind.get(record.kind, self._upsert)
        return apply(process, record, arrived_ms) or process is not known

    def expire(self, now_ms: int) -> bool:
        """Hides the connections of lost gateways.  Only to be called when the topic has been read to its end."""
        changed = False
        for key, process in self._presence.processes.items():
            if process.gone_ms is None and now_ms > process.due_ms():
                self._presence.lose(process, now_ms)
                self.writing.lose_gateway(key, True)
                changed = True
        late = {key for key, process in self._presence.processes.items() if now_ms > process.due_ms(2)}
        changed |= late != self._late
        self._late = late
        self._presence.forget(now_ms)
        return changed

    def gateways(self) -> list[GatewayStatus]:
        """The gateways that are there, by name."""
        return [
            GatewayStatus(
                gateway=process.key[2],
                cluster=process.key[0],
                broker=process.key[1],
                epoch=process.epoch,
                heartbeat_ms=None if process.interval_ms is None else int(process.heard_ms),
                late=process.key in self._late,
            )
            for process in sorted(self._presence.processes.values(), key=lambda process: process.key[2])
            if process.gone_ms is None
        ]

    def lost(self) -> list[str]:
        """Names of the gateways that fell silent without saying goodbye."""
        return sorted(key[2] for key, process in self._presence.processes.items() if process.gone_ms is not None and not process.has_left)

    def _heartbeat(self, process: GatewayProcess[_Open], record: ClientConnectionRecord, arrived_ms: int) -> bool:
        key, is_first, was_gone = process.key, process.interval_ms is None, process.gone_ms is not None
        first = record.sequence - record.heartbeat_part
        self._presence.heard(process, first, record.heartbeat_interval_ms, arrived_ms)
        if process.has_left:
            self.minutes.left(key, arrived_ms)
            return not was_gone
        if was_gone and process.gone_ms is None:
            self.writing.lose_gateway(key, False)
        if (parts := process.parts.add(first, record.heartbeat_part, record.heartbeat_parts, _counts(record))) is not None:
            self.minutes.counted(key, sum(parts, Counter()), record.heartbeat_interval_ms, arrived_ms)
        process.parts.forget_oldest()
        was_late = key in self._late
        self._late.discard(key)
        return is_first or was_gone or was_late

    def _traffic(self, process: GatewayProcess[_Open], record: ClientConnectionRecord, arrived_ms: int) -> bool:
        """Bytes per second from clients and to them, by their keys."""
        rates: dict[str, Passed] = {}
        for connection, bytes_in, bytes_out in record.traffic:
            if (known := process.open.get(connection)) is not None:
                client = known[1][1]
                before = rates.get(client, (0, 0))
                rates[client] = before[0] + bytes_in, before[1] + bytes_out
        self.writing.traffic(process.key, rates, arrived_ms)
        was_busy = process.key in self._busy
        (self._busy.add if rates else self._busy.discard)(process.key)
        return was_busy or bool(rates)

    def _close(self, process: GatewayProcess[_Open], record: ClientConnectionRecord, arrived_ms: int) -> bool:
        if not self._presence.close(process, record.connection):
            return False
        self.minutes.closed(arrived_ms)
        known = process.open.pop(record.connection, None)
        if known is not None:
            self._gone(known[1], clamped(record.timestamp_ms, arrived_ms))
        return known is not None

    def _upsert(self, process: GatewayProcess[_Open], record: ClientConnectionRecord, arrived_ms: int) -> bool:
        number = record.connection
        if not process.takes(number, record.sequence):
            return False
        at_ms = clamped(record.timestamp_ms, arrived_ms)
        opened_ms = at_ms if record.kind == Kind.OPENED else None
        if opened_ms is not None:
            self.minutes.opened(arrived_ms)
        tenant = tenant_of(_optional(record.principal), clean(record.address))
        known = process.open.get(number)
        if known is None:
            if self._held >= self._limit and not self._make_room(tenant):
                self.dropped["connections"] += 1
                return False
            self._held += 1
            self._rows += 1
            row, seen_ms = self._rows, at_ms
        else:
            row, _, opened_before_ms, seen_ms, tenant_before = known[1]
            opened_ms = opened_before_ms if opened_ms is None else opened_ms
            self._of_tenant.leave(tenant_before)
        self._of_tenant[tenant] += 1
        opened = _opened(process.key[2], record, opened_ms, seen_ms)
        new = row, opened.key, opened_ms, seen_ms, tenant
        process.open[number] = record.sequence, new
        if known is not None and known[1] == new:
            return False
        self.writing.open(row, opened, arrived_ms)
        return True

    def _make_room(self, tenant: Tenant) -> bool:
        """For one more connection of this tenant, unless it has its share already."""
        if self._of_tenant[tenant] >= self._limit // max(1, len(self._of_tenant)):
            return False
        held = [
            HeldEntry((process.key, number), tenant, 0, seen_ms)
            for process in self._presence.processes.values()
            for number, (_, (*_, seen_ms, tenant)) in process.open.items()
        ]
        gone = beyond(held, self._limit - 1)
        for each in gone:
            gateway, number = cast(tuple[GatewayKey, int], each.key)
            self._gone(self._presence.processes[gateway].open.pop(number)[1], None)
        self.dropped["connections"] += len(gone)
        return self._held < self._limit

    def _gone(self, known: _Open, at_ms: int | None) -> None:
        row, *_, tenant = known
        self._held -= 1
        self._of_tenant.leave(tenant)
        self.writing.close(row, at_ms)

    def _ended(self, process: GatewayProcess[_Open], at_ms: float) -> None:
        for _, known in process.open.values():
            self._gone(known, int(at_ms))
        self._late.discard(process.key)
        self._busy.discard(process.key)
        self.writing.lose_gateway(process.key, False)  # whatever comes under its name isn't hidden


def _counts(record: ClientConnectionRecord) -> Counter[Version]:
    counts: Counter[Version] = Counter()
    for each in record.counts:
        counts[clean(each.software_name), clean(each.software_version)] += each.connections
    return counts


def _optional(text: str | None) -> str | None:
    return None if text is None else clean(text)


def _opened(gateway: str, record: ClientConnectionRecord, opened_ms: int | None, seen_ms: int) -> ConnectionRow:
    names: dict[str, Any] = {
        "cluster": clean(record.cluster),
        "broker": record.broker,
        "gateway": gateway,
        "listener": clean(record.listener),
        "security_protocol": clean(record.security_protocol),
        "address": clean(record.address),
        "principal": _optional(record.principal),
        "client_id": _optional(record.client_id),
        "software_name": clean(record.software_name),
        "software_version": clean(record.software_version),
        "instance_id": record.instance_id,
    }
    key = blake2b(repr((*names.values(),)).encode(), digest_size=12).hexdigest()
    return ConnectionRow(key=key, epoch=record.epoch, connection=record.connection, opened_ms=opened_ms, seen_ms=seen_ms, **names)
