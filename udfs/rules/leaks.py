"""Judging of the rules in leaks.toml, about settings that hold secrets, or that KIP-1324 keeps on the client."""

from __future__ import annotations

from collections.abc import Callable

from clientscope.catalog.sensitive import Tier
from clientscope.catalog.value_states import ValueState
from clientscope.model.enums import Origin
from clientscope.model.setting import Setting
from clientscope.policy.redaction import tier_of
from udfs.rules.engine.pushed_config import PushedConfig
from udfs.rules.engine.rule import Judgement, judges, pointing


def _redacted(push: PushedConfig, holds: Callable[[Setting], bool]) -> Judgement:
    """The settings whose value isn't there, and of which this holds. It can always be judged."""
    return pointing([each for each in push.redacted if holds(each)], True)


def _is(setting: Setting, state: ValueState) -> bool:
    return setting.redacted is not None and setting.redacted.reason == state.name.lower()


def _by_client(push: PushedConfig) -> bool:
    """Whether a client sent it to a gateway."""
    return push.record.origin in (Origin.PUSHED, Origin.OBSERVED)


@judges("SK001")
def pushed_credential(push: PushedConfig) -> Judgement:
    # By key or type.
    return _redacted(push, lambda each: tier_of(each) is Tier.CREDENTIAL and not _is(each, ValueState.VALUE_SHAPE))


@judges("SK002")
def credential_in_value(push: PushedConfig) -> Judgement:
    return _redacted(push, lambda each: _is(each, ValueState.VALUE_SHAPE))


@judges("SK003")
def excluded_setting(push: PushedConfig) -> Judgement:
    # Of pushes alone, since no client sent what a log shows.
    return _redacted(push, lambda each: tier_of(each) is Tier.EXCLUDED and not _is(each, ValueState.CUSTOM) and _by_client(push))


@judges("SK004")
def random_looking_value(push: PushedConfig) -> Judgement:
    return _redacted(push, lambda each: tier_of(each) is Tier.DOUBTFUL)


@judges("SK005")
def custom_setting(push: PushedConfig) -> Judgement:
    return _redacted(push, lambda each: _is(each, ValueState.CUSTOM) and _by_client(push))
