"""Messages of the leak rules about files.

Their own texts are about clients that push a secret; a file that holds one is another matter.
"""

from __future__ import annotations

from collections.abc import Mapping

from clientscope.records.enums import ValueState

_HELD = "This file contains a credential: let a config provider, the environment or a secret store fill it in, and replace it."
MESSAGES: Mapping[str, str] = {
    "SK001": _HELD,
    "SK002": "The value of a setting that isn't meant for one contains a credential: take it out, and replace it.",
    "SK004": "A value looks random: if it is a secret, take it out of this file and replace it.",
}

_SECTIONS = {
    "Why": "A file is copied, committed and backed up, and with it what it holds: anyone who can read a copy can use it.",
    "Use instead": "A reference that is filled in later, as in ``${file:/run/secrets/kafka.properties:password}`` (KIP-297), an "
    "environment variable or a secret store; then a new credential, since the old one has been in every copy of the file.",
}

OF_PUSHES_ALONE = frozenset({"SK003", "SK005"})
"""``security.protocol`` and settings of an application belong in a file; that a client pushes them is what these rules are about."""

LEFT = frozenset({ValueState.CUSTOM, ValueState.TYPE})
"""What is kept back from a push without being a secret, and stays where it is in a file: the rules read names of classes."""

LEFT_KEYS = (
    "security.protocol", "ssl.endpoint.identification.algorithm", "enable.ssl.certificate.verification", "sasl.oauthbearer.method",
    "sasl.login.refresh.buffer.seconds", "sasl.login.refresh.min.period.seconds", "sasl.login.refresh.window.factor",
    "sasl.login.refresh.window.jitter", "sasl.kerberos.min.time.before.relogin",
)  # fmt: skip
"""Settings about security whose values the libraries check, and that aren't secrets: numbers, truth values, and a few words."""


def documentation(code: str, sections: Mapping[str, str]) -> Mapping[str, str]:
    """A rule's documentation as it holds for files."""
    return {**sections, **_SECTIONS} if code in MESSAGES else sections
