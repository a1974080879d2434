"""ClientConfigPolicy (KIP-1324), the gateway's public plug-in interface."""

from __future__ import annotations

import uuid
from abc import ABC, abstractmethod
from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class ClientConfig:
    """One pushed setting, as pushed: not yet redacted.

    Attributes:
        type: ordinal of Kafka's ConfigDef.Type, 0 to 8.
        is_default: true where the client's user set nothing.
    """

    key: str
    value: str
    type: int
    is_default: bool

    def __repr__(self) -> str:
        # A policy's log line must not become the leak.
        return f"ClientConfig({self.key!r}, {len(self.value)} characters, type={self.type}, is_default={self.is_default})"


@dataclass(frozen=True)
class ClientConfigData:
    """What a PushConfig request says.

    Attributes:
        configs: in the order sent.
        timestamp_ms: when the gateway received it, in ms since the epoch, UTC.
    """

    configs: tuple[ClientConfig, ...]
    timestamp_ms: int


@dataclass(frozen=True)
class RequestContext:
    """Who pushes: Kafka's AuthorizableRequestContext, and the gateway's place.

    Attributes:
        connection_id: unique within (gateway_id, gateway_epoch).
        client_id: client.id; hostile, like all strings that a client chose.
        software_name, software_version: KIP-511's; ``unknown`` until said.
        client_instance_id: KIP-1324's; None where the client sent none.
        principal: None where the wire does not show it.
    """

    cluster_id: str
    broker_id: int
    gateway_id: str
    gateway_epoch: int
    connection_id: int
    listener_name: str
    security_protocol: str
    client_address: str
    principal: str | None
    principal_source: int
    client_id: str | None
    software_name: str
    software_version: str
    client_instance_id: uuid.UUID | None


class ClientConfigPolicy(ABC):
    """Gets each PushConfig request that the gateway takes.

    Lifecycle: made without arguments; `configure` once; `process` any number of times; `close` once, also after a failed
    `configure`.
    Threads: all of these are called from one thread, never the one that moves clients' bytes; one policy is never in two calls
    at once.
    Blocking: `process` should not block: the next push waits behind it, its client is answered after 100 ms whatever it does,
    and pushes that find 1,000 others waiting are sent away with THROTTLING_QUOTA_EXCEEDED. Clients' own traffic never waits.
    """

    @abstractmethod
    def configure(self, configs: Mapping[str, Any]) -> None:
        """Takes the gateway's settings, in Kafka's spelling, and ``clientscope.publish``, see `publishing`.

        Raises:
            SettingsError: the gateway doesn't start.
        """

    @abstractmethod
    def process(self, context: RequestContext, data: ClientConfigData) -> Future[None] | None:
        """Takes one push.

        Not called for a request that is larger than ``client.config.max.bytes``, or malformed.

        Returns:
            None, or a future: the client's answer waits for it, 100 ms at most.

        Raises:
            InvalidConfigException: the client is answered INVALID_CONFIG, with the exception's text as ErrorMessage.
            Exception: any other is logged and counted, and the client is answered UNKNOWN_SERVER_ERROR.
        """

    @abstractmethod
    def close(self) -> None:
        """Lets go of what it holds."""
