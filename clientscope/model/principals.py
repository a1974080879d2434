"""Principals of clients that don't authenticate: KafkaPrincipal.ANONYMOUS, as Kafka's authorizers see them.

On a PLAINTEXT listener, and on an SSL one without a client certificate, Kafka's DefaultKafkaPrincipalBuilder names every client
``User:ANONYMOUS``. That is one principal and no one client: what keeps clients apart (keys, bounds, quotas) goes by the address instead.

Null stands for what can't be seen: SASL that isn't complete, GSSAPI, a delegation token, and TLS that passes untouched.
"""

from __future__ import annotations

ANONYMOUS = "User:ANONYMOUS"
"""KafkaPrincipal.ANONYMOUS."""


def authenticated(principal: str | None) -> str | None:
    """The principal, if it distinguishes owners of clients; None for `ANONYMOUS`."""
    return None if principal == ANONYMOUS else principal
