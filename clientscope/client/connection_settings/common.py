"""Shared parts of the dialects: reading settings given as text or as values, and errors that name a key."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from clientscope.client.connection_settings.tls import Tls
from clientscope.errors import SettingsError

PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
SCRAM = ("SCRAM-SHA-256", "SCRAM-SHA-512")

_FALSE, _TRUE = {"false", "f", "0"}, {"true", "t", "1"}


class ClientSettings:
    """A client's settings, by key."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self.values = values

    def text(self, *keys: str, default: str = "") -> str:
        """The first of the keys that is set, as text without blanks around it."""
        for key in keys:
            value = self.values.get(key)
            if value is not None:
                return (",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)).strip()
        return default

    def secret(self, *keys: str) -> str:
        """The first of the keys that is set, as it is."""
        return next((str(self.values[key]) for key in keys if self.values.get(key) is not None), "")

    def boolean(self, key: str, default: bool) -> bool:
        """Raises SettingsError for what is neither true nor false."""
        text = self.text(key).lower()
        if text and text not in _FALSE | _TRUE:
            raise SettingsError(f"{key} must be true or false", f"set {key} to one of them")
        return text in _TRUE if text else default

    def protocol(self) -> str:
        """``security.protocol`` in capitals.

        Raises:
            SettingsError: there is no such protocol.
        """
        protocol = self.text("security.protocol", default="PLAINTEXT").upper()
        if protocol not in PROTOCOLS:
            raise SettingsError(f"security.protocol {protocol!r} is unknown", f"it is one of {', '.join(PROTOCOLS)}")
        return protocol

    def reachable(self, default_client_id: str, *bootstrap: str) -> dict[str, Any]:
        """Arguments that have nothing to do with security."""
        arguments: dict[str, Any] = {"client_id": self.text("client.id", default=default_client_id)}
        if servers := self.text(*bootstrap):
            arguments["bootstrap_servers"] = hosts(servers)
        if (lookup := self.text("client.dns.lookup")) == "resolve_canonical_bootstrap_servers_only":
            arguments["client_dns_lookup"] = lookup
        for key in ("retry.backoff.ms", "retry.backoff.max.ms"):
            if text := self.text(key):
                if not text.isdecimal():
                    raise SettingsError(f"{key} must be a number of milliseconds", f"set {key} to a number, or not at all")
                arguments[key.replace(".", "_")] = int(text)
        return arguments


def secured(
    settings: ClientSettings, sasl: Callable[[ClientSettings], dict[str, Any]], tls: Callable[[ClientSettings], Tls]
) -> dict[str, Any]:
    """What ``security.protocol`` asks for.

    Args:
        sasl, tls: the dialect's own, asked where the protocol has it.
    """
    protocol = settings.protocol()
    arguments: dict[str, Any] = {"security_protocol": protocol}
    if protocol.startswith("SASL_"):
        arguments |= sasl(settings)
    if protocol.endswith("SSL"):
        arguments["ssl_context"] = tls(settings).context()
    return arguments


def hosts(servers: str) -> list[str]:
    """``host:port`` of each; the scheme that Java and librdkafka allow in front goes."""
    return [re.sub(r"^\w+://", "", server.strip()) for server in servers.split(",") if server.strip()]


def needed(value: str, key: str, why: str) -> str:
    """``value``.

    Raises:
        SettingsError: it is empty.
    """
    if not value:
        raise SettingsError(f"{key} is missing", f"{why} needs {key}")
    return value


def cannot(key: str, what: str, hint: str) -> SettingsError:
    """The error for what a client can do and a push for it can't."""
    return SettingsError(f"{key}: {what} can't be taken over", hint)


GSSAPI_HINT = "let the push have a listener or a user with PLAIN, SCRAM or OAUTHBEARER, or TLS alone"
