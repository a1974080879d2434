"""Text of a file that may be shown: no secrets, no control characters, bounded length; and what the leak rules say about files."""

from __future__ import annotations

import re
from collections.abc import Mapping

from clientscope.catalog import sensitive
from clientscope.catalog.configs import TYPES, Type
from clientscope.catalog.known_keys import is_custom
from clientscope.catalog.sensitive_values import is_login_module, judge_value, shape_of
from clientscope.catalog.settings import libraries
from clientscope.catalog.value_states import ValueState
from clientscope.policy.redaction import Left

_NAME = re.compile(r"[A-Za-z0-9_.\[\]%>-]{1,200}")

_SHORT = re.compile(r"|[A-Za-z][A-Za-z_.,:-]{0,31}|[+-]?[0-9][0-9.,_]{0,19}[A-Za-z%]{0,5}|(?:[0-9.]{1,9}[a-z]{1,2}){1,4}")
"""Words, a number with its unit or without, and a duration such as ``1m30s``."""
_TEXTS = (Type.STRING, Type.LIST, Type.CLASS)

LONGEST = 120
"""Characters of a value, or of a line; the rest is cut."""


def is_secret(name: str, value: str, kafka_name: str = "") -> bool:
    """Whether a setting's value may be one: whatever the catalogue of sensitive settings says, under the name as written or Kafka's, and a
    text in place of a number or a word, since that may be anything."""
    for key in {name, kafka_name or name}:
        config_type = TYPES.get(key, Type.STRING)
        state = sensitive.reason(key, value, config_type)
        if state is not ValueState.PRESENT and not LEFT.leaves(state, key, value, config_type):
            return True
    return not _SHORT.fullmatch(value) and not _may_be_text(kafka_name or name, value)


def _may_be_text(key: str, value: str) -> bool:
    """Whether the setting of this name takes this text in one of the libraries, or any text in all of them."""
    found = [setting for library in libraries().values() if (setting := library.setting(key))]
    every = [setting.ever(kind) for setting in found for kind in setting.kinds]
    texts = [facts.allowed for facts in every if facts.type in _TEXTS]
    return any(each and each.takes(value) for each in texts) or (len(texts) == len(every) > 0 and not any(texts))


def redacted(value: str, reason: str) -> str:
    """The placeholder of a secret: its length, and its shape or the reason why it is taken for a secret."""
    kind = "jaas" if is_login_module(value) else shape_of(value) or reason
    return f"‹redacted, {_bytes(value)} bytes, {kind.replace('_', ' ')}›"


def _bytes(text: str) -> int:
    """Of its UTF-8; a log's JSON can name half a character."""
    return len(text.encode("utf-8", "surrogatepass"))


def plain(text: str, longest: int = LONGEST) -> str:
    """Untrusted text, fit for a terminal: without control characters (line ends included), and cut."""
    printable = "".join(character if character.isprintable() else "�" for character in text)
    return printable if len(printable) <= longest else f"{printable[: longest - 1]}…"


def client_name(text: str, field: str = "client_id") -> str:
    """What a client calls itself in this field of a record, without a secret and fit for a terminal."""
    return plain(sensitive.shown(text, field))


def key(name: str, bare: bool = False) -> str:
    """A setting's name, if it looks like one: a properties file with a key or a password pasted in has names that are the secret.

    Args:
        bare: see `Placed`.
    """
    if not (bare and is_custom(name)) and _NAME.fullmatch(name) and judge_value(name) is ValueState.PRESENT:
        return name
    return f"‹a name of {_bytes(name)} bytes›"


_HELD = "This file contains a credential: let a config provider, the environment or a secret store fill it in, and replace it."
# The leak rules' own texts are about clients that push a secret; a file that holds one is another matter.
MESSAGES: Mapping[str, str] = {
    "SK001": _HELD,
    "SK002": "The value of a setting that isn't meant for one contains a credential: take it out, and replace it.",
    "SK004": "A value looks random: if it is a secret, take it out of this file and replace it.",
}

SAMPLE = "A sample stands where a credential belongs: replace it, but not in this file."

SECTIONS = {
    "Why": "A file is copied, committed and backed up, and with it what it holds: anyone who can read a copy can use it.",
    "Use instead": "A reference that is filled in later, as in ``${file:/run/secrets/kafka.properties:password}`` (KIP-297), an "
    "environment variable or a secret store; then a new credential, since the old one has been in every copy of the file.",
}

OF_PUSHES_ALONE = frozenset({"SK003", "SK005"})
"""``security.protocol`` and settings of an application belong in a file; that a client pushes them is what these rules are about."""

LEFT = Left(
    frozenset({ValueState.CUSTOM, ValueState.TYPE}),
    (
        "security.protocol", "security_protocol", "sasl.mechanism", "sasl.mechanisms", "sasl_mechanism", "ssl_check_hostname",
        "ssl.endpoint.identification.algorithm", "enable.ssl.certificate.verification", "ssl.verification_mode", "sasl.oauthbearer.method",
        "sasl.login.refresh.buffer.seconds", "sasl.login.refresh.min.period.seconds", "sasl.login.refresh.window.factor",
        "sasl.login.refresh.window.jitter", "sasl.kerberos.min.time.before.relogin",
    ),
)  # fmt: skip
"""What is kept back from a push without being a secret, and stays where it is in a file: the rules read names of classes, and libraries
check the numbers, truth values and words of these settings about security."""
