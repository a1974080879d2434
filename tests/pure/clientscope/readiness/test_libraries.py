"""Lowest versions of libraries and announcements: data with its source, and versions as software reports them."""

from __future__ import annotations

import pytest

from clientscope.readiness.verdict import minimum_of


@pytest.mark.parametrize(
    ("name", "version", "reached"),
    [
        ("librdkafka", "1.8.2", True),
        ("librdkafka", "1.8.0", False),
        ("confluent-kafka-python", "1.8.2-rdkafka-1.8.2", True),
        ("Confluent-Kafka-Python", "1.5.0-rdkafka-1.5.0", False),
        ("apache-kafka-java", "6.2.0-ccs", True),
        ("apache-kafka-java", "2.0.1", False),
        ("sarama", "v1.43.0", True),
        ("librdkafka", "unknown", None),
    ],
)
def test_versions_as_software_reports_them(name: str, version: str, reached: bool | None) -> None:
    minimum = minimum_of(name)
    assert minimum is not None and minimum.reached_by(version) is reached
    assert minimum_of("unknown") is minimum_of("") is None
