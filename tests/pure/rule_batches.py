"""Pushes for the tests of rules."""

from __future__ import annotations

from typing import Any

from record_bytes import binaries, config_record, setting

from clientscope.catalog.value_states import ValueState
from clientscope.commands.lint.shown import LEFT
from clientscope.model.codec import decode
from clientscope.model.push import Push
from clientscope.policy.redaction import ClientNames, judged_record
from udfs.decode import judged_pushes
from udfs.rules.engine.pushed_config import PushedConfig
from udfs.rules.engine.rule import FIRED, NOT_APPLICABLE, Case, Judgement, Rule, judge
from udfs.rules.registry import RULES


def push_of(record: bytes, **options: Any) -> PushedConfig:
    """A record as a job would see it."""
    (judged,), _ = judged_pushes(binaries(record), None)
    assert judged is not None
    return PushedConfig(judged, **options)


def record_of(case: Case) -> bytes:
    """The push that a case describes."""
    settings = [_setting(key, value, False) for key, value in case.settings.items()]
    settings += [_setting(key, value, True) for key, value in case.defaults.items()]
    software = {"software_name": case.software, "software_version": case.version}
    return config_record(*settings, client_id=case.client_id, **software)


def _setting(key: str, value: str | None, is_default: bool) -> Any:
    redacted = {"state": ValueState.KEY_PREFIX, "length": 71} if value is None else {}
    return setting(key, value, default=is_default, **redacted)


def outcome(rule: Rule, case: Case) -> Judgement:
    """What the rule says of the case, and its severity where it gives several; of a file's as of a file."""
    if case.complete:
        record = decode(Push, record_of(case))
        push = PushedConfig(judged_record(record, ClientNames(), LEFT), complete=True)
    else:
        push = push_of(record_of(case))
    judged = dict(judge(push, (rule,)))
    return judged.get(rule, Judgement(NOT_APPLICABLE))


def outcomes(push: PushedConfig) -> dict[str, int]:
    """What each rule says that is for this client, by its code."""
    return {rule.code: judgement.outcome for rule, judgement in judge(push, RULES)}


def fired(push: PushedConfig) -> set[str]:
    """The codes of the rules that fire."""
    return {code for code, outcome in outcomes(push).items() if outcome == FIRED}
