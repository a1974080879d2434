"""Settings that parts below the commands read, as frozen pydantic models; a command's own settings are in its file.

A field is, by itself, a flag (``--heartbeat-interval-ms``), an environment variable
(``CLIENTSCOPE_GATEWAY_HEARTBEAT_INTERVAL_MS``) and a TOML key (``heartbeat_interval_ms`` in ``[gateway]``);
`clientscope.commands.sources` reads them, `Option` says where a field differs. Kafka's own settings are in ``[kafka]`` under Kafka's own
names and hold for every process.

- `base`: the base class, and what several commands take: Kafka, the page, listings.
- `gateway`, `stream`, `serve`: the long-running processes, whose modules take their settings as a whole.
"""

from __future__ import annotations

from clientscope.config.base import KafkaSettings, ListingSettings, PageSettings, Settings
from clientscope.config.processes import GatewaySettings, ServeSettings, StreamSettings

__all__ = [
    "GatewaySettings",
    "KafkaSettings",
    "ListingSettings",
    "PageSettings",
    "ServeSettings",
    "Settings",
    "StreamSettings",
]
