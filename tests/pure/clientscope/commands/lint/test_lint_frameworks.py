"""Settings of clients in the files of frameworks: tests/corpora/lint has what people reported, with what is found in each."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_runs import Document
from corpora import FOLDER
from golden import cases, is_golden
from hypothesis import given
from hypothesis import strategies as st
from lint_reports import judged

from clientscope.catalog.configs import ClientType
from clientscope.catalog.frameworks import clients, frameworks
from clientscope.commands.lint.blocks import blocks
from clientscope.commands.lint.placed import LINE_END

FILES = sorted((FOLDER / "lint").iterdir())


def test_what_people_reported(lint: Document) -> None:
    text = "".join(f"{file.name}\n{judged(lint(file.name, file.read_text()))}\n" for file in FILES)
    assert is_golden(text, __file__, "frameworks.txt")


@pytest.mark.parametrize(("name", "flags", "found", "unsaid"), cases(__file__, "answers.txt"))
def test_what_an_expert_finds(name: str, flags: str, found: str, unsaid: str, lint: Document) -> None:
    report = judged(lint(name, (FOLDER / "lint" / name).read_text(), *flags.split()))
    lines = [line.strip() for line in report.splitlines()]
    assert [each for each in _listed(found) if not any(line.startswith(each) for line in lines)] == []
    assert [each for each in _listed(unsaid) if each in report] == []


def _listed(cell: str) -> list[str]:
    return [each.strip() for each in cell.split(";") if each.strip()]


@pytest.mark.parametrize(("source", "found"), cases(__file__, "python.txt"))
def test_clients_in_pythons_source(source: str, found: str, lint: Document) -> None:
    """Literals that a client is given; what is computed, and what can't be parsed, says nothing."""
    findings = lint("app.py", f"{source}\n")["findings"]
    said = [f"{each['column']} {each['code']} {each['settings'][0]['key']}" for each in findings]
    assert found in said if found else said == []


def test_parses_no_source_of_more_than_256_kib(lint: Document) -> None:
    source = "KafkaProducer(acks=0)\n"
    most = source + "#" * ((256 << 10) - len(source))
    assert [len(lint("app.py", text)["findings"]) > 0 for text in (most, f"{most}#")] == [True, False]


def test_every_file_has_an_answer() -> None:
    assert {file.name for file in FILES} - {"pekko.conf"} == {row[0] for row in cases(__file__, "answers.txt")}


def test_a_profile_of_the_rules_file_comes_before_the_address(lint: Document) -> None:
    Path("rules.toml").write_text('default = "durable"\n')
    text = (FOLDER / "lint" / "f09-eventhubs.properties").read_text()
    assert "AN302" not in judged(lint("a.properties", text, "--rules", "rules.toml"))


@pytest.mark.parametrize(("name", "text", "key", "value"), cases(__file__, "spellings.txt"))
def test_names_and_values_in_the_frameworks_own_spelling(name: str, text: str, key: str, value: str) -> None:
    beside = {"Kafka.BootstrapServers": "b:1"} if name.startswith("Kafka") else {}
    (client,) = clients({name: text, **beside})
    assert client.names[key] == name
    assert client.framework.value(name, key, text) == value


def test_what_all_clients_share_is_each_clients() -> None:
    shared = {"kafka.sasl.mechanism": "PLAIN", "mp.messaging.outgoing.a.acks": "1", "%prod.mp.messaging.incoming.b.group.id": "b"}
    producer, consumer = clients(shared)
    assert (producer.client_type, set(producer.names)) == (ClientType.PRODUCER, {"sasl.mechanism", "acks"})
    assert (consumer.client_type, set(consumer.names)) == (ClientType.CONSUMER, {"sasl.mechanism", "group.id"})


def test_the_librarys_own_setting_counts_before_the_frameworks() -> None:
    (client,) = clients({"spring.kafka.producer.properties.acks": "0", "spring.kafka.producer.acks": "all"})
    assert client.names["acks"] == "spring.kafka.producer.properties.acks"


@pytest.mark.parametrize(("names",), cases(__file__, "nobodys.txt"))
def test_what_only_looks_so_is_nobodys(names: str) -> None:
    assert clients(dict.fromkeys(names.split(), "1")) == []


NAMES = st.lists(st.sampled_from(["spring", "kafka", "producer", "properties", "acks", "Acks", "[0]", "%dev", "a", "KAFKA_ACKS", "->", ""]))


@given(st.dictionaries(NAMES.map(".".join), st.text(max_size=9), max_size=9))
def test_each_name_is_of_the_file(values: dict[str, str]) -> None:
    for client in clients(values):
        assert values.keys() >= set(client.names.values()) and client.names


PARTS = [*"ab.\"'{}[]=:,#/;<>\\ \n\r", "<<A\n", "\nA\n", "=>", "[[a]]\n"]
TEXT = st.lists(st.sampled_from(PARTS), max_size=60).map("".join)


@given(TEXT)
def test_blocks_of_any_text_have_their_places(text: str) -> None:
    lines = LINE_END.split(text)
    for each in blocks(text.encode()):
        assert each.name and lines[each.line - 1] and each.line <= each.region.line <= each.region.end_line <= len(lines)


HOSTILE = (
    "a = 1\n" * 20_000,
    "{" * 40,
    "[a\n" * 100_000,
    "a " * 200_000,
    '"' * 200_001,
    "<<A\n" * 100_000,
    "a=>b c" * 50_000,
    "a.b\\ " * 100_000,
)


@pytest.mark.parametrize("suffix", ["toml", "xml", "py"])
@pytest.mark.parametrize(
    "text", [*HOSTILE, "<!--" * 200_000, '<prop key="a">' + " " * 900_000, "<entry key=" * 80_000], ids=lambda text: text[:6]
)
def test_hostile_text_is_bounded(lint: Document, text: str, suffix: str) -> None:
    assert lint(f"a.{suffix}", text)["findings"] == []


def test_each_has_its_source() -> None:
    assert all(framework.source.startswith("https://") for framework in frameworks())
