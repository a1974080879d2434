"""The documentation of rules: docs/rules.md, and ``clientscope rules``."""

from __future__ import annotations

import json
import re

import pytest
from places import ROOT

from clientscope import cli
from clientscope.commands.rules.docs import as_json, markdown, sources
from clientscope.risks import ABOUT, RISKS
from udfs.rules.engine.documentation import SECTIONS, parse
from udfs.rules.registry import EVERY_RULE

GOOD = "AN999: a title.\n\nWhat\n    w\n\nWhy\n    y\n\nExample\n    e\n\nUse instead\n    u\n\nSource\n    Kafka: https://example.org/a\n"


def test_the_page_is_made_from_the_rules() -> None:
    assert (ROOT / "docs" / "rules.md").read_text(encoding="utf-8") == markdown(), "make docs-rules writes it anew"


def test_sections_are_distinguished_and_all_are_required() -> None:
    parsed = parse(GOOD)
    assert (parsed.title, parsed.what, parsed.why, parsed.example, parsed.use_instead) == ("a title.", "w", "y", "e", "u")
    assert parsed.links == ("https://example.org/a",)
    for section in SECTIONS:
        with pytest.raises(ValueError, match="has these sections"):
            parse(GOOD.replace(f"\n{section}\n", "\n"))
    with pytest.raises(ValueError, match="begins with its code"):
        parse(GOOD.removeprefix("AN999: "))
    assert sources("Kafka, here:\nhttps://example.org\nAWS: https://example.com") == [
        "Kafka, here: https://example.org",
        "AWS: https://example.com",
    ]


def test_all_rules_are_listed(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    assert cli.main(["rules"]) == 0
    heading, *lines = capsys.readouterr().out.splitlines()
    assert heading.split() == ["CODE", "SEVERITY", "RISKS", "NAME", "OF", "NEEDS", "KEYS"]
    assert [line.split()[0] for line in lines] == [rule.code for rule in EVERY_RULE]
    assert lines[0].split() == ["AN101", "high", "loss", "acks_zero", "producer", "default", "keys", "acks"]
    assert cli.main(["rules", "-o", "json"]) == 0
    assert json.loads(capsys.readouterr().out) == [as_json(rule) for rule in EVERY_RULE]


def test_each_rule_says_what_it_risks() -> None:
    assert set(RISKS) == {risk for rule in EVERY_RULE for risk in rule.risks} == set(ABOUT)
    for rule in EVERY_RULE:
        assert rule.risks
        assert len(set(rule.risks)) == len(rule.risks)
        assert ("secret" in rule.risks) == rule.code.startswith("SK")


def test_no_advice_recommends_what_another_rule_finds() -> None:
    for rule in EVERY_RULE:
        advice = f"{rule.documentation.use_instead} {' '.join(rule.messages)}"
        assert not re.search(r"acks=[01]\b", advice), rule.code


@pytest.mark.parametrize("word", ["AN101", "an101", "acks_zero", "acks-zero"])
def test_one_rule_is_explained(word: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["rules", word]) == 0
    out = capsys.readouterr().out
    assert out.startswith("AN101 acks_zero: a producer doesn't wait")
    for heading in (*SECTIONS, "Says", "Facts"):
        assert f"\n{heading}\n" in out
    assert "https://github.com/confluentinc/librdkafka/issues/1467" in out


def test_one_rule_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["rules", "AN108", "-o", "json"]) == 0
    parsed = json.loads(capsys.readouterr().out)
    assert parsed["client_types"] == ["producer", "consumer", "share-consumer"]
    assert parsed["limits"] == {"minimum_ms": 10000}
    assert parsed["sources"]


@pytest.mark.parametrize(
    ("word", "hint"),
    [
        ("AN1O1", "AN101"),
        ("linger-zer", "AN109"),
        ("???", "list all rules: clientscope rules"),
    ],
)
def test_a_rule_that_is_none(word: str, hint: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["rules", word]) == 2
    assert hint in capsys.readouterr().err
