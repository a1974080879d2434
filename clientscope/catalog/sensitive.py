"""What may not be written down: sensitive keys, types and shapes of values, as data, and one scalar judgement over them.

Sources: KIP-1324 "Excluding Sensitive Configuration" (prefixes, infixes, suffixes, types); the key words are those that
dialects and applications use beyond Kafka's own names; the shapes are those of credentials found under innocent keys in public
issue trackers.  The gateway judges one setting at a time with `reason`; ``udfs/sensitive.py`` judges an Arrow batch from the
same data, and a parity test holds the two together.

The expressions keep to the syntax that Python's ``re`` and RE2 (Arrow's) share: no look-around, no back-references.
"""

from __future__ import annotations

import re

from clientscope.records.codec import ValueState

PREFIXES = ("sasl.", "security.", "ssl.")
INFIXES = (".sasl.", ".security.", ".ssl.")
SUFFIXES = (".class", ".classes")

CLASS, PASSWORD = 7, 8
SENSITIVE_TYPES = frozenset({CLASS, PASSWORD})
"""Ordinals of Kafka's ConfigDef.Type."""

KEY_WORDS = (
    r"password|passwd|passphrase|secret|credential|token|api[._-]?key|access[._-]?key|private[._-]?key"
    r"|keyfile|jaas|basic\.auth\.|oauth|keytab"
)
"""Words within a key, in lower case and with ``_`` read as ``.``, that mark a credential in any dialect."""

SHAPES = {
    "jaas": r"(?i)loginmodule\s+(required|requisite|sufficient|optional)",
    "password_assignment": r"(?i)(password|passwd|secret)\s*=\s*[\"']?[^\s\"';]+",
    "pem": r"-----BEGIN [A-Z ]*(PRIVATE KEY|CERTIFICATE)-----",
    "jwt": r"eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*",
    "cloud_access_key": r"\b(AKIA|ASIA)[A-Z0-9]{16}\b",
    "url_userinfo": r"[A-Za-z][A-Za-z0-9+.-]*://[^\s/:@]+:[^\s/@]+@",
}
"""Shapes of a credential within a value, by name."""

SHORTEST_SHAPE = 8
"""Characters: what is shorter has none of `SHAPES`."""

_KEY_WORDS = re.compile(KEY_WORDS)
_SHAPES = tuple(re.compile(pattern) for pattern in SHAPES.values())


def normalise(key: str) -> str:
    """A key as the patterns above expect it: Kafka's dots where a dialect writes underscores, in lower case."""
    return key.replace("_", ".").lower()


def reason(key: str, value: str, config_type: int) -> ValueState:
    """Why this setting's value may not be written down, or ``ValueState.PRESENT`` where it may."""
    name = normalise(key)
    if name.startswith(PREFIXES):
        return ValueState.KEY_PREFIX
    if any(infix in name for infix in INFIXES):
        return ValueState.KEY_INFIX
    if name.endswith(SUFFIXES):
        return ValueState.KEY_SUFFIX
    if config_type in SENSITIVE_TYPES:
        return ValueState.TYPE
    if _KEY_WORDS.search(name):
        return ValueState.KEY_WORD
    if any(shape.search(value) for shape in _SHAPES):
        return ValueState.VALUE_SHAPE
    return ValueState.PRESENT
