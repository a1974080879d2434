"""Every rule: its documentation, its metadata, and its cases."""

from __future__ import annotations

from pathlib import Path

import pytest
from every import every
from rule_batches import outcome

from clientscope.catalog.configs import DEFAULT_KEYS
from clientscope.catalog.dialects import DIALECTS
from clientscope.severities import SEVERITIES
from udfs.rules import registry as rules
from udfs.rules.engine.rule import FIRED, NOT_APPLICABLE, NOT_EVALUABLE, OUTCOMES, PASSED, Documentation, Needs, Rule, documentation
from udfs.rules.engine.vocabulary import KEYS

EACH = pytest.mark.parametrize("rule", rules.EVERY_RULE, ids=lambda rule: rule.code)
WAITING = {"AN210", "AN212", "AN215", "AN216", *(rule.code for rule in rules.FLEET_RULES)}
"""Rules that never fire on a single push."""
ALWAYS_JUDGED = {"SK001", "SK002", "SK003", "SK004", "SK005", "AN306", "AN308"}


@EACH
def test_a_rule_is_documented(rule: Rule) -> None:
    assert rule.docstring.startswith(f"{rule.code}: ")
    documentation = rule.documentation
    for section in (documentation.title, documentation.what, documentation.why, documentation.example, documentation.use_instead):
        assert section.strip()
    assert documentation.links, "its source has an address"
    assert not any(link.endswith((".", ":")) for link in every(documentation.links))
    assert documentation.title.endswith(".")


def test_a_docstring_has_all_sections_in_their_order() -> None:
    said = {
        "What": "one",
        "Why": "two",
        "Example": "three",
        "Use instead": "four",
        "Source": "five: https://a.example/b, (https://c.example)",
    }
    texts = [f"    {section}\n        {text}\n\n" for section, text in said.items()]
    links = ("https://a.example/b", "https://c.example")
    assert documentation("AN101: A title.\n\n" + "".join(texts)) == Documentation("A title.", *said.values(), links)
    for wrong in ("AN1: A title.\n\n" + "".join(texts), "AN101: A title.\n\n" + "".join(texts[::-1])):
        with pytest.raises(ValueError, match=r"^a rule's docstring .*: What, Why, Example, Use instead, Source$"):
            documentation(wrong)


@EACH
def test_a_rules_metadata_is_sound(rule: Rule) -> None:
    assert rule.severity in SEVERITIES
    assert rule.client_types
    assert set(rule.keys) <= set(KEYS)
    assert rule.dialects is None or rule.dialects <= {each.name for each in DIALECTS}
    if rule.needs is Needs.DEFAULT_KEYS and rule.code.startswith("AN"):
        pushed = {key for client_type in rule.client_types for key in DEFAULT_KEYS[client_type]}
        assert set(rule.keys) <= pushed, "else it needs allowed keys"
    not_evaluable, passed, fired = rule.messages
    assert passed.endswith(".")
    assert fired.endswith(".")
    assert not_evaluable.endswith(".") or rule.code in ALWAYS_JUDGED
    assert ": " in fired, "what is wrong, and what to do"


@EACH
def test_a_rule_has_cases_of_every_kind(rule: Rule) -> None:
    found = {case.outcome for case in rule.cases}
    assert FIRED in found or rule.code in WAITING
    assert PASSED in found or rule.code in {rule.code for rule in rules.FLEET_RULES}
    assert NOT_EVALUABLE in found or rule.code in ALWAYS_JUDGED
    if rule.code in WAITING:
        assert FIRED not in found


@EACH
def test_a_rule_says_of_its_cases_what_they_say(rule: Rule) -> None:
    said = {NOT_APPLICABLE: "not applicable", **dict(enumerate(OUTCOMES))}
    for case in rule.cases:
        found = outcome(rule, case)
        assert said[found.outcome] == said[case.outcome], case
        if found.outcome == FIRED:
            severity = found.severity
            assert SEVERITIES[severity] == (case.severity or rule.severity) if severity is not None else case.severity is None, case


def test_every_rule_is_registered_once_and_in_order() -> None:
    codes = [rule.code for rule in rules.EVERY_RULE]
    files = {path.stem for path in Path(rules.__file__).parent.glob("*.py")} - {"__init__", "registry"}
    assert codes == sorted(set(codes))
    assert files == {module.__name__.rsplit(".")[-1] for module in rules.MODULES}
    assert len({rule.name for rule in rules.EVERY_RULE}) == len(codes)
