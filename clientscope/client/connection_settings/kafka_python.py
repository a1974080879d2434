"""kafka-python's dialect: its arguments unchanged, without those that don't concern the connection."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kafka.net.manager import KafkaConnectionManager

_TAKEN = frozenset(KafkaConnectionManager.DEFAULT_CONFIG) - {"metrics", "metric_group_prefix"} | {
    "retry_backoff_ms",
    "retry_backoff_max_ms",
}


def connection_settings(values: Mapping[str, Any]) -> dict[str, Any]:
    """The same as `clientscope.client.connection_settings.connection_settings`."""
    return {key: value for key, value in values.items() if key in _TAKEN}
