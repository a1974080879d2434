"""Numbers by minute over the last day, from heartbeats, which list all open connections, and from opened and closed connections.

All of it is made of records of the last day, by Kafka's time, so every copy of serve comes to the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from clientscope.api.series import SeriesOfVersion
from clientscope.records.connection_record import ClientConnectionRecord
from clientscope.records.enums import Kind
from clientscope.topic_values import clean

MINUTE_MS = 60_000
MINUTES = 1_440
TOP = 8
MOST_VERSIONS = 500
"""Versions that a minute knows apart; further ones are `OTHER`."""

_SILENT_MINUTES = 3
MOST_GATEWAYS = 10_000

Version = tuple[str, str]
OTHER: Version = ("", "")


@dataclass
class _Gateway:
    """The last counts of one gateway.

    Attributes:
        minute: the last one that ``counts`` are in; -1 before there is one.
        added: ``counts`` as they are in that minute's sums, where some may have gone into `OTHER`.
        parts: of a heartbeat that isn't whole yet, and ``of``: that heartbeat.
        silent_after: minutes without a heartbeat after which nothing is known of it any more.
    """

    epoch: int
    minute: int = -1
    counts: Counter[Version] = field(default_factory=Counter)
    added: Counter[Version] = field(default_factory=Counter)
    of: int = -1
    parts: dict[int, Counter[Version]] = field(default_factory=dict)
    sequence: int = -1
    silent_after: int = _SILENT_MINUTES


class MinuteTable:
    """Open connections by version, and what opened and closed, by minute.  Records of gateways beyond 10,000 are counted in ``dropped``."""

    def __init__(self) -> None:
        self.dropped: Counter[str] = Counter()
        self._gateways: dict[str, _Gateway] = {}
        self._sums: dict[int, Counter[Version]] = {}
        self._opened: Counter[int] = Counter()
        self._closed: Counter[int] = Counter()

    def apply(self, record: ClientConnectionRecord, arrived_ms: int) -> None:
        """Takes one record, in the order of its partition; ``arrived_ms`` is Kafka's time."""
        name = clean(record.gateway_id)
        gateway = self._gateways.get(name)
        if gateway is None:
            if len(self._gateways) >= MOST_GATEWAYS:
                self.dropped["series"] += 1
                return
            gateway = self._gateways[name] = _Gateway(record.gateway_epoch)
        if record.gateway_epoch > gateway.epoch:  # its counts take the place of those before
            gateway.epoch, gateway.sequence, gateway.of = record.gateway_epoch, -1, -1
        if record.gateway_epoch < gateway.epoch or record.sequence <= gateway.sequence:
            return
        gateway.sequence = record.sequence
        minute = arrived_ms // MINUTE_MS
        if record.kind == Kind.OPENED:
            self._opened[minute] += 1
        elif record.kind == Kind.CLOSED:
            self._closed[minute] += 1
        elif record.kind == Kind.HEARTBEAT:
            self._heartbeat(name, gateway, record, minute)

    def expire(self, now_ms: int) -> None:
        """Lets go of what is older than a day, and of gateways that are silent."""
        horizon = now_ms // MINUTE_MS - MINUTES
        for table in (self._sums, self._opened, self._closed):
            for minute in [minute for minute in table if minute < horizon]:
                del table[minute]
        for name in [name for name, each in self._gateways.items() if -1 < each.minute < horizon]:
            del self._gateways[name]

    def minutes(self, now_ms: int, count: int) -> list[int]:
        """The last ``count`` minutes, by number; the last is the present one."""
        last = now_ms // MINUTE_MS
        return list(range(last - count + 1, last + 1))

    def connections(self, minutes: list[int]) -> tuple[list[int | None], list[SeriesOfVersion], list[int | None]]:
        """Open connections in all, of the versions that have most, and of all others."""
        sums = [self._sum(minute, minutes[-1]) for minute in minutes]
        most: Counter[Version] = Counter()
        for each in sums:
            for version, count in (each or {}).items():
                most[version] = max(most[version], count)
        top = sorted((version for version in most if version != OTHER and most[version]), key=lambda each: (-most[each], each))[:TOP]
        totals = [None if each is None else sum(each.values()) for each in sums]
        versions = [
            SeriesOfVersion(
                software_name=name,
                software_version=version,
                connections=[None if each is None else each[name, version] for each in sums],
            )
            for name, version in top
        ]
        others = [None if each is None else sum(count for version, count in each.items() if version not in top) for each in sums]
        return totals, versions, others

    def changes(self, minutes: list[int]) -> tuple[list[int | None], list[int | None]]:
        """Connections opened, and connections closed, in each minute; None for a minute without a heartbeat."""
        known = [self._sum(minute, minutes[-1]) is not None for minute in minutes]
        opened = [self._opened[minute] if there else None for minute, there in zip(minutes, known, strict=True)]
        closed = [self._closed[minute] if there else None for minute, there in zip(minutes, known, strict=True)]
        return opened, closed

    def _heartbeat(self, name: str, gateway: _Gateway, record: ClientConnectionRecord, minute: int) -> None:
        if record.heartbeat_interval_ms <= 0:  # its goodbye
            self._move(gateway, minute, Counter())
            del self._gateways[name]
            return
        first = record.sequence - record.heartbeat_part
        if gateway.of != first:
            gateway.of, gateway.parts = first, {}
        gateway.parts[record.heartbeat_part] = _counts(record)
        if len(gateway.parts) < record.heartbeat_parts:
            return
        counts: Counter[Version] = Counter()
        for part in gateway.parts.values():
            counts.update(part)
        gateway.parts = {}
        gateway.silent_after = max(1, -(-_SILENT_MINUTES * record.heartbeat_interval_ms // MINUTE_MS))
        self._move(gateway, minute, counts)

    def _move(self, gateway: _Gateway, minute: int, counts: Counter[Version]) -> None:
        """The gateway's counts are now these: in minutes between, the earlier ones stay, unless it was silent for too long."""
        if minute <= gateway.minute:  # the same one; clocks of brokers may differ a little
            minute = gateway.minute
            self._sums[minute].subtract(gateway.added)
        elif gateway.minute >= 0 and minute <= gateway.minute + gateway.silent_after:
            for between in range(gateway.minute + 1, minute):
                self._add(between, gateway.counts)
        gateway.minute, gateway.counts, gateway.added = minute, counts, self._add(minute, counts)

    def _add(self, minute: int, counts: Mapping[Version, int]) -> Counter[Version]:
        sums = self._sums.setdefault(minute, Counter())
        added: Counter[Version] = Counter()
        for version, count in counts.items():
            added[version if version in sums or len(sums) < MOST_VERSIONS else OTHER] += count
        sums.update(added)
        return added

    def _sum(self, minute: int, last: int) -> Counter[Version] | None:
        """The counts of a minute, including gateways whose heartbeat for it is still to come."""
        sums = self._sums.get(minute)
        waiting = [each for each in self._gateways.values() if -1 < each.minute < minute <= each.minute + each.silent_after]
        if sums is None and not waiting:
            return None
        found = Counter(sums or {})
        for each in waiting:
            found.update(each.counts)
        return found


def _counts(record: ClientConnectionRecord) -> Counter[Version]:
    counts: Counter[Version] = Counter()
    for each in record.counts:
        counts[clean(each.client_software_name), clean(each.client_software_version)] += each.open_connections
    return counts
