"""Principals of clients that don't authenticate: KafkaPrincipal.ANONYMOUS, as Kafka's authorizers see them.

On a PLAINTEXT listener, and on an SSL one without a client certificate, Kafka's DefaultKafkaPrincipalBuilder names every client
``User:ANONYMOUS``. That is one principal and no one client: what keeps clients apart (keys, bounds, quotas) goes by the address instead.

Null stays for what can't be seen: SASL that isn't complete, GSSAPI, a delegation token, and TLS that passes untouched.

Gateways of release 0.1.0 wrote null for it, so readers ask `anonymous_if_unsaid`.
"""

from __future__ import annotations

ANONYMOUS = "User:ANONYMOUS"
"""KafkaPrincipal.ANONYMOUS."""

PLAINTEXT = "PLAINTEXT"
"""The security protocol without authentication, so that a record without a principal means `ANONYMOUS`."""


def authenticated(principal: str | None) -> str | None:
    """The principal, if it distinguishes owners of clients; None for `ANONYMOUS`."""
    return None if principal == ANONYMOUS else principal


def anonymous_if_unsaid(principal: str | None, security_protocol: str | None) -> str | None:
    """The principal of a record, whichever release wrote it."""
    return ANONYMOUS if principal is None and security_protocol == PLAINTEXT else principal
