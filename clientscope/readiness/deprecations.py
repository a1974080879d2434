"""What Kafka has announced to deprecate or remove, and no release has removed yet."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass


@dataclass(frozen=True)
class AnnouncedDeprecation:
    """An announcement.

    Attributes:
        kip: such as ``KIP-1274``.
        api_keys: the APIs by which its users are recognised.
        software: the software names that it is about, in lower case; empty for all.
        text: what changes, and in which release.
        source: where that is said.
    """

    kip: str
    api_keys: frozenset[int]
    software: frozenset[str]
    text: str
    source: str


ANNOUNCED = (
    AnnouncedDeprecation(
        "KIP-1274",
        frozenset({11, 14}),  # JoinGroup and SyncGroup
        frozenset({"apache-kafka-java"}),
        "Java's KafkaConsumer leaves the classic group protocol. The consumer protocol is recommended from 4.3; classic is to be "
        "deprecated in 5.0 and removed from KafkaConsumer in 6.0. Brokers still serve it.",
        "https://cwiki.apache.org/confluence/display/KAFKA/"
        "KIP-1274%3A+Deprecate+and+remove+support+for+Classic+rebalance+protocol+in+KafkaConsumer",
    ),
)
"""In the order of their KIPs."""


def announced(software_name: str, api_keys: Collection[int]) -> tuple[AnnouncedDeprecation, ...]:
    """The announcements about a client, by its software and the APIs that it uses; one whose software is unknown has those about all."""
    name = software_name.lower()
    return tuple(each for each in ANNOUNCED if each.api_keys & set(api_keys) and (not each.software or name in each.software))
