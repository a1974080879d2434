"""Messages of rules name the thresholds of the profile that judged, and a client that follows the advice passes."""

from __future__ import annotations

import re

import pytest
from rule_batches import fired, push_of, record_of

from clientscope.profiles import BUILT_IN, Profile, Thresholds
from udfs.rules.engine.rule import FIRED, PASSED, Case, Rule
from udfs.rules.registry import RULES

_NUMBER = re.compile(r"(?<![\w.-])\d+(?:\.\d+)?(?![\w.])")
_ADVICE = re.compile(r"\b([a-z]+(?:\.[a-z]+)+)=(\d+)\b")

FIXED = {"AN111": {"0", "5"}}
"""Numbers of rules with thresholds that are about something else."""

WITH_LIMITS = [rule for rule in RULES if rule.limits]


def numbers(text: str) -> set[str]:
    return set(_NUMBER.findall(text))


@pytest.mark.parametrize("profile", BUILT_IN.values(), ids=BUILT_IN)
@pytest.mark.parametrize("rule", WITH_LIMITS, ids=lambda rule: rule.code)
def test_every_number_is_a_threshold_of_the_profile(rule: Rule, profile: Profile) -> None:
    limits = {**rule.limits, **profile.limits.get(rule.code, {})}
    thresholds = {f"{value:.0f}" if float(value).is_integer() else f"{value * 100:.0f}" for value in limits.values()}
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
        push = push_of(record_of(corrected), complete=case.complete, thresholds=Thresholds((profile,)))
        assert rule.code not in fired(push), (case.settings, advice)
