"""The gauge ``connections``: from the newest counts of each series to what ``clientscope.gauges`` says.

Spark keeps the newest counts (``streaming.transforms.gauges``); what concerns a gateway as a whole is decided here, in the driver:
a new epoch replaces the older one's series, a gateway that left or was lost has none, a series that three heartbeats didn't
mention is gone.  Only what differs from what was last published is written.
"""

from __future__ import annotations

import json
import logging
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

log = logging.getLogger(__name__)

HEARTBEATS = 3
"""So many intervals without a heartbeat, and a gateway is lost; so many heartbeats without a series, and it is gone."""

_UNKNOWN_INTERVAL_MS = 30_000
_SERIES = ("cluster", "broker", "gateway", "listener", "software_name", "software_version")
_COMPARED = ("connections", "opened", "closed", "epoch")
_VALUE = (*_SERIES, *_COMPARED, "sequence", "timestamp_ms")

Row: TypeAlias = Mapping[str, Any]
GatewayKey: TypeAlias = tuple[str, int, str]
Changes: TypeAlias = dict[str, bytes | None]


@dataclass
class _Gateway:
    """What is known of one gateway.

    Attributes:
        epoch: of its newest process.
        heard_at: when its last heartbeat was appended, on the caller's clock; before the first, when it was first heard of.
        left_at: the sequence of its farewell, or None.
        heartbeats: the sequences at which its last heartbeats began.
        series: what should be published, by key; none at zero.
        published: what is.
    """

    epoch: int
    heard_at: float
    interval_ms: int = _UNKNOWN_INTERVAL_MS
    left_at: int | None = None
    heartbeats: deque[int] = field(default_factory=lambda: deque(maxlen=HEARTBEATS))
    series: dict[str, Row] = field(default_factory=dict)
    published: dict[str, Row] = field(default_factory=dict)

    def restart(self, epoch: int, now: float) -> None:
        """A new process has taken its place."""
        self.epoch, self.heard_at, self.left_at = epoch, now, None
        self.heartbeats.clear()
        self.series.clear()

    def beat(self, row: Row, appended_at: float) -> None:
        """A heartbeat, or one part of it; an interval of 0 says farewell."""
        if row["heartbeat_interval_ms"] == 0:
            self.left_at = row["sequence"]
            return
        self.heard_at = max(self.heard_at, appended_at) if self.heartbeats else appended_at
        self.interval_ms = row["heartbeat_interval_ms"]
        first = row["sequence"] - row["heartbeat_part"]
        if not self.heartbeats or first > self.heartbeats[-1]:
            self.heartbeats.append(first)

    def tidy(self) -> None:
        """Drops the series that heartbeats no longer mention; all, after a farewell."""
        oldest = self.heartbeats[0] if len(self.heartbeats) == HEARTBEATS else -1
        if self.left_at is not None:
            oldest = self.left_at + 1
        for key in [key for key, value in self.series.items() if value["sequence"] < oldest]:
            del self.series[key]

    def changes(self) -> Changes:
        """What must be written so that ``published`` becomes ``series``; from then on it counts as written."""
        changes: Changes = dict.fromkeys(self.published.keys() - self.series.keys())
        for key, value in self.series.items():
            before = self.published.get(key)
            if before is None or any(before[name] != value[name] for name in _COMPARED):
                changes[key] = json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()
        for key, written in changes.items():
            if written is None:
                del self.published[key]
            else:
                self.published[key] = self.series[key]
        return changes


class Gauges:
    """What is published, and what should be.  Without I/O; times are seconds of a clock that never goes back.

    Args:
        published: the topic's newest values by key, as ``sinks.topics.read_compacted`` returns them.
        now: when that was; the gateways found there get the benefit of the doubt from then on.
    """

    def __init__(self, published: Mapping[str, bytes], now: float) -> None:
        self._gateways: dict[GatewayKey, _Gateway] = {}
        for key, text in published.items():
            value = json.loads(text)
            gateway = self._gateway(value, now)
            gateway.published[key] = value
            if value["epoch"] == gateway.epoch:
                gateway.series[key] = value

    def apply(self, rows: Iterable[Row], now: float) -> Changes:
        """Takes in what is newest of some series and gateways; returns what to write: a value, or None for a tombstone.

        Args:
            rows: as ``streaming.transforms.gauges`` makes them, in any order, repeated or late.
        """
        rows = list(rows)
        touched = {_gateway_key(row): self._gateway(row, now) for row in rows}
        newest_ms = max((row["appended_ms"] for row in rows), default=0)
        for row in rows:
            gateway = touched[_gateway_key(row)]
            if row["epoch"] < gateway.epoch:
                continue
            if row["listener"] is None:
                # How old it is by Kafka's clock alone, so that ours needn't agree with it.
                gateway.beat(row, now - (newest_ms - row["appended_ms"]) / 1000)
            elif row["connections"] > 0:
                gateway.series[_series_key(row)] = {name: row[name] for name in _VALUE}
            else:
                gateway.series.pop(_series_key(row), None)
        changes: Changes = {}
        for gateway in touched.values():
            gateway.tidy()
            changes |= gateway.changes()
        return changes

    def expire(self, now: float) -> Changes:
        """Takes away the series of gateways that have been silent for too long.  To be called only when all has been read."""
        changes: Changes = {}
        for key, gateway in self._gateways.items():
            if gateway.series and now - gateway.heard_at > HEARTBEATS * gateway.interval_ms / 1000:
                log.warning("gateway %s is lost: no heartbeat for %.0f s", json.dumps(key), now - gateway.heard_at)
                gateway.series.clear()
                changes |= gateway.changes()
        return changes

    def _gateway(self, row: Row, now: float) -> _Gateway:
        gateway = self._gateways.setdefault(_gateway_key(row), _Gateway(row["epoch"], now))
        if row["epoch"] > gateway.epoch:
            gateway.restart(row["epoch"], now)
        return gateway


def _gateway_key(row: Row) -> GatewayKey:
    return row["cluster"], row["broker"], row["gateway"]


def _series_key(row: Row) -> str:
    return json.dumps([row[name] for name in _SERIES], separators=(",", ":"), ensure_ascii=False)
