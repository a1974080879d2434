"""Current gauges, from ``clientscope.gauges``: connections per series, and each gateway's own values."""

from __future__ import annotations

import json
from collections import Counter
from typing import TypeVar

from clientscope.errors import RecordError
from clientscope.gauges import GatewayGauge, Gauge
from clientscope.records.codec import decode

MAX_KEY_BYTES = 8_192

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
        if key is None or len(key) > MAX_KEY_BYTES:
            raise RecordError("key")
        if _is_gateways(key):
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


def _is_gateways(key: bytes) -> bool:
    """Whether it is a gateway's own key: cluster, broker, gateway. A series' key has three more."""
    try:
        parts = json.loads(key)
    except ValueError:
        return False
    return isinstance(parts, list) and len(parts) == 3 and isinstance(parts[1], int)
