"""TLS between clients, gateway and broker: the possible combinations, and errors for those that can't work.

| clients | broker's listener | setting | what happens |
|---|---|---|---|
| plain text | plain text | none | no TLS |
| TLS | TLS | none | passes untouched, nothing of it can be read |
| TLS | plain text | ssl_certificate_location | ends here |
| TLS | TLS | ssl_certificate_location, upstream_ssl_ca_location | ends here, and TLS again to the broker |
| plain text | TLS | upstream_ssl_ca_location | TLS to the broker alone |
"""

from __future__ import annotations

import ssl
from dataclasses import dataclass
from enum import Enum

from clientscope.config import GatewaySettings
from clientscope.errors import SettingsError
from clientscope.gateway.certificates import server_context, upstream_context

SETTINGS = (
    "ssl_certificate_location",
    "ssl_key_location",
    "ssl_ca_location",
    "upstream_ssl_ca_location",
    "upstream_ssl_endpoint_identification_algorithm",
    "upstream_ssl_certificate_location",
    "upstream_ssl_key_location",
)
"""What is read again while the gateway runs."""


class ClientAuth(Enum):
    """The broker's ``ssl.client.auth`` on the listener behind the gateway."""

    NONE = "none"
    REQUESTED = "requested"
    REQUIRED = "required"
    UNKNOWN = ""


@dataclass(frozen=True)
class TlsPlan:
    """What is TLS where.

    Attributes:
        clients: the security protocol that clients speak to the gateway, by Kafka's name.
        ends_here: whether clients' TLS ends at the gateway.
        upstream: whether the gateway speaks TLS to the broker.
        passes: whether TLS passes untouched.
        warnings: what the operator should know at the start; each a sentence.
    """

    clients: str
    ends_here: bool = False
    upstream: bool = False
    passes: bool = False
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class TlsContexts:
    """What new connections use; None is plain text."""

    server: ssl.SSLContext | None = None
    upstream: ssl.SSLContext | None = None


def check_settings(settings: GatewaySettings) -> None:
    """Checks that what belongs together is there together.

    Raises:
        SettingsError: a certificate without its key, a key without its certificate, or what has no use without either.
    """
    pairs = (("ssl_certificate_location", "ssl_key_location"), ("upstream_ssl_certificate_location", "upstream_ssl_key_location"))
    for certificate, key in pairs:
        for one, other in ((certificate, key), (key, certificate)):
            if getattr(settings, one) and not getattr(settings, other):
                raise SettingsError(f"{one} is set without {other}", "a certificate and its key go together")
    if settings.ssl_ca_location and not settings.ssl_certificate_location:
        raise SettingsError(
            "ssl_ca_location is set without ssl_certificate_location",
            "clients' certificates can be asked for only where their TLS ends: set ssl_certificate_location too",
        )
    if settings.upstream_proxy_protocol and settings.upstream_ssl_ca_location:
        raise SettingsError(
            "upstream_proxy_protocol and upstream_ssl_ca_location are both set, but the header can't yet be sent ahead of TLS",
            "take one of them out",
        )
    if settings.upstream_ssl_certificate_location and not settings.upstream_ssl_ca_location:
        raise SettingsError(
            "upstream_ssl_certificate_location is set without upstream_ssl_ca_location", "say which certificates sign the broker's"
        )


