"""What a SASL exchange shows of its principal; nothing of it is kept but that.

The broker alone decides; these functions only read what passes. Sources: RFC 4616 (PLAIN), RFC 5802 (SCRAM), RFC 7628 and KIP-255
(OAUTHBEARER), and Kafka's own servers: PlainSaslServer, ScramSaslServer, OAuthBearerSaslServer.
"""

from __future__ import annotations

import base64
import binascii
import json
from dataclasses import dataclass

from clientscope.records.codec import PrincipalSource

PLAIN = "PLAIN"
OAUTHBEARER = "OAUTHBEARER"
_SCRAM = "SCRAM-SHA-"


@dataclass(frozen=True)
class Principal:
    """Whom a client claims to be: Kafka's spelling, ``User:name``, or None where the wire does not show it."""

    name: str | None = None
    source: PrincipalSource = PrincipalSource.NONE


def understood(mechanism: str) -> bool:
    """Whether we can tell the end of this mechanism's exchange; of others (GSSAPI) only the broker can."""
    return mechanism in (PLAIN, OAUTHBEARER) or mechanism.startswith(_SCRAM)


def claimed(mechanism: str, token: bytes) -> Principal:
    """Whom the client's first token names.

    A delegation token authenticates by SCRAM under the token's id, which names no principal: that is left to the broker.
    """
    try:
        if mechanism == PLAIN:
            return Principal(_user(token.decode().split("\0")[1]), PrincipalSource.PLAIN)
        if mechanism.startswith(_SCRAM):
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
    if mechanism.startswith(_SCRAM):
        return token.startswith(b"v=")
    return not token


def _user(name: str) -> str:
    if not name:
        raise ValueError("no name")
    return f"User:{name}"


def _scram(first: str) -> Principal:
    attributes = dict(part.split("=", 1) for part in first.split(",")[2:])
    if attributes.get("tokenauth") == "true":
        return Principal()
    return Principal(_user(attributes["n"].replace("=2C", ",").replace("=3D", "=")), PrincipalSource.SCRAM)


def _subject(first: str) -> str:
    """The ``sub`` of a bearer token, as the broker will have checked it."""
    attributes = dict(part.partition("=")[::2] for part in first.split("\x01"))
    payload = attributes["auth"].split(" ", 1)[1].split(".")[1]
    subject = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))["sub"]
    return str(subject) if isinstance(subject, str) else ""
