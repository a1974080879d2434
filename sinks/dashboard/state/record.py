"""Record of a topic, in the form that the page's state takes in."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class TopicRecord:
    """One record of a topic.

    Attributes:
        timestamp_ms: LogAppendTime.
        partition, offset: where it lies.
    """

    topic: str
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    partition: int = 0
    offset: int = 0
