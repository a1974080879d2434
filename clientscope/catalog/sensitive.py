"""Judgement of one setting: whether it may be stored, and how severe it is that it was pushed.

The data are in ``sensitive_keys``, ``sensitive_values`` and, for names, ``sensitive_names``.  `reason` judges one setting at a time, for
the gateway, the job, the page and lint.
"""

from __future__ import annotations

import re
from enum import IntEnum

from clientscope.catalog.configs import Type
from clientscope.catalog.sensitive_keys import judge_key, normalise
from clientscope.catalog.sensitive_names import FIELDS, judge_key_text, judge_name, placeholder
from clientscope.catalog.sensitive_values import is_without_secret, judge_value, names_classes
from clientscope.catalog.value_states import ValueState

CERTIFICATE_KEYS = r"(?:^|\.)ssl\.(?:truststore\.certificates|keystore\.certificate\.chain)"
"""How keys end that are of type PASSWORD in Kafka's ConfigDefs, since they are long; a certificate is public."""


_CERTIFICATE_KEYS = re.compile(rf"{CERTIFICATE_KEYS}\Z")


class Tier(IntEnum):
    """How bad it is that a setting was pushed."""

    CLEAN = 0
    """The value may be stored."""
    EXCLUDED = 1
    """KIP-1324 keeps it on the client, or its key is a credential's, but no secret has got out."""
    DOUBTFUL = 2
    """The value may be a secret, by its entropy alone."""
    CREDENTIAL = 3
    """The value is a credential."""


BY_KEY = (ValueState.KEY_PREFIX, ValueState.KEY_INFIX, ValueState.KEY_SUFFIX, ValueState.TYPE, ValueState.KEY_WORD)
"""Reasons that say nothing of the value: key and type say whether it is a credential."""

TIERS = {
    ValueState.PRESENT: Tier.CLEAN,
    ValueState.VALUE_SHAPE: Tier.CREDENTIAL,
    ValueState.LOOKS_RANDOM: Tier.DOUBTFUL,
    ValueState.CERTIFICATE: Tier.EXCLUDED,
    ValueState.WITHOUT_SECRET: Tier.EXCLUDED,
    ValueState.CUSTOM: Tier.EXCLUDED,
}
"""Severities of the other reasons."""


def reason(key: str, value: str, config_type: int) -> ValueState:
    """Why this setting's value may not be written down, or ``ValueState.PRESENT`` where it may.

    An empty value is judged by its key and type alone.  Where the key itself may not be written down, its value isn't either: the two
    may be halves of one line.
    """
    state = _reason(key, value, config_type)
    key_state = judge_key_text(key)
    return state if key_state is ValueState.PRESENT else under_hidden_key(key_state, state, key, config_type, len(value))


def under_hidden_key(key_state: ValueState, state: ValueState, key: str, config_type: int, length: int | None) -> ValueState:
    """The reason beside a key that is redacted: one of the two that say how bad it is without the key.

    Args:
        key_state: why the key is redacted.
        state: why its value is, or PRESENT; the rest as in `tier`.
    """
    credential = key_state is ValueState.VALUE_SHAPE or tier(state, key, config_type, length) is Tier.CREDENTIAL
    return ValueState.VALUE_SHAPE if credential else ValueState.LOOKS_RANDOM


def _reason(key: str, value: str, config_type: int) -> ValueState:
    judgement = judge_key(key)
    state = judgement.excluded
    if state is ValueState.PRESENT and config_type in (Type.CLASS, Type.PASSWORD):
        state = ValueState.TYPE
    if judgement.credential or _is_password(key, config_type):
        if value and is_without_secret(value):
            return ValueState.WITHOUT_SECRET
        return ValueState.KEY_WORD if state is ValueState.PRESENT else state
    shape = judge_value(value)
    if judgement.identifier and shape is ValueState.LOOKS_RANDOM:
        shape = ValueState.PRESENT
    if state is ValueState.PRESENT or shape is ValueState.VALUE_SHAPE:
        state = shape
    if state is not ValueState.PRESENT:
        return state
    if judgement.classes and names_classes(value, judgement.classes):
        return ValueState.TYPE
    return ValueState.CUSTOM if judgement.custom else ValueState.PRESENT


def shown(name: str, field: str = "client_id") -> str:
    """What a client calls itself in this field of a record (`FIELDS`), as it may be shown where no digest can be made."""
    return name if judge_name(name, FIELDS[field]) is ValueState.PRESENT else placeholder()


def shown_key(key: str) -> str:
    """The same of a setting's key."""
    return key if judge_key_text(key) is ValueState.PRESENT else placeholder()


def tier(state: ValueState, key: str, config_type: int, length: int | None) -> Tier:
    """How bad a pushed setting is of which this is known, whoever redacted its value.

    Args:
        length: of the value, in bytes; None where that isn't known.
    """
    if state in BY_KEY:
        return Tier.CREDENTIAL if length != 0 and is_credential(key, config_type) else Tier.EXCLUDED
    return TIERS[state]


def is_credential(key: str, config_type: int) -> bool:
    """Whether the value under such a key, or of such a type, is a credential."""
    return judge_key(key).credential or _is_password(key, config_type)


def _is_password(key: str, config_type: int) -> bool:
    return config_type == Type.PASSWORD and not _CERTIFICATE_KEYS.search(normalise(key))
