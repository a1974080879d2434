"""Every rule: its documentation, its metadata, and its cases."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from every import every
from record_bytes import binaries, config_record, setting
from rule_batches import batch_of, outcomes, record_of

from clientscope.catalog.configs import DEFAULT_KEYS
from clientscope.catalog.dialects import DIALECTS
from clientscope.profiles import APACHE, BUILT_IN, Profile, Thresholds
from clientscope.profiles.client_patterns import ClientPattern
from clientscope.profiles.thresholds import ProfileChoice
from clientscope.severities import SEVERITIES
from udfs.decode import decode_pushes
from udfs.kernels.results import results
from udfs.pushes import Pushes
from udfs.rules import registry as rules
from udfs.rules.engine.batch import judge
from udfs.rules.engine.rule import FIRED, NOT_APPLICABLE, NOT_EVALUABLE, OUTCOMES, PASSED, Case, Needs, Rule
from udfs.rules.engine.vocabulary import KEYS
from udfs.rules.registry import RULES

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
    for case, (outcome, severity) in zip(rule.cases, outcomes(rule, rule.cases), strict=True):
        said = {NOT_APPLICABLE: "not applicable", **dict(enumerate(OUTCOMES))}
        assert said[outcome] == said[case.outcome], case
        if outcome == FIRED:
            assert SEVERITIES[severity] == (case.severity or rule.severity) if severity is not None else case.severity is None, case


def test_every_rule_is_registered_once_and_in_order() -> None:
    codes = [rule.code for rule in rules.EVERY_RULE]
    files = {path.stem for path in Path(rules.__file__).parent.glob("*.py")} - {"__init__", "registry"}
    assert codes == sorted(set(codes))
    assert files == {module.__name__.rsplit(".")[-1] for module in rules.MODULES}
    assert len({rule.name for rule in rules.EVERY_RULE}) == len(codes)


_NUMBER = re.compile(r"(?<![\w.-])\d+(?:\.\d+)?(?![\w.])")
_ADVICE = re.compile(r"\b([a-z]+(?:\.[a-z]+)+)=(\d+)\b")

FIXED = {"AN111": {"0", "5"}}
"""Numbers of rules with thresholds that are about something else."""

WITH_LIMITS = [rule for rule in RULES if rule.limits]


def numbers(text: str) -> set[str]:
    return set(_NUMBER.findall(text))


def test_numbers_are_found_in_sentences() -> None:
    assert numbers("set a.b=120000 or more, {x} 3.5 of it: k8s v2 -1 a.1.") == {"120000", "3.5"}


@pytest.mark.parametrize("profile", BUILT_IN.values(), ids=BUILT_IN)
@pytest.mark.parametrize("rule", WITH_LIMITS, ids=lambda rule: rule.code)
def test_every_number_is_a_threshold_of_the_profile(rule: Rule, profile: Profile) -> None:
    limits = {**rule.limits, **profile.limits.get(rule.code, {})}
    thresholds = {f"{value:.0f}" if float(value).is_integer() else f"{value:.3g}" for value in limits.values()}
    for outcome in range(3):
        message = rule.message(outcome, profile.limits.get(rule.code, {}))
        assert not {"{", "}"} & set(message)
        assert numbers(message) - FIXED.get(rule.code, set()) <= thresholds, message


@pytest.mark.parametrize("profile", BUILT_IN.values(), ids=BUILT_IN)
@pytest.mark.parametrize("rule", WITH_LIMITS, ids=lambda rule: rule.code)
def test_who_does_what_it_says_passes(rule: Rule, profile: Profile) -> None:
    advice = dict(_ADVICE.findall(rule.message(FIRED, profile.limits.get(rule.code, {})).rpartition(": ")[2]))
    java = [case for case in rule.cases if case.outcome == FIRED and case.software == "apache-kafka-java" and advice]
    for case in java:
        defaults = {key: value for key, value in case.defaults.items() if key not in advice}
        corrected = Case(PASSED, {**case.settings, **advice}, defaults, complete=case.complete)
        (judgement,) = judge(batch_of(record_of(corrected), complete=case.complete, thresholds=Thresholds((profile,))), [rule])
        assert judgement.outcomes[0] != FIRED, (case.settings, advice)


def test_each_message_has_the_threshold_of_the_clients_own_profile() -> None:
    pushed = [
        config_record(setting("request.timeout.ms", "5000"), setting("acks", "all"), client_id=client_id) for client_id in ("a", "b", "a")
    ]
    chosen = Thresholds((APACHE, BUILT_IN["eventhubs"]), ProfileChoice(((ClientPattern(client_id=("b",)), 1),)))
    rows = results(Pushes(decode_pushes(binaries(*pushed))), chosen)
    rendered = [
        rule["message"]
        for text in rows.field("rest").to_pylist()
        for rule in json.loads("{" + text[1:])["rules"]
        if rule["code"] == "AN108"
    ]
    assert [numbers(message) for message in rendered] == [{"10000"}, {"20000"}, {"10000"}]


def test_distinct_sentences_stand_once() -> None:
    (rule,) = [rule for rule in RULES if rule.code == "AN108"]
    batch = batch_of(*[config_record(setting("acks", "all"))] * 3, thresholds=Thresholds((APACHE, BUILT_IN["msk"])))
    texts, which = batch.messages(rule, FIRED, np.arange(3))
    assert (len(texts), which.tolist()) == (1, [0, 0, 0]), "msk has no threshold of its own for it"
