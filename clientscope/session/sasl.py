"""Principal of a SASL exchange, the only part of the exchange that is kept.

The broker alone decides; these functions only read what passes, by the same expressions as Kafka's own servers, so that a token that Kafka
takes for one client is never taken here for another. Sources: RFC 4616 and PlainSaslServer (PLAIN), RFC 5802, ScramMessages and
ScramSaslServer (SCRAM), RFC 7628, KIP-255 and OAuthBearerClientInitialResponse (OAUTHBEARER).
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from dataclasses import dataclass

from clientscope.model.enums import PrincipalSource

PLAIN = "PLAIN"
OAUTHBEARER = "OAUTHBEARER"
_SCRAM = frozenset({"SCRAM-SHA-256", "SCRAM-SHA-512"})

# Kafka's SASLNAME, VALUE and the rest; Java's [\x01-\x7F&&[^=,]] has no counterpart in Python's expressions.
_NAME = r"(?:[\x01-\x2b\x2d-\x3c\x3e-\x7f]|=2C|=3D)+"
_SCRAM_VALUE = r"[\x01-\x2b\x2d-\x7f]+"
_SCRAM_FIRST = re.compile(
    rf"n,(?:a={_NAME})?,(?:m={_SCRAM_VALUE},)?n=(?P<name>{_NAME}),r=[\x21-\x2b\x2d-\x7e]+(?P<extensions>(?:,[A-Za-z]+={_SCRAM_VALUE})*)"
)
_BEARER_FIRST = re.compile(rf"n,(?:a={_NAME})?,\x01(?P<pairs>(?:[A-Za-z]+=[\x21-\x7e \t\r\n]+\x01)*)\x01")
_BEARER = re.compile(r"[A-Za-z0-9_]+ +(?P<token>[-_.a-zA-Z0-9]+)")


@dataclass(frozen=True)
class Principal:
    """The principal that a client claims: Kafka's spelling, ``User:name``, or None if the protocol doesn't show it."""

    name: str | None = None
    source: PrincipalSource = PrincipalSource.NONE


def understood(mechanism: str) -> bool:
    """Whether we can tell the end of this mechanism's exchange; of others (GSSAPI) only the broker can."""
    return mechanism in (PLAIN, OAUTHBEARER) or mechanism in _SCRAM


def claimed(mechanism: str, token: bytes) -> Principal:
    """The principal that the client's first token names.

    A delegation token authenticates by SCRAM under the token's id, which names no principal: that is left to the broker.
    """
    try:
        if mechanism == PLAIN:
            return Principal(_user(_plain(token.decode())), PrincipalSource.PLAIN)
        if mechanism in _SCRAM:
            return _scram(token.decode())
        if mechanism == OAUTHBEARER:
            return Principal(_user(_subject(token.decode())), PrincipalSource.TOKEN)
    except (ValueError, IndexError, KeyError, TypeError, AttributeError, RecursionError, binascii.Error):
        return Principal()  # malformed: the broker refuses it, or knows more than we do
    return Principal()


def complete(mechanism: str, token: bytes) -> bool:
    """Whether the broker's answer ``token``, sent without an error, is an exchange's last one: accepted.

    SCRAM's last answer is ``v=``, the server's own signature; PLAIN and OAUTHBEARER answer once, and with nothing, but for
    OAUTHBEARER's refusal, which is a JSON text.
    """
    if mechanism in _SCRAM:
        return token.startswith(b"v=")
    return not token


def _user(name: str) -> str:
    if not name:
        raise ValueError("no name")
    return f"User:{name}"


def _plain(message: str) -> str:
    """The name of ``[authzid] NUL authcid NUL passwd``; an authzid that differs from it is refused by Kafka."""
    authzid, name, password = message.split("\0")
    if not password or authzid not in ("", name):
        raise ValueError("no such message")
    return name


def _scram(first: str) -> Principal:
    message = _matched(_SCRAM_FIRST, first)
    # Kafka's Utils.parseMap: of several, the last counts.
    extensions = dict(pair.split("=", 1) for pair in message["extensions"].split(",")[1:])
    if extensions.get("tokenauth", "").lower() == "true":
        return Principal()
    return Principal(_user(message["name"].replace("=2C", ",").replace("=3D", "=")), PrincipalSource.SCRAM)


def _subject(first: str) -> str:
    """The ``sub`` of a bearer token, as the broker will have checked it."""
    pairs = dict(pair.split("=", 1) for pair in _matched(_BEARER_FIRST, first)["pairs"].split("\x01")[:-1])
    payload = _matched(_BEARER, pairs["auth"])["token"].split(".")[1]
    subject = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))["sub"]
    return str(subject) if isinstance(subject, str) else ""


def _matched(expression: re.Pattern[str], text: str) -> re.Match[str]:
    if (match := expression.fullmatch(text)) is None:
        raise ValueError("no such message")
    return match
