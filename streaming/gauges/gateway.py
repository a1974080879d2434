"""State of one gateway: its newest process, its heartbeats, and its records on the topic."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TypeAlias

from clientscope.clock import FUTURE_MS, clamped
from clientscope.model.codec import encode_whole
from clientscope.model.connection import ClientConnectionRecord
from clientscope.model.enums import Kind
from clientscope.model.gauge import GatewayGauge, Gauge
from clientscope.model.input import InputRecord
from clientscope.model.series import series_key
from clientscope.presence import GatewayProcess, Presence
from streaming.gauges.series import KnownCount, SeriesTable, names

MINUTE_MS = 60_000
_BETWEEN_SAMPLES_MS = 1_000

Changes: TypeAlias = dict[str, bytes | None]
Appended: TypeAlias = Callable[[int, int], float]
"""By when the record of a partition and offset was appended, in seconds of the caller's clock."""


class ConnectionRate:
    """By how much two counters have risen within the last minute, by Kafka's clock.

    Where samples are further apart it is their average. An epoch's first sample is the beginning, and a counter that falls begins
    anew, so no rate is ever negative or counts what another process did.
    """

    def __init__(self) -> None:
        self._samples: deque[tuple[int, int, int]] = deque()

    def per_minute(self, at_ms: int, opened: int, closed: int) -> tuple[int, int]:
        """Takes in a sample; returns both rates."""
        samples = self._samples
        if samples and (opened < samples[-1][1] or closed < samples[-1][2]):
            samples.clear()
        while len(samples) > 1 and samples[1][0] <= at_ms - MINUTE_MS:
            samples.popleft()
        if not samples or at_ms - samples[-1][0] >= _BETWEEN_SAMPLES_MS:
            samples.append((at_ms, opened, closed))
        since_ms, opened_then, closed_then = samples[0]
        over_ms = max(at_ms - since_ms, MINUTE_MS)
        return round((opened - opened_then) * MINUTE_MS / over_ms), round((closed - closed_then) * MINUTE_MS / over_ms)


class GatewaySeries:
    """What is known of one gateway, and published.

    Args:
        no_room: called with each count of a series for which there is no room.
    """

    def __init__(self, presence: Presence[None], process: GatewayProcess[None], no_room: Callable[[], None]) -> None:
        self._presence, self._no_room = presence, no_room
        self._key = json.dumps(process.key, separators=(",", ":"), ensure_ascii=False)
        self._published: GatewayGauge | None = None
        self.series = SeriesTable()
        self._begin(process)

    def _begin(self, process: GatewayProcess[None]) -> None:
        self._process = process
        self.series.clear()
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
        count = KnownCount(value.connections, value.opened, value.closed, value.sequence, value.timestamp_ms)
        self.series.load(key, count if value.epoch == self._process.epoch else None)

    def apply(self, process: GatewayProcess[None], inputs: Iterable[InputRecord], appended: Appended) -> None:
        """Takes in what one batch has of this gateway and its newest process, in any order."""
        if process is not self._process:
            self._begin(process)
        # In order, since a heartbeat makes room for the series after it; a repeated one is no sign of life.
        for each in sorted(inputs, key=lambda each: (each.record.sequence, each.offset)):
            if each.record.epoch == process.epoch:
                self._count(each)
                if each.record.kind is Kind.HEARTBEAT:
                    self._beat(each, appended)

    def changes(self) -> Changes:
        """What must be written so that the topic says what is known; from then on it counts as written."""
        is_gone = self._process.gone_ms is not None
        changes = self.series.withdraw() if is_gone else self.series.changes()
        written: Changes = {f"{self._key[:-1]},{key.decode()}]": self._value(key, count) for key, count in changes.items()}
        row = None if is_gone or self._row is None else replace(self._row, sequence=self.series.floor)
        if row != self._published:
            written[self._key] = None if row is None else encode_whole(row)
            self._published = row
        return written

    def _count(self, each: InputRecord) -> None:
        record = each.record
        at_ms = clamped(record.timestamp_ms, each.appended_ms)
        for said in record.counts:
            key = series_key(said.listener, said.software_name, said.software_version)
            if not self.series.merge(key, KnownCount(said.connections, said.opened, said.closed, record.sequence, at_ms)):
                self._no_room()

    def _beat(self, each: InputRecord, appended: Appended) -> None:
        """A heartbeat, or one part of it."""
        record, process = each.record, self._process
        first, part = record.sequence - record.heartbeat_part, record.heartbeat_part
        appended_ms = 1000 * appended(each.partition, each.offset)
        is_newest = self._presence.heard(process, first, record.heartbeat_interval_ms, appended_ms)
        if process.has_left:
            self.series.complete(record.sequence + 1, record.sequence + 1)
            return
        if is_newest:
            self._row = self._gauge(record, each.appended_ms)
        if first < self.series.floor:
            return
        if process.parts.add(first, part, record.heartbeat_parts, None) is not None:
            self.series.complete(first, first + record.heartbeat_parts)
        else:
            process.parts.forget_oldest()

    def _gauge(self, record: ClientConnectionRecord, appended_ms: int) -> GatewayGauge:
        """The gateway's own record, from one heartbeat."""
        rates = self._rate.per_minute(appended_ms, record.opened, record.closed)
        skew_ms = record.timestamp_ms - appended_ms
        return GatewayGauge(
            cluster=record.cluster,
            broker=record.broker,
            gateway=record.gateway,
            instances=record.instances,
            opened_per_minute=rates[0],
            closed_per_minute=rates[1],
            opened=record.opened,
            closed=record.closed,
            heartbeat_interval_ms=record.heartbeat_interval_ms,
            host=record.host,
            clock_skew_minutes=round(skew_ms / MINUTE_MS) if abs(skew_ms) > FUTURE_MS else 0,
            epoch=self._process.epoch,
            sequence=record.sequence - record.heartbeat_part,
            timestamp_ms=appended_ms,
        )

    def _value(self, key: bytes, count: KnownCount | None) -> bytes | None:
        if count is None:
            return None
        cluster, broker, gateway = self._process.key
        listener, name, version = names(key)
        return encode_whole(
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
