"""What the engine of gauges takes in, without Spark: what the live query makes of connections, with Kafka's timestamps."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

import oracle
from fleets import connected

from streaming.gauges import Changes, GaugeEntry, Gauges
from streaming.gauges.heartbeats import gauge_entries


def rows(records: Iterable[tuple[bytes, int]]) -> list[GaugeEntry]:
    """The entries of a batch.

    Args:
        records: values, and Kafka's timestamps in ms.
    """
    return list(gauge_entries(connected((appended_ms, value) for value, appended_ms in records)))


def series(name: tuple[str, str], sequence: int, connections: int, epoch: int = 1, gateway: str = "g", **changes: Any) -> GaugeEntry:
    """The entry of a series in a record that is no heartbeat."""
    return GaugeEntry(
        cluster="c", broker=1, gateway=gateway, listener="CLIENT", software_name=name[0], software_version=name[1],
        epoch=epoch, sequence=sequence, timestamp_ms=0, connections=connections, opened=9, closed=9 - connections,
        heartbeat_interval_ms=0, heartbeat_part=0, heartbeat_parts=0, client_instances=0, opened_connections=0, closed_connections=0,
        appended_ms=0, partition=0, offset=0,
    )._replace(**changes)  # fmt: skip


def beat(sequence: int, epoch: int = 1, interval_ms: int = 5000, gateway: str = "g", **changes: Any) -> GaugeEntry:
    """The entry of a heartbeat itself, or of one part of it."""
    nothing: dict[str, Any] = dict.fromkeys(("listener", "software_name", "software_version", "connections", "opened", "closed"))
    parts = {"heartbeat_interval_ms": interval_ms, "heartbeat_parts": 1}
    return series(("", ""), sequence, 0, epoch, gateway)._replace(**{**nothing, **parts, **changes})


def listed(name: tuple[str, str], sequence: int, connections: int, **changes: Any) -> GaugeEntry:
    """What a heartbeat says of a series."""
    return series(name, sequence, connections, **{"heartbeat_parts": 1, "heartbeat_interval_ms": 5000, **changes})


def heartbeat(sequence: int, counts: Mapping[str, int], **changes: Any) -> list[GaugeEntry]:
    """A whole one: connections by the software's name, of its version 1 unless it is unknown."""
    names = {(name, "unknown" if name == "unknown" else "1"): count for name, count in counts.items()}
    return [*(listed(name, sequence, count, **changes) for name, count in names.items()), beat(sequence, **changes)]


class Topic:
    """``clientscope.gauges`` as a compacted topic has it in the end."""

    def __init__(self) -> None:
        self.values: dict[str, bytes] = {}

    def write(self, changes: Changes) -> None:
        """Takes what the job writes."""
        for key, value in changes.items():
            if value is None:
                self.values.pop(key, None)
            else:
                self.values[key] = value

    def take(self, gauges: Gauges, entries: Iterable[GaugeEntry]) -> None:
        """Takes what the job writes of a batch."""
        self.write(gauges.apply(list(entries), now=0))

    def recorded(self) -> dict[str, dict[str, Any]]:
        """What its values say, as `oracle.gauges` does."""
        return oracle.recorded_gauges({key: json.loads(value) for key, value in self.values.items()})

    def series(self) -> list[dict[str, Any]]:
        """The values of series."""
        return of_series(self.values)

    def gateways(self) -> list[dict[str, Any]]:
        """The values of gateways as a whole."""
        return [json.loads(value) for key, value in self.values.items() if len(json.loads(key)) == 3]


def of_series(published: Mapping[str, bytes | None]) -> list[dict[str, Any]]:
    """The values of series among what was written."""
    return [json.loads(value) for key, value in published.items() if value is not None and len(json.loads(key)) == 6]
