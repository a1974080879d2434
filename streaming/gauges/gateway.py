"""State of one gateway: its newest process, its heartbeats, and its records on the topic."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import chain
from typing import TypeAlias

from clientscope.gauges import GatewayGauge, Gauge
from clientscope.presence import GatewayProcess, Presence
from clientscope.records.codec import adapter
from clientscope.records.series import series_key
from streaming.gauges.heartbeats import MINUTE_MS, ConnectionRate, GaugeEntry
from streaming.gauges.series import Beyond, SeriesCount, SeriesTable, names

_FUTURE_MS = 5 * MINUTE_MS
_PAST_MS = 24 * 60 * MINUTE_MS

Changes: TypeAlias = dict[str, bytes | None]
Appended: TypeAlias = Callable[[int, int], float]
"""By when the record of a partition and offset was appended, in seconds of the caller's clock."""
_PartsBeyond: TypeAlias = dict[tuple[int, int], dict[str, Beyond]]


class GatewaySeries:
    """What is known of one gateway, and published.

    Attributes:
        partition: of its last heartbeat; None before the first.
    """

    def __init__(self, presence: Presence[None], process: GatewayProcess[None]) -> None:
        self._presence = presence
        self._key = json.dumps(process.key, separators=(",", ":"), ensure_ascii=False)
        self._stale: set[bytes] = set()  # series of older epochs that the topic still names
        self._published: GatewayGauge | None = None
        self._begin(process)

    def _begin(self, process: GatewayProcess[None]) -> None:
        self._process = process
        self.partition: int | None = None
        self.series = SeriesTable()
        self._rate = ConnectionRate()
        self._row: GatewayGauge | None = None

    @property
    def host(self) -> str:
        """The name of its host, by its last heartbeat; empty if that isn't known."""
        return self._row.host if self._row else ""

    def load_row(self, row: GatewayGauge) -> None:
        """Takes in the topic's record of the gateway itself, of this epoch or an older one."""
        self._published = row
        if row.epoch != self._process.epoch:
            return
        self._row = row
        self._process.interval_ms = row.heartbeat_interval_ms
        self.series.floor = self._process.heartbeat = row.sequence
        if row.opened is not None and row.closed is not None:
            self._rate.per_minute(row.timestamp_ms, row.opened, row.closed)

    def load_series(self, key: bytes, value: Gauge) -> None:
        """Takes in the topic's record of a series; one of an older epoch is removed with the next changes."""
        if value.epoch == self._process.epoch:
            self.series.load(key, SeriesCount(value.connections, value.opened, value.closed, value.sequence, value.timestamp_ms))
        else:
            self._stale.add(key)

    def apply(self, process: GatewayProcess[None], entries: Iterable[GaugeEntry], appended: Appended) -> None:
        """Takes in what one batch has of this gateway and its newest process, in any order."""
        if process is not self._process:
            self._stale.update(self.series.withdraw())
            self._begin(process)
        entries = [entry for entry in entries if entry.epoch == process.epoch]
        beyond = self._merge([entry for entry in entries if entry.listener is not None])
        beats = (entry for entry in entries if entry.listener is None)
        for entry in sorted(beats, key=lambda entry: (entry.sequence, entry.offset)):  # a repeated one is no sign of life
            self._beat(entry, appended, beyond)

    def changes(self) -> Changes:
        """What must be written so that the topic says what is known; from then on it counts as written."""
        changes: dict[bytes, SeriesCount | None] = dict.fromkeys(self._stale)
        self._stale.clear()
        changes |= dict.fromkeys(self.series.withdraw()) if self._process.gone_ms is not None else self.series.changes()
        written: Changes = {f"{self._key[:-1]},{key.decode()}]": self._value(key, count) for key, count in changes.items()}
        row = self._row if self._process.gone_ms is None else None
        if row is not None:
            others = sum(each.series for each in self.series.beyond.values())
            row = replace(row, other_series=others, sequence=self.series.floor)
        if row != self._published:
            written[self._key] = None if row is None else _json(row)
            self._published = row
        return written

    def _merge(self, entries: Iterable[GaugeEntry]) -> _PartsBeyond:
        """Takes in counts; returns the sums, by heartbeat and part, of the series that found no room."""
        beyond: _PartsBeyond = {}
        counted: set[tuple[int, bytes]] = set()
        for entry in entries:
            listener = entry.listener or ""
            key = series_key(listener, entry.software_name or "", entry.software_version or "")
            count = SeriesCount(
                max(0, entry.connections or 0), max(0, entry.opened or 0), max(0, entry.closed or 0), entry.sequence,
                clamped(entry.timestamp_ms, entry.appended_ms),
            )  # fmt: skip
            if not self.series.merge(key, count, entry.heartbeat_parts > 0) and (entry.sequence, key) not in counted:
                counted.add((entry.sequence, key))
                sums = beyond.setdefault((entry.heartbeat, entry.heartbeat_part), {})
                sums[listener] = sums.get(listener, Beyond()).plus(Beyond(1, *count[:3]))
        return beyond

    def _beat(self, entry: GaugeEntry, appended: Appended, beyond: _PartsBeyond) -> None:
        """A heartbeat, or one part of it."""
        first, process = entry.heartbeat, self._process
        appended_ms = 1000 * appended(entry.partition, entry.offset)
        is_newest = self._presence.heard(process, first, entry.heartbeat_interval_ms, appended_ms)
        if process.has_left:
            self.series.complete(entry.sequence + 1, entry.sequence + 1, {}, entry.appended_ms)
            return
        if is_newest:
            self.partition = entry.partition
            self._row = self._record(entry)
        if first < self.series.floor:
            return
        parts = process.parts.add(first, entry.heartbeat_part, entry.heartbeat_parts, beyond.get((first, entry.heartbeat_part), {}))
        if parts is not None:
            sums: dict[str, Beyond] = {}
            for listener, more in chain.from_iterable(of_part.items() for of_part in parts):
                sums[listener] = sums.get(listener, Beyond()).plus(more)
            self.series.complete(first, first + len(parts), sums, clamped(entry.timestamp_ms, entry.appended_ms))
        else:
            process.parts.forget_oldest()

    def _record(self, entry: GaugeEntry) -> GatewayGauge:
        """The gateway's own record, from one heartbeat."""
        cluster, broker, gateway = self._process.key
        rates = self._rate.per_minute(entry.appended_ms, entry.opened_connections, entry.closed_connections)
        skew_ms = entry.timestamp_ms - entry.appended_ms
        return GatewayGauge(
            cluster=cluster,
            broker=broker,
            gateway=gateway,
            instances=entry.client_instances,
            opened_per_minute=rates[0],
            closed_per_minute=rates[1],
            opened=entry.opened_connections,
            closed=entry.closed_connections,
            heartbeat_interval_ms=entry.heartbeat_interval_ms,
            host=entry.host,
            clock_skew_minutes=round(skew_ms / MINUTE_MS) if abs(skew_ms) > _FUTURE_MS else 0,
            epoch=self._process.epoch,
            sequence=entry.heartbeat,
            timestamp_ms=entry.appended_ms,
        )

    def _value(self, key: bytes, count: SeriesCount | None) -> bytes | None:
        if count is None:
            return None
        cluster, broker, gateway = self._process.key
        listener, name, version = names(key)
        return _json(
            Gauge(
                cluster=cluster,
                broker=broker,
                gateway=gateway,
                listener=listener,
                software_name=name,
                software_version=version,
                connections=count.connections,
                opened=count.opened,
                closed=count.closed,
                epoch=self._process.epoch,
                sequence=count.sequence,
                timestamp_ms=count.timestamp_ms,
            )
        )


def clamped(timestamp_ms: int, appended_ms: int) -> int:
    """A gateway's time, or Kafka's where the former can't be right: five minutes ahead of it, or a day behind (F29)."""
    return timestamp_ms if appended_ms - _PAST_MS <= timestamp_ms <= appended_ms + _FUTURE_MS else appended_ms


def _json(value: Gauge | GatewayGauge) -> bytes:
    """With every field, so that who reads the topic need not know what is left out at its default."""
    return adapter(type(value)).dump_json(value)
