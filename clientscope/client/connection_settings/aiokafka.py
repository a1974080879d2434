"""aiokafka's dialect: the arguments of its clients."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

from clientscope.client.connection_settings import tokens
from clientscope.client.connection_settings.common import GSSAPI_HINT, SCRAM, ClientSettings, cannot, hosts, needed
from clientscope.errors import SettingsError

_TOKEN_TIMEOUT_S = 10.0


def connection_settings(values: Mapping[str, Any]) -> dict[str, Any]:
    """The same as `clientscope.client.connection_settings.connection_settings`. A token provider's coroutine runs on the event loop that is
    running here, so the push must not block that loop; where none is
        running, it runs on one of its own.
    """
    settings = ClientSettings(values)
    protocol = settings.text("security_protocol", default="PLAINTEXT")
    arguments = {
        "bootstrap_servers": hosts(settings.text("bootstrap_servers", default="localhost")),
        "client_id": settings.text("client_id", default="aiokafka"),
        "security_protocol": protocol,
    }
    if (backoff := values.get("retry_backoff_ms")) is not None:
        arguments["retry_backoff_ms"] = backoff
    if protocol.startswith("SASL_"):
        arguments |= _sasl(settings)
    if protocol.endswith("SSL"):
        if values.get("ssl_context") is None:
            raise SettingsError(f"security_protocol {protocol} needs ssl_context", "aiokafka.helpers.create_ssl_context() makes one")
        arguments["ssl_context"] = values["ssl_context"]
    return arguments


def _sasl(settings: ClientSettings) -> dict[str, Any]:
    mechanism = settings.text("sasl_mechanism", default="PLAIN")
    if mechanism == "OAUTHBEARER":
        provider = settings.values.get("sasl_oauth_token_provider")
        if provider is None:
            raise SettingsError("OAUTHBEARER needs sasl_oauth_token_provider", "set it to one of aiokafka's AbstractTokenProvider")
        return {"sasl_mechanism": mechanism, "sasl_oauth_token_provider": tokens.TokenProvider(_in_loop(provider), provider.extensions)}
    if mechanism not in (*SCRAM, "PLAIN"):
        raise cannot("sasl_mechanism", repr(mechanism), GSSAPI_HINT)
    return {
        "sasl_mechanism": mechanism,
        "sasl_plain_username": needed(settings.secret("sasl_plain_username"), "sasl_plain_username", f"sasl_mechanism {mechanism}"),
        "sasl_plain_password": needed(settings.secret("sasl_plain_password"), "sasl_plain_password", f"sasl_mechanism {mechanism}"),
    }


def _in_loop(provider: Any) -> Callable[[], str]:
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        return lambda: str(asyncio.run(provider.token()))
    return lambda: str(asyncio.run_coroutine_threadsafe(provider.token(), loop).result(_TOKEN_TIMEOUT_S))
