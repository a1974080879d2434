"""SSLContexts from PEM files, checked before they are used."""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import Any

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
