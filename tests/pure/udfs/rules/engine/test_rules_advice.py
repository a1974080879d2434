"""Advice of rules: settings that the client's library has in its release, and no two rules that contradict each other."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from every import every
from golden import cases
from record_bytes import config_record, setting
from rule_batches import fired, push_of, record_of

from clientscope.catalog import vocabulary
from clientscope.catalog.configs import TYPES, ClientType
from clientscope.catalog.dialects import DIALECTS
from clientscope.catalog.dialects.dialect import Dialect
from clientscope.catalog.setting_names import kinds_of, own_name
from clientscope.catalog.settings import Facts, Release, libraries
from clientscope.model.enums import Origin
from udfs.rules.engine.rule import FIRED, Instead, Rule
from udfs.rules.registry import EVERY_RULE

BY_CODE = {rule.code: rule for rule in EVERY_RULE}
KAFKAS_NAMES = {"java", "librdkafka"}
"""Libraries whose settings' names are much like Kafka's, so that advice must have exactly theirs."""
ENOUGH = {"AN105", "AN211", "AN304"}
"""Rules that may fire where the library lacks some of their settings."""
OF_BROKERS = {"message.max.bytes"}


def _facts(dialect: Dialect, release: Release, client_type: ClientType, key: str) -> list[Facts]:
    """What holds of a setting, by Kafka's name or the library's own; empty where the library has none."""
    library = libraries()[dialect.name]
    settings = [library.setting(name) for name in {key, own_name(dialect, library, key, client_type)} - {""}]
    settings += [library.setting(name) for name, meant in dialect.aliases_of.get(client_type, {}).items() if meant == key]
    return [facts for each in settings if each for kind in kinds_of(client_type) if (facts := each.now(kind, release))]


def _exactly(dialect: Dialect, release: Release, client_type: ClientType, name: str) -> list[Facts]:
    found = libraries()[dialect.name].setting(name)
    return [facts for kind in kinds_of(client_type) if found and (facts := found.now(kind, release))]


NAMES = {*TYPES, *libraries()["librdkafka"].names}
NAMED = re.compile(rf"(?<![\w.])({'|'.join(sorted(map(re.escape, NAMES), key=len, reverse=True))})(?![\w-]|\.\w)(?:=([\w-]+))?")
WORDS = {"acks", "retries"}
"""Settings' names that are words of a sentence, too, where no value follows."""


@pytest.mark.parametrize("rule", [rule for rule in EVERY_RULE if rule.keys], ids=lambda rule: rule.code)
@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
def test_advice_names_settings_of_the_library(rule: Rule, dialect: Dialect) -> None:
    if rule.dialects and dialect.name not in rule.dialects:
        return
    for release in libraries()[dialect.name].releases:
        said = rule.message(FIRED, {}, vocabulary.software(dialect.software[0], ".".join(map(str, release))))
        for client_type in rule.client_types - {ClientType.STREAMS}:
            there = [bool(_facts(dialect, release, client_type, key)) for key in rule.keys]
            if not (any(there) if rule.code in ENOUGH else all(there)):
                continue
            of = _exactly if dialect.name in KAFKAS_NAMES else _facts
            for name, value in NAMED.findall(said.partition(": ")[2]):
                if name in OF_BROKERS and dialect.name != "librdkafka":
                    continue
                facts = of(dialect, release, client_type, name)
                either = client_type is not ClientType.PRODUCER and of(dialect, release, ClientType.PRODUCER, name)
                assert facts or name in WORDS or (either and "consumer's" in said), (dialect.name, release, client_type, said)
                if value and of is _exactly:
                    assert all(each.allowed is None or each.allowed.takes(value) for each in every(facts)), (dialect.name, release, said)


@pytest.mark.parametrize(
    ("bounds", "fitting"),
    [
        ({}, "2.0.1 3.1.0 4.4.0 unknown"),
        ({"since": "3.1"}, "3.1.0 4.4.0"),
        ({"before": "3.1"}, "2.0.1"),
        ({"since": "2.1", "before": "4.4"}, "3.1.0"),
    ],
)
def test_bounds_have_no_release_that_is_not_known(bounds: dict[str, str], fitting: str) -> None:
    advice = Instead("", "java", **bounds)
    versions = ("2.0.1", "3.1.0", "4.4.0", "unknown")
    assert " ".join(each for each in versions if advice.is_for(vocabulary.software("apache-kafka-java", each))) == fitting
    assert not advice.is_for(vocabulary.software("librdkafka", "3.1.0"))


def test_what_a_library_lacks_is_by_its_release_and_its_own_name() -> None:
    said = ("apache-kafka-java 3.6.2", "apache-kafka-java 4.4.0", "librdkafka 1.4.2", "kafkajs 2.2.4", "sarama v1.43.0", "in-house 1")
    lacking = [each for each in said if vocabulary.software(*each.split()).lacks("retry.backoff.max.ms")]
    assert lacking == ["apache-kafka-java 3.6.2", "librdkafka 1.4.2", "sarama v1.43.0"]


@pytest.mark.parametrize(("code", "software", "version", "says", "does_not"), cases(__file__, "advice.txt"))
def test_advises_by_library_and_release(code: str, software: str, version: str, says: str, does_not: str) -> None:
    push = push_of(record_of(replace(BY_CODE[code].cases[0], software=software, version=version)))
    assert code in fired(push)
    said = BY_CODE[code].said_of(push, FIRED)
    assert says in said and does_not not in said, said


ABOUT_ANSWERS = {"AN102", "AN103", "AN104", "AN105", "AN106", "AN107", "AN108"}
"""Rules about what a producer does with answers, or without them."""
ZERO = {
    "acks": "0", "retries": "0", "enable.idempotence": "false", "max.in.flight.requests.per.connection": "10",
    "delivery.timeout.ms": "2000", "request.timeout.ms": "1000", "linger.ms": "5",
}  # fmt: skip


@pytest.mark.parametrize("origin", Origin)
@pytest.mark.parametrize(("software", "version"), cases(__file__, "software.txt"))
def test_nothing_is_said_of_answers_that_nobody_waits_for(software: str, version: str, origin: Origin) -> None:
    of = {"origin": origin, "software_name": software, "software_version": version}
    pushed = [config_record(*(setting(key, value) for key, value in ZERO.items()), **of), config_record(setting("acks", "0"), **of)]
    pushed += [config_record(setting("acks", "0"), setting("enable.idempotence", "false", default=True), **of)]
    found = [fired(push_of(record)) for record in pushed]
    assert all("AN101" in codes for codes in every(found)), found
    assert not [codes & ABOUT_ANSWERS for codes in found if codes & ABOUT_ANSWERS]
