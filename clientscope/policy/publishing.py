"""The default policy: redacts, and publishes a Push to ``clientscope.configs``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from clientscope.digest import DigestKey
from clientscope.errors import InvalidConfigException
from clientscope.model.codec import encode
from clientscope.model.enums import Origin
from clientscope.model.push import Push, compact
from clientscope.model.setting import Reason, Setting
from clientscope.model.topics import CONFIGS
from clientscope.policy.interface import ClientConfigData, ClientConfigPolicy, RequestContext
from clientscope.policy.redaction import ClientNames, redact

Publish = Callable[[str, str, bytes], None]
"""``publish(topic, key, value)`` never blocks for Kafka; ValueError where the record is larger than a topic takes."""

_MESSAGE_LIMIT = 1000


class PublishingPolicy(ClientConfigPolicy):
    """Redacts what is sensitive and publishes all; then refuses the push if anything was, so that its owner hears of it.

    Settings: ``clientscope.publish`` (a `Publish`) and ``clientscope.digest.key.file`` (a path, or None), which may change while
    it runs.
    """

    def configure(self, configs: Mapping[str, Any]) -> None:
        self._publish: Publish = configs["clientscope.publish"]
        path: Path | None = configs.get("clientscope.digest.key.file")
        self._key = DigestKey.read(path) if path else None
        self._names = ClientNames(self._key)

    def process(self, context: RequestContext, data: ClientConfigData) -> None:
        settings = redacted_settings(data, self._key)
        record = config_record(context, data.timestamp_ms, settings, self._key, self._names)
        self._publish(CONFIGS, context.client_key, encode(record))
        hidden = [
            (setting.key if setting.key == pushed.key else f"setting {place} by its name", setting.redacted.reason)
            for place, (setting, pushed) in enumerate(zip(settings, data.configs, strict=True), 1)
            if setting.redacted
        ]
        if hidden:
            raise InvalidConfigException(_violation(hidden))

    def close(self) -> None:
        """Holds nothing."""

    def reconfigurable_configs(self) -> frozenset[str]:
        return frozenset({"clientscope.digest.key.file"})

    def validate_reconfiguration(self, configs: Mapping[str, Any]) -> None:
        if path := configs.get("clientscope.digest.key.file"):
            DigestKey.read(path)

    def reconfigure(self, configs: Mapping[str, Any]) -> None:
        self.configure(configs)


def redacted_settings(data: ClientConfigData, key: DigestKey | None) -> list[Setting]:
    """A client's settings as they may be written down, in the order sent."""
    return [redact(config, key, place) for place, config in enumerate(data.configs, 1)]


def config_record(
    context: RequestContext,
    received_ms: int,
    settings: Iterable[Setting],
    key: DigestKey | None,
    names: ClientNames,
    origin: Origin = Origin.PUSHED,
) -> Push:
    """A client's configuration as it may be written down, whatever showed it."""
    return Push(
        version=1,
        received_ms=received_ms,
        **recorded_client(context, names),
        instance_id=str(context.client_instance_id) if context.client_instance_id else None,
        origin=origin,
        digest_key_id=key.key_id if key else None,
        **compact(settings),
    )


def recorded_client(context: RequestContext, names: ClientNames) -> dict[str, Any]:
    """Where a client's request came in, and who it is, as it may be written down: fields that records of its requests share."""
    return {
        "cluster": context.cluster_id,
        "broker": context.broker_id,
        "gateway": context.gateway_id,
        "epoch": context.gateway_epoch,
        "connection": context.connection_id,
        "listener": context.listener_name,
        "security_protocol": context.security_protocol,
        "address": context.client_address,
        "principal": names("principal", context.principal),
        "principal_source": context.principal_source,
        "client_id": names("client_id", context.client_id),
        "software_name": names("software_name", context.software_name),
        "software_version": names("software_version", context.software_version),
    }


def _violation(hidden: list[tuple[str, Reason]]) -> str:
    """Names keys and reasons, never values (specs: "Numbers", sensitive keys in a push)."""
    named = ", ".join(f"{key} ({reason.replace('_', ' ')})" for key, reason in hidden)
    text = f"sensitive settings were pushed, and redacted by the gateway; exclude them in the client: {named}"
    return text if len(text) <= _MESSAGE_LIMIT else text[: _MESSAGE_LIMIT - 1] + "…"
