"""Every rule: its documentation, its metadata, and its cases."""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

import pytest
from every import every
from golden import cases
from programs import ran
from rule_batches import outcome

from clientscope.catalog.configs import DEFAULT_KEYS
from clientscope.catalog.dialects import DIALECTS
from clientscope.catalog.vocabulary import KEYS
from clientscope.severities import SEVERITIES
from udfs.rules import registry as rules
from udfs.rules.engine.rule import FIRED, FUNCTIONS, NOT_APPLICABLE, NOT_EVALUABLE, OUTCOMES, PASSED, Needs, Rule, declared

EACH = pytest.mark.parametrize("rule", rules.EVERY_RULE, ids=lambda rule: rule.code)
FLEET = {"AN309", "AN310", *(f"AN{number}" for number in range(401, 409))}
WAITING = {"AN210", "AN212", "AN215", "AN216", *FLEET}
"""Rules that never fire on a single push."""
ALWAYS_JUDGED = {"SK001", "SK002", "SK003", "SK004", "SK005", "AN306", "AN308"}


@EACH
def test_a_rule_is_documented(rule: Rule) -> None:
    for text in (rule.title, rule.what, rule.why, rule.example, rule.use_instead):
        assert text.strip()
    assert rule.links, "its source has an address"
    assert not any(link.endswith((".", ":")) for link in every(rule.links))
    assert rule.title.endswith(".")


@EACH
def test_a_rule_judges_in_one_way(rule: Rule) -> None:
    """By bounds, by a value or by a function, which has its name; those of the fleet not at all."""
    assert bool(rule.bounds) + bool(rule.wrong) + (rule.code in FUNCTIONS) == (not rule.of_fleet)
    assert rule.of_fleet == (rule.code in FLEET)
    assert rule.code not in FUNCTIONS or FUNCTIONS[rule.code].__name__ == rule.name
    assert all(name.startswith(("minimum", "maximum")) for name in rule.bounds)


@EACH
def test_a_rules_metadata_is_sound(rule: Rule) -> None:
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
    assert PASSED in found or rule.code in FLEET
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
    assert codes == sorted(set(codes))
    assert len({rule.name for rule in rules.EVERY_RULE}) == len(codes)


def test_a_function_is_beside_its_rule() -> None:
    folder = Path(rules.__file__).parent
    files = {path.stem: set(tomllib.loads(path.read_text("utf-8"))) for path in folder.glob("*.toml")}
    beside: dict[str, set[str]] = {}
    for code, function in FUNCTIONS.items():
        beside.setdefault(function.__module__.rpartition(".")[2], set()).add(code)
    assert set(beside) == {module.__name__.rpartition(".")[2] for module in rules.MODULES}
    assert set(beside) == {path.stem for path in folder.glob("*.py")} - {"__init__", "registry"}
    assert all(codes <= files[subject] for subject, codes in every(beside.items()))


TABLE = """[AN999]
name = "a"
title = "a"
severity = "high"
risks = ["loss"]
not_evaluable = "a"
passed = "a"
fired = "a: {minimum}"
what = "a"
why = "a"
example = "a"
use_instead = "a"
sources = ["https://example.org/"]
bounds = { minimum = 1 }
keys = ["linger.ms"]
cases = [{ fired = { "linger.ms" = "0" } }]
"""


@pytest.mark.parametrize(("right", "wrong", "said"), cases(__file__, "mistakes.txt"))
def test_mistake_in_a_table_is_said_with_its_place(right: str, wrong: str, said: str) -> None:
    assert declared("x.toml", TABLE)["AN999"].bounds == ("minimum",)
    with pytest.raises(ValueError, match=rf"^x\.toml: AN999: .*{re.escape(said)}"):
        declared("x.toml", TABLE.replace(right, wrong, 1))


def test_rule_without_its_function_is_an_error() -> None:
    text = "import udfs.rules.batching; from udfs.rules.engine.rule import FUNCTIONS; FUNCTIONS.pop('AN109'); import udfs.rules.registry"
    ended = ran(sys.executable, "-c", text, status=1)
    assert ended.stderr.splitlines()[-1] == "ValueError: AN109: neither bounds, nor a wrong value, nor a function with @judges"
