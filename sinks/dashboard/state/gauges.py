"""Current gauges, from ``clientscope.gauges``: connections per series, and each gateway's own values."""

from __future__ import annotations

from collections import Counter
from typing import Any, TypeVar

from clientscope.gauges import GatewayGauge, GatewayKey, Gauge, SeriesKey
from clientscope.records.codec import decode, read_key

_KEY: Any = GatewayKey | SeriesKey
Kept = TypeVar("Kept", Gauge, GatewayGauge)


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
        parts = read_key(_KEY, key)
        assert key is not None
        if len(parts) == 3:
            row = None if value is None else decode(GatewayGauge, value)
            before = self.gateways.get(key)
            self._put(self.gateways, key, row)
            return row is None or before is None or row.figures != before.figures
        gauge = None if value is None else decode(Gauge, value)
        known = self.series.get(key)
        if gauge is None or gauge.connections == 0:
            return self.series.pop(key, None) is not None
        return self._put(self.series, key, gauge) and (known is None or known.connections != gauge.connections)

    def of_gateway(self, cluster: str, broker: int, gateway: str) -> GatewayGauge | None:
        """The topic's record of a gateway."""
        found = (row for row in self.gateways.values() if row.place == (cluster, broker, gateway))
        return next(found, None)

    def counts(self) -> dict[str, int]:
        """Connections by gateway."""
        counts: Counter[str] = Counter()
        for gauge in self.series.values():
            counts[gauge.gateway] += gauge.connections
        return dict(counts)

    def _put(self, table: dict[bytes, Kept], key: bytes, value: Kept | None) -> bool:
        if value is None:
            return table.pop(key, None) is not None
        if key not in table and len(table) >= self._limit:
            self.dropped["gauges"] += 1
            return False
        table[key] = value
        return True
