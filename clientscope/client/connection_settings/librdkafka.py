"""librdkafka's dialect, by its CONFIGURATION.md, and confluent-kafka's ``oauth_cb``."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping
from typing import Any

from clientscope.client.connection_settings import tokens
from clientscope.client.connection_settings.common import GSSAPI_HINT, SCRAM, ClientSettings, cannot, needed, secured
from clientscope.client.connection_settings.tls import PemSource, Tls
from clientscope.errors import SettingsError

_PRINCIPAL = re.compile(r"(?:^|\s)principal=(\S+)")


def connection_settings(values: Mapping[str, Any]) -> dict[str, Any]:
    """The same as `clientscope.client.connection_settings.connection_settings`."""
    settings = ClientSettings(values)
    return settings.reachable("rdkafka", "bootstrap.servers", "metadata.broker.list") | secured(settings, _sasl, _tls)


def _sasl(settings: ClientSettings) -> dict[str, Any]:
    mechanism = settings.text("sasl.mechanisms", "sasl.mechanism", default="GSSAPI")
    if mechanism == "OAUTHBEARER":
        return {"sasl_mechanism": mechanism, "sasl_oauth_token_provider": _token_provider(settings)}
    if mechanism not in (*SCRAM, "PLAIN"):
        raise cannot("sasl.mechanism", repr(mechanism), GSSAPI_HINT)
    return {
        "sasl_mechanism": mechanism,
        "sasl_plain_username": needed(settings.secret("sasl.username"), "sasl.username", f"sasl.mechanism {mechanism}"),
        "sasl_plain_password": needed(settings.secret("sasl.password"), "sasl.password", f"sasl.mechanism {mechanism}"),
    }


def _token_provider(settings: ClientSettings) -> tokens.TokenProvider:
    config = settings.secret("sasl.oauthbearer.config")
    callback = settings.values.get("oauth_cb")
    if callback is not None:
        return _called(callback, config)
    if settings.text("sasl.oauthbearer.method").lower() == "oidc":
        return tokens.TokenProvider(_client_credentials(settings), lambda: _extensions(settings))
    principal = _PRINCIPAL.search(config)
    if principal and settings.boolean("enable.sasl.oauthbearer.unsecure.jwt", False):
        return tokens.TokenProvider(tokens.unsecured(principal[1]))
    raise SettingsError(
        "OAUTHBEARER without oauth_cb and sasl.oauthbearer.method=oidc can't be taken over",
        "set sasl.oauthbearer.method=oidc and what goes with it, or oauth_cb in Python",
    )


def _called(callback: Callable[[str], Any], config: str) -> tokens.TokenProvider:
    """confluent-kafka's callback: (token, expiry), or (token, expiry, principal, extensions)."""
    extensions: dict[str, str] = {}

    def token() -> str:
        answer = callback(config)
        extensions.clear()
        extensions.update(answer[3] if len(answer) > 3 and answer[3] else {})
        return str(answer[0])

    return tokens.TokenProvider(token, lambda: extensions)


def _client_credentials(settings: ClientSettings) -> Callable[[], str]:
    if (grant := settings.text("sasl.oauthbearer.grant.type", default="client_credentials")) != "client_credentials":
        raise cannot("sasl.oauthbearer.grant.type", repr(grant), "use client_credentials for the push")
    kind = settings.text("sasl.oauthbearer.metadata.authentication.type", default="none").lower()
    if kind != "none":
        raise cannot("sasl.oauthbearer.metadata.authentication.type", repr(kind), "use client_credentials for the push")
    method = "sasl.oauthbearer.method=oidc"
    prefix = "sasl.oauthbearer.client"
    url = settings.text("sasl.oauthbearer.token.endpoint.url")
    ca_path, ca_pem = settings.text("https.ca.location"), settings.secret("https.ca.pem")
    authority = PemSource("https.ca.pem", pem=ca_pem) if ca_pem else PemSource("https.ca.location", path=ca_path) if ca_path else None
    return tokens.client_credentials(
        needed(url, "sasl.oauthbearer.token.endpoint.url", method),
        needed(settings.secret(f"{prefix}.id", f"{prefix}.credentials.client.id"), f"{prefix}.id", method),
        needed(settings.secret(f"{prefix}.secret", f"{prefix}.credentials.client.secret"), f"{prefix}.secret", method),
        settings.text("sasl.oauthbearer.scope"),
        context=Tls(authority=authority).context() if url.startswith("https:") else None,
    )


def _extensions(settings: ClientSettings) -> dict[str, str]:
    pairs = (pair.split("=", 1) for pair in settings.text("sasl.oauthbearer.extensions").split(",") if "=" in pair)
    return {name.strip(): value for name, value in pairs}


def _tls(settings: ClientSettings) -> Tls:
    if path := settings.text("ssl.keystore.location"):
        command = f"openssl pkcs12 -in {shlex.quote(path)} -out client.pem"
        raise cannot(
            "ssl.keystore.location",
            "a PKCS#12 key store",
            f"convert it by `{command}`, and set ssl.certificate.location and ssl.key.location to client.pem, and ssl.key.password",
        )
    for other in ("ssl.engine.location", "ssl.providers", "ssl.certificate.verify_cb", "ssl_key", "ssl_certificate", "ssl_ca"):
        if settings.values.get(other):
            raise cannot(other, "what OpenSSL or code of the client's own adds", "give PEM files for the push")
    certificate = _source(settings, "ssl.certificate")
    key = _source(settings, "ssl.key")
    if (certificate is None) != (key is None):
        raise SettingsError("ssl.certificate and ssl.key go together", "set .location or .pem of both, or of neither")
    crl = settings.text("ssl.crl.location")
    return Tls(
        authority=None if settings.text("ssl.ca.location") == "probe" else _source(settings, "ssl.ca"),
        certificate=certificate,
        key=key,
        password=settings.secret("ssl.key.password"),
        crl=PemSource("ssl.crl.location", path=crl) if crl else None,
        verify=settings.boolean("enable.ssl.certificate.verification", True),
        check_hostname=settings.text("ssl.endpoint.identification.algorithm", default="https").lower() == "https",
        ciphers=settings.text("ssl.cipher.suites"),
    )


def _source(settings: ClientSettings, prefix: str) -> PemSource | None:
    path, pem = settings.text(f"{prefix}.location"), settings.secret(f"{prefix}.pem")
    if pem:
        return PemSource(f"{prefix}.pem", pem=pem)
    return PemSource(f"{prefix}.location", path=path) if path else None
