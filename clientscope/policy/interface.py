"""Interface ClientConfigPolicy (KIP-1324), the gateway's public plug-in interface."""

from __future__ import annotations

import uuid
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from clientscope.catalog.config_values import Value, parse
from clientscope.catalog.sensitive import shown_key
from clientscope.errors import SettingsError
from clientscope.model.client_key import client_key
from clientscope.model.enums import PrincipalSource
from clientscope.wire.codes import PUSH_CONFIG

CLIENT_CONFIG_POLICY_CLASS_NAME_DEFAULT: str | None = None
"""KIP-1324's default of ``client.config.policy.class.name``: without a policy PushConfig isn't advertised, and goes upstream like
any key that the gateway doesn't know.  The command ``clientscope gateway`` has a default of its own, the policy that publishes."""


@dataclass(frozen=True)
class ClientConfig:
    """One pushed setting, as pushed: not yet redacted.

    Attributes:
        value: as it was sent, a text; `typed` has it as its type.
        type: ordinal of Kafka's ConfigDef.Type, 0 to 8.
        is_default: true where the client's user set nothing.
    """

    key: str
    value: str
    type: int
    is_default: bool

    @property
    def typed(self) -> Value:
        """The value as Kafka's ConfigDef.parseType makes it of `type`; where `parses` is false, the text as it was sent.

        BOOLEAN is a bool; INT, SHORT and LONG are an int within their range; DOUBLE is a float; LIST is a tuple of texts; STRING, CLASS
        (its name) and PASSWORD are a text without white space around it.
        """
        try:
            return parse(self.value, self.type)
        except ValueError:
            return self.value

    @property
    def parses(self) -> bool:
        """Whether the value is one of its type: what a client pushes may be anything."""
        try:
            parse(self.value, self.type)
        except ValueError:
            return False
        return True

    def __repr__(self) -> str:
        # A policy's log line must not become the leak.
        return f"ClientConfig({shown_key(self.key)!r}, {len(self.value)} characters, type={self.type}, is_default={self.is_default})"


@dataclass(frozen=True)
class ClientConfigData:
    """What a PushConfig request says.

    Attributes:
        configs: in the order sent.
        timestamp_ms: when the gateway read the request, in ms since the epoch, UTC.
    """

    configs: tuple[ClientConfig, ...]
    timestamp_ms: int


@dataclass(frozen=True)
class RequestContext:
    """The client that pushes: Kafka's AuthorizableRequestContext, and the gateway's place.

    Attributes:
        connection_id: unique within (gateway_id, gateway_epoch).
        client_id: client.id; hostile, like all strings that a client chose.
        software_name, software_version: KIP-511's; ``unknown`` until said.
        client_instance_id: KIP-1324's; None where the client sent none.  Chosen by the client, so `client_key` identifies clients.
        principal: Kafka's spelling, ``User:name``; ``User:ANONYMOUS`` without authentication; None if the protocol doesn't show it.
        request_type, request_version, correlation_id: of the request's header: PushConfig's api key and version, and the client's own id.
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
    principal_source: PrincipalSource
    client_id: str | None
    software_name: str
    software_version: str
    client_instance_id: uuid.UUID | None
    request_type: int = PUSH_CONFIG
    request_version: int = 0
    correlation_id: int = 0

    @property
    def client_key(self) -> str:
        """Which client it is: an instance id alone may be another principal's."""
        return client_key(
            self.cluster_id,
            self.principal,
            self.client_address,
            self.client_instance_id,
            self.gateway_id,
            self.gateway_epoch,
            self.connection_id,
        )


class ClientConfigPolicy(ABC):
    """Gets each PushConfig request that the gateway takes (KIP-1324, with Kafka's ``Reconfigurable``).

    Lifecycle: its module is imported in a process that it shares with nothing else of the gateway.  There it is made without
    arguments; `configure` once; `process` any number of times, `validate_reconfiguration` and `reconfigure` between them; `close`
    once, unless its process was killed or died.  A new process then does all of it again, from the import on: what must outlive
    that is kept elsewhere.
    Threads: all of these are called from the main thread of the policy's process; it is never in two calls at once.  It may
    start threads of its own, and publish from them.
    Blocking: `process` should not block. Its client's answer waits for it, and 100 ms longer at most until Kafka has what it published. If
    it lasts longer than ``policy_deadline_ms`` (500 ms by default) its process is killed: its client is throttled for 30 s, and then pushes
    again; the pushes that waited behind it go to a new process. A push that it doesn't come to within that time is answered as success, and
    processed in its turn; a refusal then comes too late, and is counted (``pushes_rejected_late``).
    Pushes that find 1,000 others waiting are sent away with
    THROTTLING_QUOTA_EXCEEDED.  Clients' own traffic never waits.
    Death: a process that ends by itself, or by more memory than ``policy_memory_bytes``, is the same as one that was killed.
    After five such ends in a row, by pushes of different clients, no push is handed to the policy for 30 s; each is answered
    THROTTLING_QUOTA_EXCEEDED, so that its client tries again.
    """

    @abstractmethod
    def configure(self, configs: Mapping[str, Any]) -> None:
        """Takes the settings of ``[gateway.policy]``, ``clientscope.publish``, see `publishing`, and the gateway's own.

        These are all that aren't secret: ``client.config.max.bytes`` and ``client.config.policy.class.name`` as KIP-1324 has them, each
        other one like ``clientscope.max.connections``.

        Raises:
            SettingsError: the gateway doesn't start, and says this text.
            Exception: the gateway doesn't start; only the exception's type and place are shown, since its text may quote a secret.
        """

    @abstractmethod
    def process(self, context: RequestContext, data: ClientConfigData) -> None:
        """Takes one push.

        Not called for a request that is larger than ``client.config.max.bytes``, or malformed, or over a quota. Where what it publishes
        is lost within 100 ms, the client is to try again.

        Raises:
            InvalidConfigException: the client is answered INVALID_CONFIG, with the exception's text as ErrorMessage.
            Exception: any other is logged by its type and counted, and the client is answered UNKNOWN_SERVER_ERROR.
        """

    @abstractmethod
    def close(self) -> None:
        """Lets go of what it holds; the process ends after it, without running ``atexit``."""

    def reconfigurable_configs(self) -> frozenset[str]:
        """The keys that may change while it runs; none by default."""
        return frozenset()

    def validate_reconfiguration(self, configs: Mapping[str, Any]) -> None:  # noqa: B027  agreeing is a fit default
        """Judges new settings before `reconfigure` gets them; changes nothing.

        Args:
            configs: all settings, as `configure` gets them, of which only `reconfigurable_configs` differ from the present ones, and
                what the gateway changes of its own.

        Raises:
            SettingsError: the present ones stay, and the gateway logs this text.
            Exception: the present ones stay; only the exception's type and place are logged.
        """

    def reconfigure(self, configs: Mapping[str, Any]) -> None:
        """Takes new settings that `validate_reconfiguration` found right.

        Raises:
            Exception: the policy's process is started anew with the settings it had.
        """
        raise SettingsError(f"{type(self).__name__} can't be reconfigured while it runs", "start the gateway again")
