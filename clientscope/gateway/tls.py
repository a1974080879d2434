"""TLS of listeners and of connections to brokers, and what certificates say.

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
from pathlib import Path
from typing import Any

from clientscope.config import GatewaySettings
from clientscope.errors import SettingsError
from clientscope.secret_files import require_private

_KEYWORDS = {
    "commonName": "CN",
    "countryName": "C",
    "localityName": "L",
    "stateOrProvinceName": "ST",
    "organizationName": "O",
    "organizationalUnitName": "OU",
    "streetAddress": "STREET",
    "domainComponent": "DC",
    "userId": "UID",
}


def server_context(chain: Path, key: Path, client_ca: Path | None) -> ssl.SSLContext:
    """For clients that connect: TLS 1.2 or later, and a client's certificate wherever ``client_ca`` is given.

    Raises:
        SettingsError: a file can't be read or used, or the certificate is not valid now.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    _load_pair(context, "ssl_certificate_location", chain, "ssl_key_location", key)
    _check_now(context, chain)
    if client_ca is not None:
        _load_ca(context, "ssl_ca_location", client_ca)
        context.verify_mode = ssl.CERT_REQUIRED
    return context


def upstream_context(ca: Path, check_hostname: bool, chain: Path | None, key: Path | None) -> ssl.SSLContext:
    """For the connection to the broker.

    Raises:
        SettingsError: a file can't be read or used.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.check_hostname = check_hostname
    _load_ca(context, "upstream_ssl_ca_location", ca)
    if chain is not None and key is not None:
        _load_pair(context, "upstream_ssl_certificate_location", chain, "upstream_ssl_key_location", key)
    return context


def _load_pair(context: ssl.SSLContext, chain_setting: str, chain: Path, key_setting: str, key: Path) -> None:
    def passphrase() -> str:  # or OpenSSL would ask on the terminal
        raise SettingsError(f"{key_setting} {key}: it has a passphrase", f"openssl pkey -in {key} -out key.pem takes it off")

    require_private(key, key_setting)
    try:
        context.load_cert_chain(chain, key, passphrase)
    except ssl.SSLError as error:
        if error.reason == "KEY_VALUES_MISMATCH":
            raise SettingsError(f"{key_setting} {key}: it isn't the key of {chain}", "which of the two is from another time?") from None
        raise SettingsError(f"{chain_setting} {chain}, {key_setting} {key}: not usable as PEM ({error.reason or error})") from None
    except OSError as error:
        raise SettingsError(f"{chain_setting} {chain}: {error.strerror}") from None


def _load_ca(context: ssl.SSLContext, setting: str, path: Path) -> None:
    try:
        context.load_verify_locations(path)
    except ssl.SSLError as error:
        raise SettingsError(f"{setting} {path}: no certificates in PEM ({error.reason or error})") from None
    except OSError as error:
        raise SettingsError(f"{setting} {path}: {error.strerror}") from None


def _check_now(server: ssl.SSLContext, chain: Path) -> None:
    """Has OpenSSL judge the certificate as a client would, in a handshake in memory: the standard library parses none by itself.

    The certificate itself is all that this client trusts, so only its dates and its purpose are judged.
    """
    leaf = chain.read_text().partition("-----END CERTIFICATE-----")
    client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    client.check_hostname = False
    client.load_verify_locations(cadata=leaf[0][leaf[0].index("-----BEGIN CERTIFICATE-----") :] + leaf[1])
    client.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    ends = (client.wrap_bio(to_client, to_server), server.wrap_bio(to_server, to_client, server_side=True))
    try:
        for _ in range(3):
            for end in ends:
                try:
                    end.do_handshake()
                except ssl.SSLWantReadError:
                    continue
    except ssl.SSLCertVerificationError as error:
        raise SettingsError(f"ssl_certificate_location {chain}: {error.verify_message}", "clients would refuse it") from None
    except ssl.SSLError as error:
        raise SettingsError(f"ssl_certificate_location {chain}: not usable for TLS 1.2 or later ({error.reason or error})") from None


def distinguished_name(certificate: dict[str, Any]) -> str:
    """The subject as Kafka's default principal builder spells it: RFC 2253, the last part first.

    Args:
        certificate: as `ssl.SSLSocket.getpeercert` returns it.
    """
    parts = []
    for relative in reversed(certificate.get("subject", ())):
        parts.append("+".join(f"{_KEYWORDS.get(name, name)}={_escaped(value)}" for name, value in relative))
    return ",".join(parts)


def _escaped(value: str) -> str:
    """RFC 2253, section 2.4."""
    text = "".join("\\" + character if character in ',+"\\<>;' else character for character in value)
    if text.startswith((" ", "#")):
        text = "\\" + text
    return text[:-1] + "\\ " if text.endswith(" ") and len(text) > 1 and not text.endswith("\\ ") else text


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
        passes: whether TLS passes untouched.
        warnings: what the operator should know at the start; each a sentence.
    """

    clients: str
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
    broker_tls = listener.endswith("SSL")
    ends_here, upstream = used(settings)
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
    return TlsPlan(sasl + ("SSL" if ends_here else "PLAINTEXT"), warnings=tuple(_warnings(settings, listener, client_auth)))


def _warnings(settings: GatewaySettings, listener: str, client_auth: ClientAuth) -> list[str]:
    warnings = []
    by_sasl = listener.startswith("SASL_")
    ends_here, upstream = used(settings)
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
    if by_sasl and not ends_here and upstream:
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


def reload(present: GatewaySettings, again: GatewaySettings) -> None:
    """Checks that a gateway that runs can take what was read again: other files, but not another use of TLS.

    Raises:
        SettingsError: a file can't be used, or what was TLS would be so no more, or the other way round.
    """
    load(again)
    if used(again) != used(present):
        raise SettingsError("what is TLS and what is plain text can't change while the gateway runs", "start it again")
