"""The gauges: from the counts that gateways report to the records of ``clientscope.gauges``.

The driver keeps the content of the topic and no other state. It reads the topic at its start, takes in entries, and writes what differs.
A restart forgets which series were at zero and which gateways were gone. This only matters to a record that arrives out of order across the
restart; that gateway's next heartbeat, or its silence, corrects it.

One value per series, and one per gateway of what concerns it as a whole.
"""

from __future__ import annotations

import json
import logging
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from clientscope.errors import RecordError
from clientscope.findings.conditions import gateway_subject
from clientscope.gauges import GatewayGauge, GatewayKey, Gauge, SeriesKey
from clientscope.records.codec import decode, read_key
from clientscope.records.series import series_key
from streaming.gauges.gateway import Appended, Changes, GatewaySeries
from streaming.gauges.heartbeats import HEARTBEATS_PENDING, GaugeEntry
from streaming.gauges.read_clock import RETURN_S, ReadClock
from streaming.limits import Limit, Overflow

__all__ = ["Changes", "GaugeEntry", "Gauges", "ReadClock"]

log = logging.getLogger(__name__)

HEARTBEATS = 3
"""Intervals without a heartbeat after which a gateway is lost."""

MOST_GATEWAYS = 10_000
"""Records of a further one are left out while none of these is gone."""

GATEWAYS = Limit(
    "gauge_gateways",
    MOST_GATEWAYS,
    "gateways in the gauges",
    "connections of further ones aren't counted until another one stops or is lost",
    advice="look at who writes to clientscope.connections",
)

FORGET_S = 24 * 60 * 60.0
"""For how long a gateway that is gone is remembered, so that a record of it that comes late isn't taken for its return.

A producer repeats a record for minutes at most. What comes after a day comes from reading the topic once more, to its end: the farewell
or the silence is read again too.
"""

_UNKNOWN_INTERVAL_MS = 30_000
_KEY: Any = GatewayKey | SeriesKey


class Gauges:
    """What is known of all gateways.  Without I/O; times are seconds of a clock that never goes back, as `ReadClock` has it.

    Args:
        published: the topic's newest values by key, as ``clientscope.kafka.compacted.read_compacted`` returns them.
        now: when that was; the gateways found there get the benefit of the doubt from then on.
        lost: called with the cluster, broker and id of each gateway that is lost.
        home: in which of the topic's partitions a producer puts a gateway's next record, by the gateway's id. Once the topic has more
            partitions, that is another one than before. None where it has one.
        failed: called with an entry of a batch in which what a gateway said can't be taken in; the gateway's next heartbeat has all counts
            again. None raises the error.
    """

    def __init__(
        self,
        published: Mapping[str, bytes],
        now: float,
        lost: Callable[[str, int, str], None] = lambda *_: None,
        home: Callable[[bytes, Sequence[int]], int] | None = None,
        failed: Callable[[GaugeEntry, Exception], None] | None = None,
    ) -> None:
        self._lost, self._home, self._failed = lost, home, failed
        self._gateways: dict[GatewayKey, GatewaySeries] = {}
        self._full, self._incomplete = Overflow(GATEWAYS), Overflow(HEARTBEATS_PENDING)
        rows: dict[GatewayKey, GatewayGauge] = {}
        series: dict[GatewayKey, list[tuple[bytes, Gauge]]] = {}
        for key, text in published.items():
            try:
                # Names from the key: those of a value are cleaned when it is read.
                cluster, broker, gateway, *names = read_key(_KEY, key)
                if names:
                    series.setdefault((cluster, broker, gateway), []).append((series_key(*names), decode(Gauge, text)))
                else:
                    rows[cluster, broker, gateway] = decode(GatewayGauge, text)
            except RecordError:
                log.warning("a record of %d bytes on the gauges' topic is not what a job writes, and is ignored", len(text))
        for place in {**rows, **series}:
            own, counts = rows.get(place), series.get(place, [])
            epoch = max(value.epoch for value in (*([own] if own else ()), *(value for _, value in counts)))
            if (known := self._gateway(*place, epoch, now)) is not None:
                if own is not None:
                    known.load_row(own)
                for of_series, value in counts:
                    known.load_series(of_series, value)

    def apply(self, entries: Iterable[GaugeEntry], now: float, appended: Appended | None = None) -> Changes:
        """Takes in what a batch has; returns what to write: a value, or None for a tombstone.

        Args:
            entries: in any order, repeated or late.
            appended: by when a record was appended; None where all were just now.
        """
        by_gateway: dict[GatewayKey, list[GaugeEntry]] = {}
        for entry in entries:
            by_gateway.setdefault(entry[:3], []).append(entry)
        changes: Changes = {}
        for key, of_gateway in by_gateway.items():
            gateway = self._gateway(*key, of_gateway[0].epoch, now)
            if gateway is None:
                continue
            try:
                gateway.apply(of_gateway, now, appended or (lambda *_: now))
                changes |= gateway.changes()
            except Exception as error:
                if self._failed is None:
                    raise
                self._failed(of_gateway[0], error)
        return changes

    def expire(self, read_to: float, of_partition: Mapping[int, float] = MappingProxyType({}), returned: float = -math.inf) -> Changes:
        """Takes away the series of gateways that have been silent for too long, as far as the topic has been read.

        Args:
            read_to: up to when all partitions have been read.
            of_partition: up to when each has been read; where it is empty, all as far.
            returned: when Kafka was back; a gateway not heard from since has `RETURN_S` from then on.
        """
        changes: Changes = {}
        for key, gateway in list(self._gateways.items()):
            if gateway.gone_at is not None:
                if read_to - gateway.gone_at > FORGET_S:
                    del self._gateways[key]
                continue
            due = gateway.heard_at + HEARTBEATS * (gateway.interval_ms or _UNKNOWN_INTERVAL_MS) / 1000
            if gateway.heard_at <= returned:
                due = max(due, returned + RETURN_S)
            until = read_to if gateway.partition is None else of_partition.get(gateway.partition, read_to)
            if until > due and of_partition and self._home is not None:
                until = min(until, of_partition[self._home(key[2].encode("utf-8", "replace"), sorted(of_partition))])
            if until > due:
                log.warning("gateway %s is lost: no heartbeat for %.0f s", json.dumps(key), until - gateway.heard_at)
                gateway.gone_at = until
                self._lost(*key)
                changes |= gateway.changes()
        return changes

    def host(self, cluster: str, broker: int, gateway: str) -> str:
        """The name of a gateway's host, by its last heartbeat; empty if that isn't known."""
        known = self._gateways.get((cluster, broker, gateway))
        return known.host if known is not None else ""

    @property
    def limits(self) -> tuple[Overflow, ...]:
        """What its bounds left out."""
        return self._full, self._incomplete

    def size(self) -> tuple[int, int]:
        """Rows of the state, and the bytes that its series take."""
        gateways = self._gateways.values()
        return sum(len(gateway.series) + 1 for gateway in gateways), sum(gateway.series.size_bytes for gateway in gateways)

    def _gateway(self, cluster: str, broker: int, gateway: str, epoch: int, now: float) -> GatewaySeries | None:
        key = (cluster, broker, gateway)
        if key not in self._gateways:
            if len(self._gateways) >= MOST_GATEWAYS:
                gone = [(known.gone_at, other) for other, known in self._gateways.items() if known.gone_at is not None]
                if not gone:
                    self._full.exceeded(gateway_subject(*key)[:200])
                    return None
                del self._gateways[min(gone)[1]]
            self._gateways[key] = GatewaySeries(cluster, broker, gateway, epoch, now, self._incomplete)
        return self._gateways[key]
