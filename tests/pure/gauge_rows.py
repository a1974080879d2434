"""What the engine of gauges takes in, without Spark: what the live query makes of connections, with Kafka's timestamps."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

import oracle
from fleets import connected

from clientscope.model.connection import ClientConnectionRecord, SeriesCount
from clientscope.model.enums import Kind
from clientscope.model.input import InputRecord
from clientscope.model.topics import CONNECTIONS
from streaming.gauges import Changes, Gauges

_OF_INPUT = ("appended_ms", "partition", "offset")


def rows(records: Iterable[tuple[bytes, int]]) -> list[InputRecord]:
    """What the engine gets of a batch.

    Args:
        records: values, and Kafka's timestamps in ms.
    """
    return connected((appended_ms, value) for value, appended_ms in records)


def count(name: tuple[str, str], connections: int) -> SeriesCount:
    """Connections of a software's name and version; nine were opened."""
    return SeriesCount("CLIENT", *name, connections, 9, max(0, 9 - connections))


def series(name: tuple[str, str], sequence: int, connections: int, epoch: int = 1, gateway: str = "g", **changes: Any) -> InputRecord:
    """A record that is no heartbeat, with the counts of one series."""
    return _record(sequence, epoch, gateway, kind=Kind.OPENED, counts=(count(name, connections),), **changes)


def beat(
    sequence: int, epoch: int = 1, interval_ms: int = 5000, gateway: str = "g", counts: Iterable[SeriesCount] = (), **changes: Any
) -> InputRecord:
    """A heartbeat, or one part of it."""
    figures = {"kind": Kind.HEARTBEAT, "heartbeat_interval_ms": interval_ms, "heartbeat_parts": 1, "counts": tuple(counts)}
    return _record(sequence, epoch, gateway, **{**figures, **changes})


def listed(name: tuple[str, str], sequence: int, connections: int, **changes: Any) -> InputRecord:
    """A heartbeat with one series."""
    return beat(sequence, counts=[count(name, connections)], **changes)


def heartbeat(sequence: int, counts: Mapping[str, int], **changes: Any) -> list[InputRecord]:
    """One with these series: connections by the software's name, of its version 1 unless it is unknown."""
    names = {(name, name if name in ("unknown", "other") else "1"): number for name, number in counts.items()}
    return [beat(sequence, counts=[count(*of) for of in names.items()], **changes)]


def _record(sequence: int, epoch: int, gateway: str, **changes: Any) -> InputRecord:
    place = {name: changes.pop(name, 0) for name in _OF_INPUT}
    fields = {
        "version": 1, "cluster": "c", "broker": 1, "gateway": gateway, "epoch": epoch, "sequence": sequence,
        "timestamp_ms": 0, "listener": "CLIENT", "security_protocol": "PLAINTEXT", **changes,
    }  # fmt: skip
    return InputRecord(version=1, topic=CONNECTIONS, client="", record=ClientConnectionRecord(**fields), **place)


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

    def take(self, gauges: Gauges, inputs: Iterable[InputRecord]) -> None:
        """Takes what the job writes of a batch."""
        self.write(gauges.apply(inputs, now=0))

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
