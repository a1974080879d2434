"""From which version on each client library is known to work with brokers of Kafka 4.0 and later, as data for advice.

A minimum is what a source says, not what decides: the verdict comes from the versions that a client was seen to use, and an older
client may work (docs/readiness.md has the ones that were tried). A library without a source isn't here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from clientscope.catalog.dialects.java import JAVA
from clientscope.catalog.settings import Release, numbers

KIP_896 = "https://cwiki.apache.org/confluence/display/KAFKA/KIP-896%3A+Remove+old+client+protocol+API+versions+in+Kafka+4.0"


@dataclass(frozen=True)
class LibraryMinimum:
    """A client library, and the version that works with brokers of 4.0 and later.

    Attributes:
        library: its usual name.
        software: the names that it reports in ApiVersions (KIP-511), in lower case; empty for one that reports none.
        version: the lowest version that the source names.
        note: what else to know; may be empty.
        source: where that is said.
        numbers_of: the leading numbers of a version as the software reports it.
    """

    library: str
    software: tuple[str, ...]
    version: str
    source: str
    note: str = ""
    numbers_of: Callable[[str], Release] = numbers

    def reached_by(self, software_version: str) -> bool | None:
        """Whether a version is this one or newer; None for a version without a number."""
        found = self.numbers_of(software_version)
        return found >= numbers(self.version) if found else None


MINIMUMS = (
    LibraryMinimum("Apache Kafka's Java clients", JAVA.software, "2.1.0", KIP_896, "before 2.4 it reports no software", JAVA.release_of),
    LibraryMinimum("librdkafka", ("librdkafka",), "1.8.2", KIP_896, "2.11.0 for SASL/GSSAPI with brokers of 4.0.0 (KAFKA-19444)"),
    LibraryMinimum("confluent-kafka-python", ("confluent-kafka-python",), "1.8.2", KIP_896, "its version is librdkafka's"),
    LibraryMinimum("confluent-kafka-go", ("confluent-kafka-go",), "1.8.2", KIP_896, "its version is librdkafka's"),
    LibraryMinimum("confluent-kafka-dotnet", ("confluent-kafka-dotnet",), "1.8.2", KIP_896, "its version is librdkafka's"),
    LibraryMinimum("KafkaJS", (), "1.15.0", KIP_896, "reports no software"),
    LibraryMinimum(
        "Sarama",
        ("sarama",),
        "1.41.0",
        "https://github.com/IBM/sarama/discussions/2617",
        "with a Config.Version of at least 2.1.0, its default; groups of 1.30.1, which KIP-896 names, don't work",
    ),
    LibraryMinimum("kafka-python", ("kafka-python",), "2.0.2", KIP_896, "an api_version of (0, 11) or earlier pins removed versions"),
    LibraryMinimum("kafka-go", (), "0.4.48", "https://github.com/segmentio/kafka-go/pull/1379", "before it, groups fail at 4.0.0"),
)
"""In the order in which documents list them."""


def minimum_of(software_name: str) -> LibraryMinimum | None:
    """The library that reports this software name; None for one that isn't listed."""
    return next((each for each in MINIMUMS if software_name.lower() in each.software), None)
