"""Text of a file that may be shown: no secrets, no control characters, bounded length."""

from __future__ import annotations

import re

from clientscope.catalog import sensitive
from clientscope.catalog.configs import TYPES, Type
from clientscope.catalog.sensitive_values import is_login_module, judge_value, shape_of
from clientscope.commands.lint.leaks_in_files import LEFT
from clientscope.records.enums import ValueState

_NAME = re.compile(r"[A-Za-z0-9_.\[\]%>-]{1,200}")

LONGEST = 120
"""Characters of a value, or of a line; the rest is cut."""


def is_secret(name: str, value: str, kafka_name: str = "") -> bool:
    """Whether a setting's value may be one: whatever the catalogue of sensitive settings says, under the name as written or Kafka's."""
    reasons = {sensitive.reason(key, value, TYPES.get(key, Type.STRING)) for key in {name, kafka_name or name}}
    return bool(reasons - LEFT - {ValueState.PRESENT})


def redacted(value: str, reason: str) -> str:
    """The placeholder of a secret: its length, and its shape or the reason why it is taken for a secret."""
    kind = "jaas" if is_login_module(value) else shape_of(value) or reason
    return f"‹redacted, {len(value.encode())} bytes, {kind.replace('_', ' ')}›"


def plain(text: str, longest: int = LONGEST) -> str:
    """Untrusted text, fit for a terminal: without control characters (line ends included), and cut."""
    printable = "".join(character if character.isprintable() else "�" for character in text)
    return printable if len(printable) <= longest else f"{printable[: longest - 1]}…"


def client_name(text: str, field: str = "client_id") -> str:
    """What a client calls itself in this field of a record, without a secret and fit for a terminal."""
    return plain(sensitive.shown(text, field))


def key(name: str) -> str:
    """A setting's name, if it looks like one: a properties file with a key or a password pasted in has names that are the secret."""
    if _NAME.fullmatch(name) and judge_value(name) is ValueState.PRESENT:
        return name
    return f"‹a name of {len(name.encode())} bytes›"
