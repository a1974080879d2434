"""readiness/judging: verdicts on clients that gateways have seen."""

from __future__ import annotations

from typing import Any

import pytest
from seen_clients import NOW, record, seen

from clientscope.profiles.owners import Owners
from clientscope.readiness.judging import UpgradeQuestion, judge_seen, oldest_release, utc
from clientscope.readiness.rows import JudgedClient, logged_ms


def judged(*records: tuple[int, Any], **changes: Any) -> list[JudgedClient]:
    asked: dict[str, Any] = {"target": "4.0.0", "releases": {"c": "3.9.2"}, "owners": Owners(), "application_of": str.upper, **changes}
    return judge_seen(seen(*records).clients(NOW), UpgradeQuestion(**asked), NOW)


def test_the_release_is_that_of_the_clients_cluster() -> None:
    old = record((18, 0), (1, 3), client_software_name="librdkafka", client_software_version="1.0.0", cluster_id="d")
    assert [each.verdict.readiness for each in judged((NOW, old))] == ["unknown"]
    assert [each.verdict.readiness for each in judged((NOW, old), releases={"d": "3.9.2"})] == ["breaks"]


def test_a_client_of_which_nothing_is_known_but_its_software_is_judged_by_that() -> None:
    java = {"client_software_name": "apache-kafka-java", "client_software_version": "3.9.0"}
    assert [each.verdict.readiness for each in judged((NOW, record(**java)))] == ["fine"]
    assert [each.verdict.readiness for each in judged((NOW, record()))] == ["unknown"]


@pytest.mark.parametrize(
    ("versions", "expected"),
    [(["4.0", "3.9–4.0"], "3.9.0"), (["4.4.0", "4.3 or 4.4"], "4.3.0"), (["3.10.1", "3.9.1"], None), ([""], None), ([], None)],
)
def test_of_several_brokers_the_oldest_counts(versions: list[str], expected: str | None) -> None:
    assert oldest_release(versions) == expected


def test_a_time_is_read_as_it_is_written() -> None:
    assert logged_ms(utc(1_764_000_000_000)) == 1_764_000_000_000 and utc(None) == utc(0) == ""
