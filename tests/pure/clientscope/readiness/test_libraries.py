"""readiness/libraries and deprecations: data with its source, and versions as software reports them."""

from __future__ import annotations

import pytest

from clientscope.catalog.releases import api_name
from clientscope.catalog.settings import numbers
from clientscope.readiness.deprecations import ANNOUNCED
from clientscope.readiness.libraries import MINIMUMS, minimum_of


def test_each_has_a_source_and_a_version() -> None:
    for each in MINIMUMS:
        assert each.source.startswith("https://")
        assert len(numbers(each.version)) == 3
        assert all(name == name.lower() for name in each.software)
    names = [name for each in MINIMUMS for name in each.software]
    assert len(set(names)) == len(names)


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
    assert minimum is not None
    assert minimum.reached_by(version) is reached


def test_software_that_is_not_listed() -> None:
    assert minimum_of("unknown") is minimum_of("") is None


def test_announcements_name_real_apis_and_their_source() -> None:
    assert [each.kip for each in ANNOUNCED] == ["KIP-1274"]
    for each in ANNOUNCED:
        assert each.kip in each.source
        assert {api_name(key) for key in each.api_keys} == {"JoinGroup", "SyncGroup"}
