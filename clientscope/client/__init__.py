"""kafka-python's producer, consumer and admin client, with the client's half of KIP-1324.

They are kafka-python's own classes and take its arguments.  Before the user's first request, each client also pushes its configuration,
once, to the first node that it connects to and that advertises PushConfig.  The push is best effort: the user's requests wait for it for
at most two seconds.  After that it continues in the background, and the logger ``clientscope.client`` reports once how it ended.

Five more settings:

- ``enable_config_push`` (default True): False sends no configuration and no ClientInstanceId.
- ``config_push_allowed_keys``: the keys to push instead of KIP-1324's default ones, by Kafka's names, as a list or as text with
  commas between.
- ``retry_backoff_max_ms`` (default 1000): the longest pause between two attempts, which ``retry_backoff_ms`` begins.
- ``default_api_timeout_ms`` (default 60000): the push ends this long after its first attempt.
- ``embedded`` (default False): for a client inside of an application that pushes by itself (as Kafka Streams does for its own).
  True pushes nothing and sends no ClientInstanceId; the application's id, a ``uuid.UUID``, pushes nothing and is sent as
  ClientInstanceId, so that the connections are recognised as the application's.

An invalid value raises `clientscope.errors.SettingsError`.

`push` pushes the settings of a client of any other library.
"""

from __future__ import annotations

from typing import Any

import kafka

from clientscope.catalog.configs import ClientType
from clientscope.client.own_connection import Pushing, push

__all__ = ["KafkaAdminClient", "KafkaConsumer", "KafkaProducer", "push"]


class KafkaProducer(Pushing, kafka.KafkaProducer):
    """`kafka.KafkaProducer` that pushes its configuration."""

    def __init__(self, **configs: Any) -> None:
        super().__init__(**self._prepare(ClientType.PRODUCER, configs))


class KafkaConsumer(Pushing, kafka.KafkaConsumer):
    """`kafka.KafkaConsumer` that pushes its configuration."""

    def __init__(self, *topics: str, **configs: Any) -> None:
        super().__init__(*topics, **self._prepare(ClientType.CONSUMER, configs))


class KafkaAdminClient(Pushing, kafka.KafkaAdminClient):
    """`kafka.KafkaAdminClient` that pushes its configuration."""

    def __init__(self, **configs: Any) -> None:
        super().__init__(**self._prepare(ClientType.ADMIN, configs))
