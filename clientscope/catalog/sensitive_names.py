"""Judgement of names that a client chooses (ids, software, principal, keys of settings) before they are stored.

One table says which field of a record is judged how; a test holds it against the schemas, so that no new field is forgotten.

The expressions keep to the syntax that Python's ``re`` and RE2 (Arrow's) share.
"""

from __future__ import annotations

import re
from functools import lru_cache

from clientscope.catalog.sensitive_values import holds_secret, judge_value
from clientscope.catalog.value_states import ValueState
from clientscope.digest import DigestKey

FIELDS = {
    "client_id": True,
    "software_name": True,
    "software_version": True,
    "previous_software_name": True,
    "previous_software_version": True,
    # Subjects of tokens, and ids of clusters, are random without being secrets.
    "principal": False,
    "cluster": False,
    "gateway": False,
    "host": False,
    "listener": False,
    "security_protocol": False,
    "address": False,
    "reason": False,
    "digest_key_id": False,
}
"""String fields of both records, and whether one that looks random may not be written down either."""

LEAKED_AS = {
    "client_id": "client.id",
    "software_name": "client.software.name",
    "software_version": "client.software.version",
    "principal": "principal",
}
"""Fields whose names a client sends in its requests → the setting that a finding names, where one of them holds a credential."""

LONGEST_REMEMBERED = 256
"""Characters: a longer name is judged each time."""

NAME_HINT = "(?i:passw|passphrase|pwd)"
"""What a name contains that has `NAME_ASSIGNMENT`."""

NAME_ASSIGNMENT = r"(?i:passw(?:or)?d|passphrase|pwd)[A-Za-z0-9_.-]{0,32}\s{0,8}[=:]\s{0,8}[\"']?([^\s\"',;&]+)"
"""``password:hunter2``: as values have it, and with a colon."""

KEY_HINT = r"[=: \t\n\r\f\v]|[^ -~]"
"""What a key contains that has `KEY_ASSIGNMENT`; no setting of a client has such a name."""

KEY_ASSIGNMENT = (
    r"(?i:passw(?:or)?d|passphrase|pwd|jaas|secret|credentials?|token|user\.?info|(?:api|access|account|private)[._-]?key)"
    r"[A-Za-z0-9_.-]{0,64}(?:\s{0,8}[=:]|\s)\s{0,8}[\"']?([^\s\"',;&]+)"
)
"""A line of a properties file that was taken for a key as a whole: ``sasl.password = hunter2``, ``api.key: x``."""

_NAME_HINT, _KEY_HINT = re.compile(NAME_HINT), re.compile(KEY_HINT)
_NAME_ASSIGNMENT, _KEY_ASSIGNMENT = re.compile(NAME_ASSIGNMENT), re.compile(KEY_ASSIGNMENT)


_DIGEST_DIGITS = 16
"""Digits of a name's digest that are stored: 64 bits."""


def placeholder(mark: str = "") -> str:
    """The placeholder of a name that may not be stored.

    Args:
        mark: distinguishes it from others: digits of a keyed digest, or a number; hexadecimal, at most 16.
    """
    return f"[redacted {mark}]" if mark else "[redacted]"


def judge_name(text: str, random_too: bool) -> ValueState:
    """Why this name may not be written down: VALUE_SHAPE, LOOKS_RANDOM, or PRESENT where it may.

    Args:
        random_too: whether one that looks random may not be either, as `FIELDS` says.
    """
    return _judge_name(text, random_too) if len(text) <= LONGEST_REMEMBERED else _judge_name.__wrapped__(text, random_too)


def judge_key_text(key: str) -> ValueState:
    """The same of a setting's key: whether the key itself is a secret."""
    return _judge_key_text(key) if len(key) <= LONGEST_REMEMBERED else _judge_key_text.__wrapped__(key)


@lru_cache(maxsize=4096)
def _judge_name(text: str, random_too: bool) -> ValueState:
    if _NAME_HINT.search(text) and holds_secret(_NAME_ASSIGNMENT, text):
        return ValueState.VALUE_SHAPE
    return _kept_back(judge_value(text), random_too)


@lru_cache(maxsize=4096)
def _judge_key_text(key: str) -> ValueState:
    if _KEY_HINT.search(key) and holds_secret(_KEY_ASSIGNMENT, key):
        return ValueState.VALUE_SHAPE
    return _kept_back(judge_value(key), True)


def _kept_back(state: ValueState, random_too: bool) -> ValueState:
    """The states of a value that concern a secret; a name may also be a template or a certificate."""
    return state if state is ValueState.VALUE_SHAPE or (random_too and state is ValueState.LOOKS_RANDOM) else ValueState.PRESENT


def hidden_name(name: str, key: DigestKey | None, otherwise: str = "") -> str:
    """The placeholder of a name, or of a setting's key, that may not be stored: the same under the same digest key, so it can be found
    again.

    Args:
        otherwise: distinguishes it from others if there is no digest key.
    """
    return placeholder(key.digest(name).hex()[:_DIGEST_DIGITS] if key else otherwise)
