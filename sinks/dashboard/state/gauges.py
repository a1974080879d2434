"""Numbers over time and now: gauges from ``clientscope.gauges``, and heartbeats by minute over the last day."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from clientscope.api.clients import SeriesOfVersion
from clientscope.model.codec import decode, read_key
from clientscope.model.gauge import GatewayGauge, GatewayKey, Gauge, SeriesKey
from clientscope.presence import LOST_AFTER, MOST_GATEWAYS

_KEY: Any = GatewayKey | SeriesKey


class GaugeTable:
    """The newest values, at most ``limit`` of each kind; what doesn't fit is counted in ``dropped``."""

    def __init__(self, limit: int) -> None:
        self.dropped: Counter[str] = Counter()
        self.series: dict[bytes, Gauge] = {}
        self.gateways: dict[bytes, GatewayGauge] = {}
        self._limit = limit

    def apply(self, key: bytes | None, value: bytes | None) -> bool:
        """Takes a record; a tombstone has no value.  Returns whether a figure changed.

        Raises:
            RecordError: the job didn't write it.
        """
        is_gateway = len(read_key(_KEY, key)) == 3
        assert key is not None
        kept: dict[bytes, Any] = self.gateways if is_gateway else self.series
        row = None if value is None else decode(GatewayGauge, value) if is_gateway else decode(Gauge, value)
        before = kept.pop(key, None)
        if row is None or (isinstance(row, Gauge) and row.connections == 0):
            return before is not None
        if len(kept) >= self._limit:
            self.dropped["gauges"] += 1
            return False
        kept[key] = row
        return before is None or before.figures != row.figures


MINUTE_MS = 60_000
MINUTES = 1_440
TOP = 8
MOST_VERSIONS = 500
"""Versions that a minute knows apart; further ones are `OTHER`."""

_Numbers = list[int | None]
"""One for each minute; None for a minute without a heartbeat."""

Version = tuple[str, str]
OTHER: Version = ("", "")


@dataclass
class _Gateway:
    """The last counts of one gateway.

    Attributes:
        minute: the last one that ``counts`` are in; -1 before there is one.
        added: ``counts`` as they are in that minute's sums, where some may have gone into `OTHER`.
        silent_after: minutes without a heartbeat after which nothing is known of it any more.
    """

    minute: int = -1
    counts: Counter[Version] = field(default_factory=Counter)
    added: Counter[Version] = field(default_factory=Counter)
    silent_after: int = LOST_AFTER


class MinuteTable:
    """Open connections by version, and what opened and closed, by minute.  Gateways beyond 10,000 are counted in ``dropped``.

    ``arrived_ms`` is Kafka's time of a record.
    """

    def __init__(self) -> None:
        self.dropped: Counter[str] = Counter()
        self._gateways: dict[GatewayKey, _Gateway] = {}
        self._sums: dict[int, Counter[Version]] = {}
        self._opened: Counter[int] = Counter()
        self._closed: Counter[int] = Counter()

    def opened(self, arrived_ms: int) -> None:
        """A connection was opened."""
        self._opened[arrived_ms // MINUTE_MS] += 1

    def closed(self, arrived_ms: int) -> None:
        """A connection was closed."""
        self._closed[arrived_ms // MINUTE_MS] += 1

    def counted(self, key: GatewayKey, counts: Counter[Version], interval_ms: int, arrived_ms: int) -> None:
        """A gateway's whole heartbeat; the next one comes after ``interval_ms``."""
        if key not in self._gateways and len(self._gateways) >= MOST_GATEWAYS:
            self.dropped["series"] += 1
            return
        gateway = self._gateways.setdefault(key, _Gateway())
        gateway.silent_after = max(1, -(-LOST_AFTER * interval_ms // MINUTE_MS))
        self._move(gateway, arrived_ms // MINUTE_MS, counts)

    def left(self, key: GatewayKey, arrived_ms: int) -> None:
        """A gateway says goodbye."""
        if (gateway := self._gateways.pop(key, None)) is not None:
            self._move(gateway, arrived_ms // MINUTE_MS, Counter())

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

    def numbers(self, minutes: list[int]) -> tuple[_Numbers, list[SeriesOfVersion], _Numbers, _Numbers, _Numbers]:
        """Open connections in all, of the versions that have most, and of all others; how many were opened, and closed."""
        sums = [self._sum(minute) for minute in minutes]
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
        opened, closed = (
            [None if each is None else counted[minute] for minute, each in zip(minutes, sums, strict=True)]
            for counted in (self._opened, self._closed)
        )
        return totals, versions, others, opened, closed

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

    def _sum(self, minute: int) -> Counter[Version] | None:
        """The counts of a minute, including gateways whose heartbeat for it is still to come."""
        sums = self._sums.get(minute)
        waiting = [each for each in self._gateways.values() if -1 < each.minute < minute <= each.minute + each.silent_after]
        if sums is None and not waiting:
            return None
        found = Counter(sums or {})
        for each in waiting:
            found.update(each.counts)
        return found
