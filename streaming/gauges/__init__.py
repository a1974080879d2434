"""The gauges: from the counts that gateways report to the records of ``clientscope.gauges``.

The driver keeps the content of the topic and no other state. It reads the topic at its start, takes in records, and writes what differs.
A restart forgets which series were at zero and which gateways were gone. This only matters to a record that arrives out of order across the
restart; that gateway's next heartbeat, or its silence, corrects it.

One value per series, and one per gateway of what concerns it as a whole.
"""

from __future__ import annotations

import json
import logging
import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from clientscope.errors import RecordError
from clientscope.findings.conditions import gateway_subject
from clientscope.model.codec import decode, read_key
from clientscope.model.enums import Kind
from clientscope.model.gauge import GatewayGauge, GatewayKey, Gauge, SeriesKey
from clientscope.model.input import InputRecord
from clientscope.model.series import MOST_SERIES, series_key
from clientscope.presence import MOST_GATEWAYS, GatewayProcess, Presence
from streaming.gauges.gateway import Appended, Changes, GatewaySeries
from streaming.gauges.read_clock import RETURN_S, ReadClock
from streaming.limits import Limit, Overflow

__all__ = ["Changes", "Gauges", "ReadClock"]

log = logging.getLogger(__name__)

GATEWAYS = Limit(
    "gauge_gateways",
    MOST_GATEWAYS,
    "gateways in the gauges",
    "connections of further ones aren't counted until another one stops or is lost",
    advice="look at who writes to clientscope.connections",
)

SERIES = Limit(
    "gauge_series",
    2 * MOST_SERIES,
    "series of one gateway in the gauges",
    "connections of further ones aren't counted; a gateway itself has half as many, and counts the rest as `other`",
    advice="look at who writes to clientscope.connections",
)

_KEY: Any = GatewayKey | SeriesKey


class Gauges:
    """What is known of all gateways.  Without I/O; times are seconds of a clock that never goes back.

    Args:
        published: the topic's newest values by key, as ``clientscope.kafka.compacted.read_compacted`` returns them.
        now: when that was; the gateways found there get the benefit of the doubt from then on.
        lost: called with the cluster, broker and id of each gateway that is lost.
        failed: called with a record of a batch in which what a gateway said can't be taken in; the gateway's next heartbeat has all counts
            again. None raises the error.
    """

    def __init__(
        self,
        published: Mapping[str, bytes],
        now: float,
        lost: Callable[[str, int, str], None] = lambda *_: None,
        failed: Callable[[InputRecord, Exception], None] | None = None,
    ) -> None:
        self._lost, self._failed = lost, failed
        self._gateways: dict[GatewayKey, GatewaySeries] = {}
        self._full, self._series_full = Overflow(GATEWAYS), Overflow(SERIES)
        self._presence: Presence[None] = Presence(no_room=lambda key: self._full.exceeded(gateway_subject(*key)[:200]))
        rows: dict[GatewayKey, GatewayGauge] = {}
        series: dict[GatewayKey, list[tuple[bytes, Gauge]]] = {}
        for key, text in published.items():
            try:
                # Names from the key: those of a value are cleaned when it is read.
                cluster, broker, gateway, *names = read_key(_KEY, key)
                if names:
                    value = decode(Gauge, text)
                    series.setdefault((cluster, broker, gateway), []).append((series_key(*names), value))
                else:
                    rows[cluster, broker, gateway] = decode(GatewayGauge, text)
            except RecordError:
                log.warning("a record of %d bytes on the gauges' topic is not what a job writes, and is ignored", len(text))
        for place in {**rows, **series}:
            own, counts = rows.get(place), series.get(place, [])
            epoch = max(value.epoch for value in (*([own] if own else ()), *(value for _, value in counts)))
            if (process := self._presence.process(place, epoch, 1000 * now)) is not None:
                known = self._gateways[place] = self._gateway(process)
                if own is not None:
                    known.load_row(own)
                for of_series, value in counts:
                    known.load_series(of_series, value)

    def apply(self, inputs: Iterable[InputRecord], now: float, appended: Appended | None = None) -> Changes:
        """Takes in what a batch has; returns what to write: a value, or None for a tombstone.

        Args:
            inputs: in any order, repeated or late.
            appended: by when a record was appended; None where all were just now.
        """
        by_gateway: dict[GatewayKey, list[InputRecord]] = {}
        for each in inputs:
            record = each.record
            if record.counts or record.kind is Kind.HEARTBEAT:
                by_gateway.setdefault((record.cluster, record.broker, record.gateway), []).append(each)
        changes: Changes = {}
        for key, of_gateway in by_gateway.items():
            process = self._presence.process(key, max(each.record.epoch for each in of_gateway), 1000 * now)
            if process is None:
                continue
            try:
                if (gateway := self._gateways.get(key)) is None:
                    gateway = self._gateways[key] = self._gateway(process)
                gateway.apply(process, of_gateway, appended or (lambda *_: now))
                changes |= gateway.changes()
            except Exception as error:
                if self._failed is None:
                    raise
                self._failed(of_gateway[0], error)
        return changes

    def expire(self, read_to: float, returned: float = -math.inf) -> Changes:
        """Takes away the series of gateways that have been silent for too long, as far as the topic has been read.

        Args:
            read_to: up to when all partitions have been read.
            returned: when Kafka was back; a gateway not heard from since has an interval and `RETURN_S` from then on.
        """
        changes: Changes = {}
        for key, process in self._presence.processes.items():
            if process.gone_ms is not None:
                continue
            due_ms = process.due_ms()
            if process.heard_ms <= 1000 * returned:
                due_ms = max(due_ms, 1000 * (returned + RETURN_S) + process.due_ms(1) - process.heard_ms)
            if 1000 * read_to > due_ms:
                log.warning("gateway %s is lost: no heartbeat for %.0f s", json.dumps(key), read_to - process.heard_ms / 1000)
                self._presence.lose(process, 1000 * read_to)
                self._lost(*key)
                changes |= self._gateways[key].changes()
        self._presence.forget(1000 * read_to)
        if len(self._gateways) > len(self._presence.processes):
            self._gateways = {key: self._gateways[key] for key in self._presence.processes}
        return changes

    @property
    def limits(self) -> tuple[Overflow, ...]:
        """What its bounds left out."""
        return self._full, self._series_full

    def host(self, cluster: str, broker: int, gateway: str) -> str:
        """The name of a gateway's host, by its last heartbeat; empty if that isn't known."""
        known = self._gateways.get((cluster, broker, gateway))
        return known.host if known is not None else ""

    def _gateway(self, process: GatewayProcess[None]) -> GatewaySeries:
        return GatewaySeries(self._presence, process, lambda: self._series_full.exceeded(gateway_subject(*process.key)[:200]))

    def size(self) -> int:
        """Rows of the state."""
        return sum(len(gateway.series) + 1 for gateway in self._gateways.values())
