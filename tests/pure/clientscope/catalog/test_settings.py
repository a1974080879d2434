"""The catalogue of settings, against the libraries that are installed, and what it says of releases."""

from __future__ import annotations

import ast
import inspect
import math
import sys
from pathlib import Path
from typing import Any

import aiokafka
import confluent_kafka
import kafka
import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.admin import AIOKafkaAdminClient
from every import every
from golden import cases

from clientscope.catalog import setting_names
from clientscope.catalog.config_values import parse
from clientscope.catalog.configs import ClientType, Type
from clientscope.catalog.dialects import dialect
from clientscope.catalog.setting_names import NameState, judge
from clientscope.catalog.settings import Allowed, Facts, KnownSetting, libraries, numbers
from clientscope.policy.interface import ClientConfig

sys.path.append(str(Path(__file__).parents[4] / "tools"))

from catalogue import Found, library, sentence
from catalogue_librdkafka import KINDS, read_table, show
from catalogue_others import python_facts, said


def installed(name: str, kinds: dict[str, dict[str, list[Any]]], **more: Any) -> dict[str, dict[str, Facts]]:
    """Of a library that was just read, kind → setting → facts, by the same path as the file."""
    from clientscope.catalog.settings import Library

    made = Library(name, library(Found({"1": kinds}, **more)))
    return {kind: {key: facts for key in of if (facts := of_setting(made.setting(key)).now(kind, ()))} for kind, of in kinds.items()}


def recorded(name: str, release: str, kinds: Any) -> dict[str, dict[str, Facts]]:
    settings = [of_setting(libraries()[name].setting(key)) for key in sorted(libraries()[name].names)]
    return {kind: {each.name: facts for each in settings if (facts := each.now(kind, numbers(release)))} for kind in kinds}


def of_setting(setting: KnownSetting | None) -> KnownSetting:
    assert setting is not None
    return setting


def test_librdkafkas_settings_are_those_that_it_prints() -> None:
    folder = Path(confluent_kafka.__file__).parent.with_name("confluent_kafka.libs")
    version, table = show(next(folder.glob("librdkafka*")))
    assert version == confluent_kafka.libversion()[0]
    kinds = read_table(table)[0]
    found = recorded("librdkafka", version, kinds)
    assert {kind: {key: facts for key, facts in of.items() if not key.startswith("go.")} for kind, of in found.items()} == installed(
        "librdkafka", kinds
    )
    assert set(kinds) == set(KINDS["*"])


def test_kafka_pythons_settings_are_those_of_its_classes() -> None:
    classes = {"producer": kafka.KafkaProducer, "consumer": kafka.KafkaConsumer, "admin": kafka.KafkaAdminClient}
    kinds = {kind: {key: python_facts(value) for key, value in each.DEFAULT_CONFIG.items()} for kind, each in classes.items()}
    mine, its = recorded("kafka-python", kafka.__version__, kinds), installed("kafka-python", kinds)
    assert {kind: set(of) for kind, of in mine.items()} == {kind: set(of) for kind, of in its.items()}
    for kind, of in its.items():
        # A default that is an expression, such as the name of the host, has no text.
        for key, facts in of.items():
            assert mine[kind][key].default in (facts.default, None), key


def test_aiokafkas_settings_are_its_parameters() -> None:
    classes = {"producer": AIOKafkaProducer, "consumer": AIOKafkaConsumer, "admin": AIOKafkaAdminClient}
    mine = recorded("aiokafka", aiokafka.__version__, classes)
    for kind, each in classes.items():
        parameters = {key: of for key, of in inspect.signature(each).parameters.items() if key not in ("loop", "topics")}
        assert set(mine[kind]) - {"topics"} == set(parameters)
        for key, parameter in parameters.items():
            assert mine[kind][key].default in (python_facts(parameter.default)[1], None), key


@pytest.mark.parametrize(("name", "module"), [("kafka-python", kafka), ("aiokafka", aiokafka)])
def test_sentences_are_those_of_the_docstrings(name: str, module: Any) -> None:
    documentation: dict[str, str] = {}
    for path in sorted(Path(module.__file__).parent.rglob("*.py")):
        documentation |= said(ast.parse(path.read_text()))
    of_settings = {each: of_setting(libraries()[name].setting(each)) for each in documentation if each in libraries()[name].names}
    assert len(of_settings) > 40
    assert {each: of.documentation for each, of in of_settings.items()} == {each: sentence(documentation[each]) for each in of_settings}


def test_the_oldest_release_read_stands_for_those_before() -> None:
    assert of_setting(libraries()["java"].setting("acks")).now("producer", (1, 0, 0)) is not None


@pytest.mark.parametrize(("sentence", "arguments", "taken", "refused"), cases(__file__, "allowed.txt"))
def test_what_is_allowed(sentence: str, arguments: str, taken: str, refused: str) -> None:
    allowed = Allowed(*ast.literal_eval(arguments))
    assert all(allowed.takes(text) for text in every(ast.literal_eval(taken)))
    assert not any(allowed.takes(text) for text in every(ast.literal_eval(refused)))
    assert str(allowed) == sentence


def test_every_setting_of_every_library_can_be_read() -> None:
    for each in libraries().values():
        settings = [of_setting(each.setting(name)) for name in sorted(each.names)]
        assert all(changes for setting in every(settings) for changes in setting.kinds.values())
        assert {facts.type for setting in settings for _, facts in sum(setting.kinds.values(), ()) if facts} <= set(range(9))


