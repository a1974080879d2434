"""Settings of a push, held against the catalogue, and what libraries refuse."""

from __future__ import annotations

import pytest
from record_bytes import config_record, setting
from rule_batches import outcomes, push_of

from clientscope.catalog.configs import ClientType
from clientscope.catalog.dialects import DIALECTS
from clientscope.catalog.setting_names import NameState, kinds_of
from clientscope.catalog.settings import libraries
from clientscope.catalog.vocabulary import KEYS
from clientscope.model.setting import Setting
from udfs.rules.combinations import REFUSALS, Refusal
from udfs.rules.engine.pushed_config import PushedConfig, search_names
from udfs.rules.engine.rule import FIRED, NOT_EVALUABLE, PASSED, judge
from udfs.rules.registry import RULES

JAVA = {"software_name": "apache-kafka-java", "software_version": "4.4.0"}


def push(software: str = "apache-kafka-java", version: str = "4.4.0", **settings: str) -> PushedConfig:
    configs = [setting(key.replace("__", "."), value) for key, value in settings.items()]
    return push_of(config_record(*configs, software_name=software, software_version=version))


def test_a_value_is_judged_by_each_library_for_itself() -> None:
    assert push(linger__msec="5", acks="2").named(NameState.UNKNOWN) == [0]
    assert push(linger__msec="5", acks="2").refused_by("words") == [1]
    assert push("librdkafka", "2.8.0", linger__ms="1000000", acks="2").refused_by("range") == [0]
    assert push("in-house", "1", acks="9").refused_by("words", "range") == []
    refused = [push(version=each, auto__offset__reset="by_duration:P1D", group__id="a").constrained.keys() for each in ("3.9.2", "4.0.0")]
    assert refused == [{0}, {0}]
    assert not push(version="4.0.0", auto__offset__reset="by_duration:P1D", group__id="a").refused_by("words", "any case")


def test_an_empty_push_is_checked() -> None:
    checked = push_of(config_record())
    assert not checked.constrained and not checked.twice and not checked.named(NameState.UNKNOWN)


def test_a_name_twice_is_no_setting_under_two_names() -> None:
    assert not push_of(config_record(setting("acks", "1"), setting("acks", "all"), software_name="apache-kafka-java")).twice


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
def test_whatever_a_library_takes_can_be_said(dialect: object) -> None:
    library = libraries()[dialect.name]  # type: ignore[attr-defined]
    settings = [library.setting(name) for name in library.names]
    every = [each for kind in kinds_of(None) for one in settings if one for each in one.kinds.get(kind, ())]
    assert every
    for each in every:
        assert each.facts is None or each.facts.allowed is None or str(each.facts.allowed)


def test_a_value_that_is_none_of_the_words_is_said_with_them() -> None:
    wrong = push(application__id="a", processing__guarantee="banana")
    assert wrong.client_type is ClientType.STREAMS
    (found,) = [each for rule, each in judge(wrong, RULES) if rule.code == "CF103"]
    assert (found.outcome, [each.note for each in found.settings]) == (FIRED, ["allowed: at_least_once or exactly_once_v2"])


def test_who_has_many_unknown_names_takes_nothing_from_the_others() -> None:
    """A batch full of unknown names takes a bounded time, and isn't called clean."""
    many = [push(**{f"linger.msx{number:05}": "1" for number in range(at, at + 500)}) for at in range(0, 1_500, 500)]
    pushes = [*many, push(**{"linger.msec": "5"}), push(acks="all")]
    search_names(pushes)
    assert [each.searched for each in pushes] == [True, True, False, True, True]
    assert [outcomes(each)["CF101"] for each in pushes[2:]] == [NOT_EVALUABLE, FIRED, PASSED]


@pytest.mark.parametrize("hostile", [{"principal": "User:hostile"}, {"address": "192.0.2.66"}, {"address": "2001:db8::{}"}])
def test_who_pushes_often_takes_nothing_from_the_others(hostile: dict[str, str]) -> None:
    """Each of a client's pushes has one unknown name, as a mistaken one has; IPv6 gives it a new address for each."""
    pushes = [
        push_of(config_record(setting(f"x{number:05}", "1"), **{field: text.format(number) for field, text in hostile.items()}, **JAVA))
        for number in range(1_500)
    ]
    mistaken = push_of(config_record(setting("linger.msec", "5"), setting("acks", "all"), principal="User:orders", **JAVA))
    search_names([*pushes, mistaken])
    assert sum(each.searched for each in pushes) == 1_023
    assert outcomes(mistaken)["CF101"] == FIRED


@pytest.mark.parametrize("default", [False, True])
def test_a_value_that_the_newest_release_refuses_is_shown_with_what_it_takes(default: bool) -> None:
    given = {"processing.guarantee": "exactly_once", "upgrade.from": "x", "built.in.metrics.version": "0.10.0-2.4", "application.id": "a"}
    values = [setting(key, value, default=default) for key, value in given.items()]
    old = push_of(config_record(*values, software_name="apache-kafka-java", software_version="2.8.0"))
    origin, note = "default" if default else "set", "not since 4.0.0; allowed: at_least_once or exactly_once_v2"
    assert list(old.outdated()) == [
        Setting("processing.guarantee", "exactly_once", origin, note=note),
        Setting("built.in.metrics.version", "0.10.0-2.4", origin, note="not since 3.0.0; allowed: latest"),
    ]


def test_setting_that_several_kinds_of_client_have_is_outdated_once() -> None:
    record = config_record(setting("client.dns.lookup", "default"), software_name="apache-kafka-java", software_version="2.8.2")
    assert [each.key for each in push_of(record).outdated()] == ["client.dns.lookup"]


@pytest.mark.parametrize("refusal", REFUSALS, ids=lambda refusal: refusal.because)
def test_a_refusals_data_are_sound(refusal: Refusal) -> None:
    """tests/real holds the checks against the libraries themselves."""
    assert refusal.dialects.keys() <= {each.name for each in DIALECTS}
    assert set(refusal.keys) <= KEYS
