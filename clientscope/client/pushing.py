"""Arguments of a pushing kafka-python client: takes clientscope's settings out, and puts ``kafka_client`` in."""

from __future__ import annotations

import functools
import uuid
from collections.abc import Mapping
from typing import Any

from kafka.net.compat import KafkaNetClient

from clientscope.catalog.configs import DEFAULT_KEYS, ClientType
from clientscope.client.connection import net_client
from clientscope.client.handshake import Handshake, backoff, log
from clientscope.client.settings import collect, milliseconds, split_keys
from clientscope.errors import SettingsError

SETTINGS: dict[str, Any] = {
    "enable_config_push": True,
    "config_push_allowed_keys": None,
    "retry_backoff_max_ms": 1000,
    "default_api_timeout_ms": 60_000,
}
"""Settings of the push, with their defaults."""


class Pushing:
    """A mixin for kafka-python's clients; a class with it calls `_prepare` in ``__init__``."""

    _handshake: Handshake | None = None
    config: Mapping[str, Any] = {}
    """kafka-python's producer names itself by it at its end, even where it was never made."""

    def _prepare(self, client_type: ClientType, configs: dict[str, Any]) -> dict[str, Any]:
        """The arguments for kafka-python's own ``__init__``.

        Raises:
            SettingsError: a setting of ours is invalid.
        """
        self._handshake, prepared = _prepared(client_type, configs)
        return prepared

    @property
    def client_instance_id(self) -> uuid.UUID | None:
        """What this client says it is, on all its connections; None if it says nothing."""
        return self._handshake.client_instance_id if self._handshake else None


def _prepared(client_type: ClientType, configs: Mapping[str, Any]) -> tuple[Handshake | None, dict[str, Any]]:
    """The handshake of a client to be, if it has one, and what kafka-python is to be given."""
    ours = {name: configs.get(name, default) for name, default in SETTINGS.items()}
    if ours["config_push_allowed_keys"] is not None:
        ours["config_push_allowed_keys"] = split_keys(ours["config_push_allowed_keys"], "config_push_allowed_keys")
    timeout_ms = milliseconds("default_api_timeout_ms", ours["default_api_timeout_ms"], SETTINGS["default_api_timeout_ms"])
    backoff_max_ms = milliseconds("retry_backoff_max_ms", ours["retry_backoff_max_ms"], SETTINGS["retry_backoff_max_ms"], least=0)
    backoff_ms = milliseconds("retry_backoff_ms", configs.get("retry_backoff_ms", 100), 100, least=0)
    embedded = configs.get("embedded", False)
    kafkas = {name: value for name, value in configs.items() if name not in SETTINGS and name != "embedded"}
    if not isinstance(enabled := ours["enable_config_push"], bool):  # a text such as "false" would be true
        raise SettingsError(
            f"enable_config_push must be True or False (got {ascii(enabled)[:40]})", "set enable_config_push to one of them"
        )
    if not isinstance(embedded, bool | uuid.UUID):
        raise SettingsError(f"embedded is {embedded!r}", "it is True, False, or the client_instance_id of the application's own client")
    if not enabled or embedded is True:
        return None, kafkas
    if "kafka_client" in kafkas:
        log.warning("kafka_client is set, so the configuration is not pushed")
        return None, kafkas
    handshake = Handshake(timeout_ms / 1000, backoff(backoff_ms, backoff_max_ms), embedded or None)
    if embedded:
        return handshake, {**kafkas, "kafka_client": functools.partial(net_client, handshake)}
    make = functools.partial(_net_client, handshake, client_type, ours, frozenset(configs))
    return handshake, {**kafkas, "kafka_client": make}


def _net_client(
    handshake: Handshake, client_type: ClientType, ours: Mapping[str, Any], set_by_user: frozenset[str], **configs: Any
) -> KafkaNetClient:
    # Called by kafka-python with the whole configuration, its defaults included.
    keys = ours["config_push_allowed_keys"]
    collected = collect(client_type, {**configs, **ours}, set_by_user, DEFAULT_KEYS[client_type] if keys is None else keys)
    if collected.sensitive:
        log.warning("not pushed, as they are sensitive: %s", ", ".join(map(ascii, collected.sensitive)))
    handshake.configure(collected.entries)
    return net_client(handshake, **configs)
