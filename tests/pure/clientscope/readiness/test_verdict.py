"""readiness/verdict: what becomes of clients of each kind, at each target, and why."""

from __future__ import annotations

import json
from itertools import product
from typing import Any

import pytest
from golden import cases
from places import ROOT
from seen_clients import NOW, record, seen

from clientscope.catalog.releases import api_key
from clientscope.clock import utc
from clientscope.profiles.owners import Owners
from clientscope.readiness import ApiUse, ObservedUses, Readiness, judge_readiness, known_releases, serves
from clientscope.readiness.judging import UpgradeQuestion, judge_seen, oldest_release
from clientscope.readiness.rows import JudgedClient, logged_ms
from clientscope.readiness.verdict import minimum_of


def observed(text: str, software: str = "", broker: str | None = "3.9.2") -> ObservedUses:
    """A client, by ``Produce 2, Fetch 4``; its software by ``name version``."""
    uses = []
    for use in filter(None, text.split(", ")):
        name, version = use.split(" ")
        key = api_key(name)
        assert key is not None
        uses.append(ApiUse(key, int(version)))
    name, _, version = software.partition(" ")
    return ObservedUses(frozenset(uses), name, version, broker)


@pytest.mark.parametrize(("uses", "software", "broker", "target", "readiness", "reason"), cases(__file__, "verdicts.txt"))
def test_verdicts(uses: str, software: str, broker: str, target: str, readiness: str, reason: str) -> None:
    verdict = judge_readiness(observed(uses, software, broker or None), target)
    assert (verdict.readiness.name, verdict.target) == (readiness, target)
    assert reason in verdict.reasons[0].text
    assert verdict.reasons[0].readiness.name == readiness
    assert bool(verdict.advice) is (readiness in ("BREAKS", "UNKNOWN"))


def test_a_client_that_never_asks_is_fine_where_its_version_is_served_and_breaks_elsewhere() -> None:
    for target, key, version in product(known_releases(), (0, 1, 2, 8, 9, 11, 19, 32, 68), range(20)):
        verdict = judge_readiness(ObservedUses(frozenset({ApiUse(key, version)})), target)
        assert verdict.readiness is (Readiness.FINE if serves(target, key, version) else Readiness.BREAKS), (target, key, version)


def test_each_reason_names_its_api_and_fine_ones_are_left_out() -> None:
    verdict = judge_readiness(observed("Fetch 3, Produce 2, Metadata 1, ApiVersions 0"), "4.0.0")
    assert [(reason.api_key, reason.api_version) for reason in verdict.reasons] == [(0, 2), (1, 3)]


@pytest.mark.parametrize(("software", "advice"), cases(__file__, "advice.txt"))
def test_advice(software: str, advice: str) -> None:
    assert judge_readiness(observed("Produce 2", software), "4.0.0").advice.startswith(advice)


def test_libraries_without_a_name_are_named_by_what_they_send() -> None:
    """kafka-go, brod and kafka_ex join groups in version 1, which 4.0.0 alone lacks."""
    advice = judge_readiness(observed("JoinGroup 1, Fetch 10"), "4.0.0").advice
    assert "kafka-go from 0.4.48, brod from 4.4.2, kafka_ex from 1.0.0 on" in advice
    assert "brod" not in judge_readiness(observed("JoinGroup 1, Produce 2"), "4.0.0").advice
    assert judge_readiness(observed("JoinGroup 1, Fetch 10"), "4.0.1").advice == ""


TRIED: list[dict[str, Any]] = json.loads((ROOT / "tests" / "fixtures" / "readiness.json").read_text())


@pytest.mark.parametrize("tried", TRIED, ids=lambda tried: " ".join(filter(None, (tried["library"], tried["version"], tried["setting"]))))
def test_real_clients_that_were_watched_and_then_pointed_at_newer_brokers(tried: dict[str, Any]) -> None:
    """What they used and what happened is data of a run (readiness_clients.py); the verdicts are of now."""
    assert list(tried["seen"]) == ["3.9.2", "2.4.1"]
    for release, seen_there in tried["seen"].items():
        client = ObservedUses(frozenset(ApiUse(key, version) for key, version in seen_there["uses"]), *seen_there["software"], release)
        for target, works in tried["works"].items():
            readiness = judge_readiness(client, target).readiness
            assert readiness in ((Readiness.FINE, Readiness.FALLS_BACK) if works else (Readiness.BREAKS,)), (release, target)


def judged(*records: tuple[int, Any], **changes: Any) -> list[JudgedClient]:
    asked: dict[str, Any] = {"target": "4.0.0", "releases": {"c": "3.9.2"}, "owners": Owners(), "application_of": str.upper, **changes}
    return judge_seen(seen(*records).clients(NOW), UpgradeQuestion(**asked), NOW)


def test_the_release_is_that_of_the_clients_cluster() -> None:
    old = record((18, 0), (1, 3), software_name="librdkafka", software_version="1.0.0", cluster="d")
    assert [each.verdict.readiness for each in judged((NOW, old))] == ["unknown"]
    assert [each.verdict.readiness for each in judged((NOW, old), releases={"d": "3.9.2"})] == ["breaks"]


def test_a_client_of_which_nothing_is_known_but_its_software_is_judged_by_that() -> None:
    java = {"software_name": "apache-kafka-java", "software_version": "3.9.0"}
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


@pytest.mark.parametrize(("name", "version", "reached"), cases(__file__, "minimum.txt"))
def test_versions_as_software_reports_them(name: str, version: str, reached: str) -> None:
    minimum = minimum_of(name)
    assert minimum is not None and str(minimum.reached_by(version)) == reached
    assert minimum_of("unknown") is minimum_of("") is None
