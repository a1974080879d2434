"""franz-go's and Sarama's dialects: their settings are Go code, so a file can only contain addresses and names.

SASL and TLS are objects that an application makes; a file that speaks of them can't be taken over.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from clientscope.client.connection_settings import librdkafka
from clientscope.errors import SettingsError

_RENAMED = {"ClientID": "client.id", "SeedBrokers": "bootstrap.servers"}
_CODE = ("SASL", "DialTLS", "Net.SASL.", "Net.TLS.", "sasl.", "ssl.", "security.")


def of(client_id: str) -> Callable[[Mapping[str, Any]], dict[str, Any]]:
    """The same as `clientscope.client.connection_settings.connection_settings`, for the library that calls itself ``client_id``."""

    def connection_settings(values: Mapping[str, Any]) -> dict[str, Any]:
        code = sorted(name for name in values if name.startswith(_CODE))
        if code:
            raise SettingsError(
                f"{code[0]} can't be taken over from a Go client",
                "its SASL and TLS are code: name the connection's settings in another dialect, or push from within the application",
            )
        found = {"client.id": client_id}
        for name, value in values.items():
            key = _RENAMED.get(name, name)
            if key in ("client.id", "bootstrap.servers"):
                found[key] = ",".join(map(str, value)) if isinstance(value, list) else str(value)
        return librdkafka.connection_settings(found)

    return connection_settings
