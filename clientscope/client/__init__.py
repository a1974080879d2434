"""kafka-python's producer, consumer and admin client, with the client's half of KIP-1324.

They are kafka-python's own, take its arguments, and do one thing more: before the first request of the user's, the client
pushes its configuration, once, to the first node that it connects to and that advertises PushConfig.  That is best effort: a push that
fails is logged by the logger ``clientscope.client``, and the client goes on.

Four more settings:

- ``enable_config_push`` (default True): False sends no configuration and no ClientInstanceId.
- ``config_push_allowed_keys``: the keys to push instead of KIP-1324's default ones, by Kafka's names, as a list or as text with
  commas between.
- ``retry_backoff_max_ms`` (default 1000): the longest pause between two attempts, which ``retry_backoff_ms`` begins.
- ``default_api_timeout_ms`` (default 60000): no attempt is made later than this after the first.
"""

from __future__ import annotations

import functools
import uuid
from typing import Any

import kafka
from kafka.net.compat import KafkaNetClient

from clientscope.catalog.configs import DEFAULT_KEYS, ClientType
from clientscope.client.connection import net_client
from clientscope.client.handshake import Backoff, Handshake, log
from clientscope.client.settings import collect

__all__ = ["KafkaAdminClient", "KafkaConsumer", "KafkaProducer"]


class _Pushing:
    """Takes our settings out of ``configs`` and puts ``kafka_client`` in."""

    _client_type: ClientType
    _handshake: Handshake | None = None

    def _prepare(self, configs: dict[str, Any]) -> dict[str, Any]:
        enabled = configs.pop("enable_config_push", True)
        keys = configs.pop("config_push_allowed_keys", None)
        backoff_max_ms = configs.pop("retry_backoff_max_ms", 1000)
        timeout_ms = configs.pop("default_api_timeout_ms", 60_000)
        if not enabled:
            return configs
        if "kafka_client" in configs:
            log.warning("kafka_client is set, so the configuration is not pushed")
            return configs
        if keys is None:
            keys = DEFAULT_KEYS[self._client_type]
        elif isinstance(keys, str):
            keys = [key.strip() for key in keys.split(",") if key.strip()]
        self._handshake = Handshake(timeout_ms / 1000, Backoff(configs.get("retry_backoff_ms", 100), backoff_max_ms))
        make = functools.partial(self._net_client, self._handshake, tuple(keys), frozenset(configs))
        return {**configs, "kafka_client": make}

    def _net_client(self, handshake: Handshake, keys: tuple[str, ...], set_by_user: frozenset[str], **configs: Any) -> KafkaNetClient:
        # Called by kafka-python with the whole configuration, its defaults included.
        collected = collect(self._client_type, configs, set_by_user, keys)
        if collected.sensitive:
            log.warning("not pushed, as they are sensitive: %s", ", ".join(map(ascii, collected.sensitive)))
        handshake.configure(collected.entries)
        return net_client(handshake, **configs)

    @property
    def client_instance_id(self) -> uuid.UUID | None:
        """What this client says it is, on all its connections; None if ``enable_config_push`` is False."""
        return self._handshake.client_instance_id if self._handshake else None


class KafkaProducer(_Pushing, kafka.KafkaProducer):
    """`kafka.KafkaProducer` that pushes its configuration."""

    _client_type = ClientType.PRODUCER

    def __init__(self, **configs: Any) -> None:
        super().__init__(**self._prepare(configs))


class KafkaConsumer(_Pushing, kafka.KafkaConsumer):
    """`kafka.KafkaConsumer` that pushes its configuration."""

    _client_type = ClientType.CONSUMER

    def __init__(self, *topics: str, **configs: Any) -> None:
        super().__init__(*topics, **self._prepare(configs))


class KafkaAdminClient(_Pushing, kafka.KafkaAdminClient):
    """`kafka.KafkaAdminClient` that pushes its configuration."""

    _client_type = ClientType.ADMIN

    def __init__(self, **configs: Any) -> None:
        super().__init__(**self._prepare(configs))
