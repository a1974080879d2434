"""Every setting of every process, as frozen pydantic models.

A field is, by itself, a flag (``--heartbeat-interval-ms``), an environment variable
(``CLIENTSCOPE_GATEWAY_HEARTBEAT_INTERVAL_MS``) and a TOML key (``heartbeat_interval_ms`` in ``[gateway]``); `config_sources` reads them.
Kafka's own settings stand in ``[kafka]`` under Kafka's own names and hold for every process.
"""

from __future__ import annotations

from clientscope.config.asking import ApiVersionsSettings, BrokersSettings, ClientsSettings, ConnectionsSettings, TopSettings
from clientscope.config.base import KafkaSettings, ListingSettings, PageSettings, Settings
from clientscope.config.checkpoints import (
    CheckpointsBackupSettings,
    CheckpointsListSettings,
    CheckpointsResetSettings,
    CheckpointsVerifySettings,
)
from clientscope.config.deliver import DeadListSettings, DeadReplaySettings, DeliverSettings
from clientscope.config.files import LintSettings, PushSettings
from clientscope.config.findings import FindingsCloseSettings, FindingsListSettings, FindingsReopenSettings, FindingsShowSettings
from clientscope.config.gateway import GatewaySettings
from clientscope.config.history import HistoryEraseSettings, HistoryMaintainSettings
from clientscope.config.processes import BrokerSettings, DemoSettings, ServeSettings, StreamSettings, TopicsSettings

__all__ = [
    "ALL",
    "ApiVersionsSettings",
    "BrokerSettings",
    "BrokersSettings",
    "CheckpointsBackupSettings",
    "CheckpointsListSettings",
    "CheckpointsResetSettings",
    "CheckpointsVerifySettings",
    "ClientsSettings",
    "ConnectionsSettings",
    "DeadListSettings",
    "DeadReplaySettings",
    "DeliverSettings",
    "DemoSettings",
    "FindingsCloseSettings",
    "FindingsListSettings",
    "FindingsReopenSettings",
    "FindingsShowSettings",
    "GatewaySettings",
    "HistoryEraseSettings",
    "HistoryMaintainSettings",
    "KafkaSettings",
    "LintSettings",
    "ListingSettings",
    "PageSettings",
    "PushSettings",
    "ServeSettings",
    "Settings",
    "StreamSettings",
    "TopSettings",
    "TopicsSettings",
]

ALL: tuple[type[Settings], ...] = (
    BrokerSettings,
    TopicsSettings,
    GatewaySettings,
    ConnectionsSettings,
    ClientsSettings,
    TopSettings,
    ApiVersionsSettings,
    BrokersSettings,
    PushSettings,
    LintSettings,
    StreamSettings,
    CheckpointsListSettings,
    CheckpointsVerifySettings,
    CheckpointsBackupSettings,
    CheckpointsResetSettings,
    ServeSettings,
    DeliverSettings,
    DeadListSettings,
    DeadReplaySettings,
    FindingsListSettings,
    FindingsShowSettings,
    FindingsCloseSettings,
    FindingsReopenSettings,
    HistoryMaintainSettings,
    HistoryEraseSettings,
    DemoSettings,
)
