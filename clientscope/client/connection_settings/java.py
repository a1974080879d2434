"""Java's dialect: Kafka's own names, with the meaning that Kafka's Java clients give them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from typing import Any

from clientscope.client.connection_settings import jaas, tokens
from clientscope.client.connection_settings.common import GSSAPI_HINT, SCRAM, ClientSettings, cannot, needed, secured
from clientscope.client.connection_settings.tls import PemSource, Tls
from clientscope.errors import SettingsError

_REFERENCE = re.compile(r"\$\{[^}:]+:[^}]*\}")
_OURS = re.compile(r"^(bootstrap\.servers|client\.id|security\.protocol|(sasl|ssl)\..+)$")
_HANDLERS = (
    "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginCallbackHandler",
    "org.apache.kafka.common.security.oauthbearer.secured.OAuthBearerLoginCallbackHandler",
)
_RETRIEVERS = ("ClientCredentialsJwtRetriever", "DefaultJwtRetriever", "FileJwtRetriever")


def connection_settings(values: Mapping[str, Any]) -> dict[str, Any]:
    """The same as `clientscope.client.connection_settings.connection_settings`."""
    for key, value in values.items():
        if _OURS.match(key) and isinstance(value, str) and _REFERENCE.search(value):
            raise cannot(key, "what a config provider fills in", f"set {key} to its value for the push")
    settings = ClientSettings(values)
    return settings.reachable("", "bootstrap.servers") | secured(settings, _sasl, _tls)


def _sasl(settings: ClientSettings) -> dict[str, Any]:
    mechanism = settings.text("sasl.mechanism", default="GSSAPI")
    if mechanism == "GSSAPI":
        raise cannot("sasl.mechanism", "GSSAPI", GSSAPI_HINT)
    if mechanism not in (*SCRAM, "PLAIN", "OAUTHBEARER", "AWS_MSK_IAM"):
        raise cannot("sasl.mechanism", repr(mechanism), GSSAPI_HINT)
    login = jaas.parse(needed(settings.secret(jaas.KEY), jaas.KEY, f"sasl.mechanism {mechanism}"))
    arguments: dict[str, Any] = {"sasl_mechanism": mechanism}
    if mechanism == "OAUTHBEARER":
        return {**arguments, "sasl_oauth_token_provider": _token_provider(settings, login)}
    if mechanism == "AWS_MSK_IAM":
        if login.options:
            raise cannot(jaas.KEY, "a profile or role for AWS_MSK_IAM", "let AWS's own environment variables name it, for the push")
        return arguments
    for handler in ("sasl.client.callback.handler.class", "sasl.login.callback.handler.class"):
        if settings.text(handler):
            raise cannot(handler, "code of the client's own", f"give username and password in {jaas.KEY}, for the push")
    if login.options.get("tokenauth", "").lower() == "true":
        raise cannot(jaas.KEY, "a delegation token", f"give username and password in {jaas.KEY}, for the push")
    missing = [name for name in ("username", "password") if name not in login.options]
    if missing:
        raise SettingsError(f"{jaas.KEY} has no {' and no '.join(missing)}", "give them in it, as options of the login module")
    return {**arguments, "sasl_plain_username": login.options["username"], "sasl_plain_password": login.options["password"]}


def _token_provider(settings: ClientSettings, login: jaas.Jaas) -> tokens.TokenProvider:
    options = login.options
    handler = settings.text("sasl.login.callback.handler.class")
    if handler and handler not in _HANDLERS:
        raise cannot("sasl.login.callback.handler.class", "code of the client's own", f"use {_HANDLERS[0]}")
    retriever = settings.text("sasl.oauthbearer.jwt.retriever.class")
    if retriever and retriever.rpartition(".")[2] not in _RETRIEVERS:
        raise cannot("sasl.oauthbearer.jwt.retriever.class", "this retriever", "use client credentials for the push")
    extensions = {name.removeprefix("extension_"): value for name, value in options.items() if name.startswith("extension_")}
    url = settings.text("sasl.oauthbearer.token.endpoint.url")
    if url.startswith("file:"):
        return tokens.TokenProvider(tokens.from_file(url), lambda: extensions)
    if url:
        return tokens.TokenProvider(_client_credentials(settings, options, url), lambda: extensions)
    principal = options.get(f"unsecuredLoginStringClaim_{options.get('unsecuredLoginPrincipalClaimName', 'sub')}")
    if principal is None:
        raise SettingsError("OAUTHBEARER needs sasl.oauthbearer.token.endpoint.url", "set it, and clientId and clientSecret with it")
    return tokens.TokenProvider(tokens.unsecured(principal), lambda: extensions)


def _client_credentials(settings: ClientSettings, options: Mapping[str, str], url: str) -> Any:
    prefix = "sasl.oauthbearer.client.credentials.client"
    client_id = settings.secret(f"{prefix}.id") or options.get("clientId", "")
    client_secret = settings.secret(f"{prefix}.secret") or options.get("clientSecret", "")
    return tokens.client_credentials(
        url,
        needed(client_id, f"{prefix}.id", "sasl.oauthbearer.token.endpoint.url"),
        needed(client_secret, f"{prefix}.secret", "sasl.oauthbearer.token.endpoint.url"),
        settings.text("sasl.oauthbearer.scope") or options.get("scope", ""),
        url_encode=settings.boolean("sasl.oauthbearer.header.urlencode", False),
    )


def _tls(settings: ClientSettings) -> Tls:
    if settings.text("ssl.engine.factory.class"):
        raise cannot("ssl.engine.factory.class", "code of the client's own", "give PEM files for the push")
    certificate, key = _own(settings)
    return Tls(
        authority=_authority(settings),
        any_anchor=True,
        certificate=certificate,
        key=key,
        password=settings.secret("ssl.key.password"),
        check_hostname=settings.text("ssl.endpoint.identification.algorithm", default="https").lower() == "https",
    )


def _authority(settings: ClientSettings) -> PemSource | None:
    inline, path = settings.secret("ssl.truststore.certificates"), settings.text("ssl.truststore.location")
    if inline:
        return PemSource("ssl.truststore.certificates", pem=inline)
    if path and (kind := settings.text("ssl.truststore.type", default="JKS").upper()) != "PEM":
        command = f"keytool -exportcert -rfc -keystore {shlex.quote(path)} -alias ALIAS >> truststore.pem"
        raise cannot(
            "ssl.truststore.location",
            f"a trust store of type {kind}",
            f"convert each of its certificates by `{command}`, and set ssl.truststore.type=PEM and ssl.truststore.location=truststore.pem",
        )
    return PemSource("ssl.truststore.location", path=path) if path else None


def _own(settings: ClientSettings) -> tuple[PemSource | None, PemSource | None]:
    chain, key = settings.secret("ssl.keystore.certificate.chain"), settings.secret("ssl.keystore.key")
    path = settings.text("ssl.keystore.location")
    if chain or key:
        needed(chain, "ssl.keystore.certificate.chain", "ssl.keystore.key")
        needed(key, "ssl.keystore.key", "ssl.keystore.certificate.chain")
        return PemSource("ssl.keystore.certificate.chain", pem=chain), PemSource("ssl.keystore.key", pem=key)
    if path and (kind := settings.text("ssl.keystore.type", default="JKS").upper()) != "PEM":
        source, commands = shlex.quote(path), []
        if kind != "PKCS12":
            commands.append(f"keytool -importkeystore -srckeystore {source} -destkeystore keystore.p12 -deststoretype PKCS12")
            source = "keystore.p12"
        commands.append(f"openssl pkcs12 -in {source} -out keystore.pem")
        raise cannot(
            "ssl.keystore.location",
            f"a key store of type {kind}",
            f"convert it by `{' && '.join(commands)}`, and set ssl.keystore.type=PEM, ssl.keystore.location and ssl.key.password",
        )
    return (PemSource("ssl.keystore.location", path=path) if path else None), None
