"""The documentation of rules: docs/rules.md, and ``clientscope rules``."""

from __future__ import annotations

import re

import pytest
from places import ROOT

from clientscope.commands.rules.docs import markdown, sources
from clientscope.risks import ABOUT, RISKS
from udfs.rules.engine.rule import SECTIONS, parse
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