def plan(settings: GatewaySettings, listener: str, client_auth: ClientAuth = ClientAuth.UNKNOWN) -> TlsPlan:
    """What happens on either side.

    Args:
        listener: what the broker's listener speaks, by Kafka's name.

    Raises:
        SettingsError: that can't work, for the reason that it gives.
    """
    check_settings(settings)
    sasl = "SASL_" if listener.startswith("SASL_") else ""
    broker_tls, ends_here = listener.endswith("SSL"), settings.ssl_certificate_location is not None
    upstream = settings.upstream_ssl_ca_location is not None
    if upstream and not broker_tls:
        raise SettingsError(
            f"upstream_ssl_ca_location is set, but the broker's listener speaks {listener}",
            "take it out, or let --upstream and --listener-name name a listener with TLS",
        )
    if ends_here and broker_tls and not upstream:
        raise SettingsError(
            f"clients' TLS ends here, and the broker's listener speaks {listener}, but nothing says how to trust the broker",
            "set upstream_ssl_ca_location, or take ssl_certificate_location out so that TLS passes untouched",
        )
    if broker_tls and not upstream:
        return TlsPlan(listener, passes=True, warnings=("TLS passes untouched: its clients are counted by address alone",))
    if upstream and client_auth is ClientAuth.REQUIRED and not settings.upstream_ssl_certificate_location:
        raise SettingsError(
            "the broker's listener requires a client certificate (ssl.client.auth=required), and the gateway has none",
            "set upstream_ssl_certificate_location and upstream_ssl_key_location, or let TLS pass untouched",
        )
    return TlsPlan(
        clients=sasl + ("SSL" if ends_here else "PLAINTEXT"),
        ends_here=ends_here,
        upstream=upstream,
        warnings=tuple(_warnings(settings, listener, client_auth)),
    )


def _warnings(settings: GatewaySettings, listener: str, client_auth: ClientAuth) -> list[str]:
    warnings = []
    by_sasl, ends_here = listener.startswith("SASL_"), settings.ssl_certificate_location is not None
    seen_as = "the gateway's own certificate" if settings.upstream_ssl_certificate_location else "User:ANONYMOUS"
    if not by_sasl and settings.ssl_ca_location:
        warnings.append(
            f"clients show certificates to the gateway, but the broker sees {seen_as} for all of them:"
            " its ACLs and quotas can't distinguish clients by certificate"
        )
    elif not by_sasl and client_auth in (ClientAuth.REQUESTED, ClientAuth.REQUIRED):
        warnings.append(
            f"the broker asks for certificates, but behind the gateway it sees {seen_as} for every client:"
            " its ACLs and quotas can't distinguish clients; if they must, let TLS pass untouched"
        )
    if by_sasl and not ends_here and settings.upstream_ssl_ca_location:
        warnings.append("clients send their credentials to the gateway in plain text, although the broker's listener speaks TLS")
    return warnings


def used(settings: GatewaySettings) -> tuple[bool, bool]:
    """Whether clients' TLS ends at the gateway, and whether it speaks TLS to the broker."""
    return settings.ssl_certificate_location is not None, settings.upstream_ssl_ca_location is not None


def load(settings: GatewaySettings) -> TlsContexts:
    """Reads all certificates and keys; again for each reload, so that established connections keep what they have.

    Raises:
        SettingsError: one can't be used, or is not valid now.
    """
    check_settings(settings)
    server = upstream = None
    if settings.ssl_certificate_location and settings.ssl_key_location:
        server = server_context(settings.ssl_certificate_location, settings.ssl_key_location, settings.ssl_ca_location)
    if settings.upstream_ssl_ca_location:
        upstream = upstream_context(
            settings.upstream_ssl_ca_location,
            settings.upstream_ssl_endpoint_identification_algorithm == "https",
            settings.upstream_ssl_certificate_location,
            settings.upstream_ssl_key_location,
        )
    return TlsContexts(server, upstream)


def reload(settings: GatewaySettings, ends_here: bool, upstream: bool) -> TlsContexts:
    """Reads all again for a gateway that runs, which can take other files but not change what is TLS where.

    Raises:
        SettingsError: one can't be used, or what was TLS would be so no more, or the other way round.
    """
    contexts = load(settings)
    if (contexts.server is not None, contexts.upstream is not None) != (ends_here, upstream):
        raise SettingsError("what is TLS and what is plain text can't change while the gateway runs", "start it again")
    return contexts
