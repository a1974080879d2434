"""Offsets by topic and partition, and the ranges of them that can't be read any more."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

Offsets: TypeAlias = Mapping[str, Mapping[int, int]]
"""Topic → partition → the offset of the next record to read."""

EARLIEST = -2
"""Spark's and Kafka's number for where a partition begins now."""


@dataclass(frozen=True)
class Extent:
    """What a partition holds: from its first offset to the one that its next record gets."""

    begin: int
    end: int


Extents: TypeAlias = Mapping[str, Mapping[int, Extent]]
"""Topic → partition → what it holds now."""


@dataclass(frozen=True)
class Lost:
    """Records that were not read and are gone: from ``begin`` to before ``end``."""

    topic: str
    partition: int
    begin: int
    end: int

    @property
    def count(self) -> int:
        """How many offsets that are."""
        return self.end - self.begin

    def __str__(self) -> str:
        return f"{self.topic}, partition {self.partition}: offsets from {self.begin} to {self.end - 1}, {self.count} records"


def from_json(text: str) -> dict[str, dict[int, int]]:
    """Spark's own JSON of a Kafka source's offsets.

    Raises:
        ValueError: it is something else.
    """
    found = json.loads(text)
    if not isinstance(found, dict) or not all(isinstance(partitions, dict) for partitions in found.values()):
        raise ValueError("it is no JSON of offsets by topic and partition")
    return {topic: {_partition(number): _offset(offset) for number, offset in found[topic].items()} for topic in found}


def to_json(offsets: Offsets) -> str:
    """Offsets in the form of Spark's option ``startingOffsets``."""
    return json.dumps({topic: {str(number): offset for number, offset in sorted(found.items())} for topic, found in offsets.items()})


def _partition(text: str) -> int:
    if not text.isdigit():
        raise ValueError(f"{text!r} is no partition")
    return int(text)


def _offset(found: Any) -> int:
    if not isinstance(found, int) or isinstance(found, bool) or found < EARLIEST:
        raise ValueError(f"{found!r} is no offset")
    return found


def lost(position: Offsets, extents: Extents) -> list[Lost]:
    """The records that a query has not read and that can't be read any more.

    Args:
        position: where the query continues; a partition that isn't in it is new, and begins at 0.
        extents: what the topics hold.
    """
    return [
        Lost(topic, number, position.get(topic, {}).get(number, 0), extent.begin)
        for topic, partitions in extents.items()
        for number, extent in partitions.items()
        if position.get(topic, {}).get(number, 0) < extent.begin
    ]


def said(ranges: Iterable[Lost]) -> str:
    """All of them in a line."""
    return "; ".join(str(each) for each in ranges)
