"""AN311 on the types that clients push, and on what each library writes by itself."""

from __future__ import annotations

from typing import Any

import pytest
from golden import cases
from record_bytes import config_record, setting
from rule_batches import push_of

from clientscope.catalog.configs import TYPES, ClientType, Type
from clientscope.catalog.dialects import DIALECTS
from clientscope.catalog.dialects.dialect import Dialect
from udfs.rules.engine.rule import FIRED, NOT_EVALUABLE, PASSED
from udfs.rules.values import value_unparsable


def pushed(*settings: Any, software: str = "third-party", version: str = "1.0") -> bytes:
    return config_record(*settings, software_name=software, software_version=version)


def outcomes(*records: bytes, **options: Any) -> list[int]:
    return [value_unparsable(push_of(record, **options)).outcome for record in records]


def shown(record: bytes) -> list[tuple[str, str | None]]:
    """The settings that the rule points to."""
    return [(each.key, each.value) for each in value_unparsable(push_of(record)).settings or ()]


@pytest.mark.parametrize(("key", "value", "kind", "outcome"), cases(__file__, "typed.txt"))
def test_each_push_is_judged_by_the_type_that_it_says(key: str, value: str, kind: str, outcome: str) -> None:
    fine = setting("batch.size", "5", type=Type.INT)
    assert outcomes(pushed(setting(key, value, type=Type[kind]), fine)) == [{"passed": PASSED, "fired": FIRED}[outcome]]


def test_a_type_alone_says_nothing_of_a_text_and_a_number_may_have_any_length() -> None:
    assert outcomes(pushed(setting("acks", "all", type=Type.STRING))) == [NOT_EVALUABLE]
    assert outcomes(pushed(setting("linger.ms", "9" * 10_000, type=Type.LONG))) == [FIRED]


def test_evidence_names_what_does_not_parse_and_nothing_else() -> None:
    record = pushed(
        setting("linger.ms", "5ms", type=Type.LONG),
        setting("batch.size", "1000", type=Type.INT),
        setting("max.in.flight", "many", type=Type.INT),
        software="librdkafka",
    )
    assert shown(record) == [("linger.ms", "5ms"), ("max.in.flight.requests.per.connection", "many")]


def test_a_value_of_a_key_that_is_not_kafkas_is_not_shown() -> None:
    assert shown(pushed(setting("queued.min.messages", "plenty", type=Type.INT), software="librdkafka")) == [("queued.min.messages", None)]


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
def test_what_a_library_has_by_itself_always_parses(dialect: Dialect) -> None:
    """Every default of every release, as its client pushes it and as a file of it has it."""
    records, settings = [], []
    for client_type in ClientType:
        for key, default in dialect.defaults.get(client_type, {}).items():
            for text in [default] if isinstance(default, str) else default.values():
                if text is not None:
                    settings.append((key, text))
                    records.append(pushed(setting(key, text, type=TYPES[key]), software=dialect.software[0]))
    for complete in (False, True):
        wrong = [each for each, outcome in zip(settings, outcomes(*records, complete=complete), strict=True) if outcome == FIRED]
        assert wrong == []


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
def test_nor_what_a_library_spells_in_its_own_way(dialect: Dialect) -> None:
    spelled = [(key, word) for key, words in dialect.spellings.items() for word in words]
    spelled += [("enable.auto.commit", word) for word in dialect.booleans]
    records = [pushed(setting(key, form, type=TYPES[key]), software=dialect.software[0])
               for key, word in spelled for form in (word, word.upper(), f" {word} ")]  # fmt: skip
    own = [(name, "250ms") for name in dialect.durations] + [(name, "64") for name in dialect.factors] + [
        (name, "true") for name in dialect.inverted
    ]  # fmt: skip
    in_files = [pushed(setting(name, text), software=dialect.software[0]) for name, text in own]
    assert FIRED not in outcomes(*records, pushed(setting("acks", "all")))
    assert FIRED not in outcomes(*in_files, pushed(setting("acks", "all")), complete=True)


@pytest.mark.parametrize("text", ["${LINGER}", "{{ .Values.linger }}", "%LINGER%", "null", "$LINGER_MS"])
def test_a_file_may_leave_a_value_to_what_fills_it_in(text: str) -> None:
    record = pushed(setting("linger.ms", text, type=Type.LONG), software="apache-kafka-java", version="4.4.0")
    assert outcomes(record, complete=True) == [PASSED]
    assert outcomes(record) == [FIRED], "a client that pushes it has not filled it in"
