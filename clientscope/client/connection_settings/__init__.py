"""Connection settings of any kind of client, as kafka-python's connection arguments: one file per dialect.

Only what says where Kafka is and how to be let in is looked at.  A secret goes into the arguments and nowhere else: errors name keys.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from clientscope.client.connection_settings import aiokafka, golang, java, kafka_python, kafkajs, librdkafka
from clientscope.errors import SettingsError

__all__ = ["connection_settings"]

_DIALECTS: dict[str, Callable[[Mapping[str, Any]], dict[str, Any]]] = {
    "java": java.connection_settings,
    "librdkafka": librdkafka.connection_settings,
    "aiokafka": aiokafka.connection_settings,
    "kafka-python": kafka_python.connection_settings,
    "kafkajs": kafkajs.connection_settings,
    "franz-go": golang.of("kgo"),
    "sarama": golang.of("sarama"),
}


def connection_settings(dialect: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """What of ``settings``, in the dialect's names and spellings, says how to reach Kafka, as kafka-python's arguments.

    ``bootstrap_servers``, ``client_id``, ``security_protocol``, ``sasl_*``, ``ssl_*``; ``retry_backoff_ms``, ``retry_backoff_max_ms``
    and ``client_dns_lookup`` where they are set.  ``client_id`` is the dialect's default where the user set none; in Java's it is empty,
    since each Java client makes up its own.  TLS of Java's and librdkafka's becomes an ``ssl_context``.

    Raises:
        ClientscopeError: an unknown dialect, or what can't be taken over: a JKS key store, Kerberos, code of the client's own.
    """
    if dialect not in _DIALECTS:
        raise SettingsError(f"no connection can be made from settings of {dialect!r}", f"known are {', '.join(_DIALECTS)}")
    return _DIALECTS[dialect](settings)
