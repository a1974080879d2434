"""What the rules about leaks say of a file.

Their own texts are about clients that push a secret; a file that holds one is another matter.
"""

from __future__ import annotations

from collections.abc import Mapping

_HELD = "A credential stands in this file: let a config provider, the environment or a secret store fill it in, and replace it."
MESSAGES: Mapping[str, str] = {
    "SK001": _HELD,
    "SK002": "A credential stands in the value of a setting that isn't meant for one: take it out, and replace it.",
    "SK004": "A value looks random: if it is a secret, take it out of this file and replace it.",
}

_SECTIONS = {
    "Why": "A file is copied, committed and backed up, and with it what it holds: whoever can read one of the copies is in.",
    "Use instead": "A reference that is filled in later, as in ``${file:/run/secrets/kafka.properties:password}`` (KIP-297), an "
    "environment variable or a secret store; then a new credential, since the old one has been in every copy of the file.",
}

OF_PUSHES_ALONE = frozenset({"SK003"})
"""``security.protocol`` and the like belong in a client's file; that a client pushes them is what this rule is about."""


def documentation(code: str, sections: Mapping[str, str]) -> Mapping[str, str]:
    """A rule's documentation as it holds for files."""
    return {**sections, **_SECTIONS} if code in MESSAGES else sections