DIFFER = {
    ("franz-go", "RequestRetries"),  # of requests other than produce, and the dialect has the producer's
    ("franz-go", "RecordRetries"),  # without end, which Kafka writes as the largest int
}


@pytest.mark.parametrize("name", ["kafkajs", "franz-go", "sarama", "aiokafka", "kafka-python"])
def test_defaults_of_sources_are_those_that_rules_use(name: str) -> None:
    """The dialects' defaults were read by a person, the catalogue's by a program: they agree, in Kafka's units."""
    compared = set()
    for client_type in (ClientType.PRODUCER, ClientType.CONSUMER, ClientType.ADMIN):
        defaults = dialect(name).defaults_of(client_type, "unknown")
        for setting in map(of_setting, map(libraries()[name].setting, sorted(libraries()[name].names))):
            facts = setting.now(client_type.value, ())
            key = dialect(name).kafka_name(setting.name, client_type)
            if facts is None or facts.deprecated or facts.default is None or key not in defaults or (name, setting.name) in DIFFER:
                continue
            assert dialect(name).kafka_value(setting.name, key, facts.default) == defaults[key], setting.name
            compared.add(setting.name)
    assert len(compared) >= 10


def test_of_an_unknown_release_whatever_any_has_taken() -> None:
    five, nine = Allowed("range", 0, 5), Allowed("range", 1, 9, ("-1",))
    assert five.or_what(nine) == Allowed("range", 0, 9, ("-1",))
    assert five.or_what(Allowed("range", None, 3)) == Allowed("range", None, 5)
    words = Allowed("words", words=("a", "b")).or_what(Allowed("any case", words=("c",)))
    assert words == Allowed("any case", words=("a", "b", "c"))
    assert words is not None and words.or_what(five) is None
    guarantee = of_setting(libraries()["java"].setting("processing.guarantee")).ever("streams").allowed
    assert guarantee is not None and {"exactly_once", "exactly_once_v2"} <= set(guarantee.words)


PRODUCER, CONSUMER, STREAMS = ClientType.PRODUCER, ClientType.CONSUMER, ClientType.STREAMS


@pytest.mark.parametrize(("of", "release", "kind", "name", "state", "instead"), cases(__file__, "names.txt"))
def test_a_name_is_judged(of: str, release: str, kind: str, name: str, state: str, instead: str) -> None:
    of_library = dialect(of)
    found = judge(of_library, of_library.release_of(release), ClientType(kind) if kind else None, name)
    assert (found.state.name, found.instead) == (state, instead)


def test_what_is_pushed_has_kafkas_names() -> None:
    assert judge(dialect("kafka-python"), (3, 0, 12), PRODUCER, "linger.ms", written=False).state is NameState.KNOWN


def test_a_name_of_a_hostile_length_is_compared_with_none() -> None:
    assert judge(dialect("java"), (), PRODUCER, "linger.ms" * 1000).instead == ""


def test_facts_come_with_the_name() -> None:
    facts = judge(dialect("java"), (4, 4, 0), PRODUCER, "acks").facts
    assert facts is not None
    assert facts.allowed is not None
    assert not facts.allowed.takes("2")


def test_releases_without_end_take_no_memory() -> None:
    """A client may say any version: the names that are compared are kept for each release that was read alone."""
    before = setting_names._of_kinds.cache_info().currsize
    for number in range(200):
        judge(dialect("java"), (4, 5, number), PRODUCER, "linger.mss")
    assert setting_names._of_kinds.cache_info().currsize <= before + 1


@pytest.mark.parametrize(("of", "text", "value"), cases(__file__, "parsed.txt"))
def test_a_value_has_its_type(of: str, text: str, value: str) -> None:
    config_type, written, expected = Type[of], ast.literal_eval(text), ast.literal_eval(value)
    pushed = ClientConfig("k", written, int(config_type), False)
    assert (parse(written, config_type), pushed.typed, pushed.parses) == (expected, expected, True)
    assert type(pushed.typed) is type(expected)


def test_not_a_number_is_one() -> None:
    assert math.isnan(ClientConfig("k", "NaN", Type.DOUBLE, False).typed)  # type: ignore[arg-type]


@pytest.mark.parametrize(("of", "text"), [*cases(__file__, "not_parsed.txt"), ["INT", f"'{'9' * 5_000}'"]])
def test_a_value_that_does_not_parse_is_there_as_text_and_says_so(of: str, text: str) -> None:
    config_type, written = Type[of], ast.literal_eval(text)
    pushed = ClientConfig("k", written, int(config_type), False)
    assert (pushed.typed, pushed.parses) == (written, False)
    with pytest.raises(ValueError, match=f"not of type {config_type.name}$"):
        parse(written, config_type)


@pytest.mark.parametrize("config_type", Type)
def test_no_text_takes_long(config_type: Type) -> None:
    """Ten times the text, some ten times the steps: a push may hold 10 KB in one value."""
    for text in ("1" * 10_000 + "x", " " * 10_000 + "x", "a" + " " * 10_000 + "b", "," * 10_000, "0x" + "f" * 10_000):
        ClientConfig("k", text, int(config_type), False).typed  # noqa: B018 - it returns at all
