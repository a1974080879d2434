"""aiokafka's clients with the client's half of KIP-1324.

They are aiokafka's own classes and take its arguments.  ``start()`` pushes the configuration first, once, over its own connection, with
the client's security settings, its ``client_id``, and its real software name and version.  All connections of the client send that software
and the push's ClientInstanceId too, which aiokafka itself doesn't send.  ``start()`` waits until the push has ended or no broker could be
reached, for at most two seconds.  Then the push is retried in a thread of its own for ``default_api_timeout_ms``, and the client starts as
without a push.  A failure is logged by the logger ``clientscope.client``.

Three more arguments:

- ``enable_config_push`` (default True): False pushes nothing.
- ``config_push_allowed_keys``: the keys to push instead of KIP-1324's default ones, by Kafka's names, as a list or as text with commas
  between.
- ``default_api_timeout_ms`` (default 60000): when to stop trying.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Mapping
from typing import Any

from clientscope.catalog.configs import ClientType
from clientscope.client.other_clients import BackgroundPush, InstanceId, disabled, prepare, push_timeout_s, warn
from clientscope.client.push import OwnConnectionPush, PushResult
from clientscope.client.settings import is_enabled
from clientscope.errors import ClientscopeError, EnvironmentProblem

try:
    import aiokafka
    import aiokafka.admin
except ImportError:
    raise EnvironmentProblem("aiokafka is not installed", "pip install aiokafka") from None

from clientscope.client.aiokafka_identity import identify

__all__ = ["AIOKafkaAdminClient", "AIOKafkaConsumer", "AIOKafkaProducer", "push_config"]

_ENABLE, _KEYS, _TIMEOUT = "enable_config_push", "config_push_allowed_keys", "default_api_timeout_ms"
_OURS = frozenset({_ENABLE, _KEYS, _TIMEOUT})
_SOFTWARE = ("aiokafka", aiokafka.__version__)


async def push_config(
    conf: Mapping[str, Any],
    client_type: ClientType | str,
    bootstrap_servers: str | list[str] | None = None,
    *,
    client_instance_id: uuid.UUID | None = None,
    timeout_s: float = 60.0,
) -> PushResult:
    """Pushes the arguments of a client of aiokafka's once, over a connection of its own, and waits for it; cancelling this cancels the
    push.

    Args:
        conf: arguments as aiokafka's clients take them, those above among them.
        client_type: "producer", "consumer" or "admin".
        bootstrap_servers: instead of those in ``conf``.
        client_instance_id: a new UUIDv4 where it isn't given.
        timeout_s: the longest that this waits.

    Raises:
        ClientscopeError: what can't be taken over of the arguments.  Nothing is raised for what the network or the broker does.
    """
    push_timeout_s(_TIMEOUT, _KEYS, conf)
    if not is_enabled(_ENABLE, conf.get(_ENABLE, True)):
        return disabled(_ENABLE, client_instance_id)
    push = _prepare(conf, ClientType(client_type), client_instance_id, timeout_s, bootstrap_servers=bootstrap_servers)
    result = await BackgroundPush(lambda: push).result()
    assert result is not None, "it was made already"
    return result


def _prepare(
    conf: Mapping[str, Any], client_type: ClientType, client_instance_id: uuid.UUID | None, timeout_s: float, **more: Any
) -> OwnConnectionPush:
    return prepare("aiokafka", client_type, conf, _SOFTWARE, client_instance_id=client_instance_id, timeout_s=timeout_s, **more)


class _Pushing:
    """Takes our arguments out, and pushes before the client starts."""

    _client_type: ClientType

    def __init__(self, *topics: str, **conf: Any) -> None:
        self._conf = conf
        self._instance = InstanceId() if is_enabled(_ENABLE, conf.get(_ENABLE, True)) else None
        self._push_timeout_s = push_timeout_s(_TIMEOUT, _KEYS, conf)
        self._pushing: BackgroundPush | None = None
        super().__init__(*topics, **{key: value for key, value in conf.items() if key not in _OURS})
        if (instance := self._instance) is not None:
            identify(self._own_client, _SOFTWARE, lambda: instance.value)

    @property
    def client_instance_id(self) -> uuid.UUID | None:
        """What this client says it is, on its push and on all its connections; None if ``enable_config_push`` is False."""
        return self._instance.value if self._instance else None

    @property
    def _own_client(self) -> Any:
        return getattr(self, "client", None) or getattr(self, "_client", None)

    async def start(self) -> None:
        """Pushes, and starts as aiokafka's own does."""
        if self._instance is not None and self._pushing is None:
            await self._push(self._instance.value)
        await super().start()  # type: ignore[misc]

    async def _push(self, client_instance_id: uuid.UUID) -> None:
        try:
            push = _prepare(self._conf, self._client_type, client_instance_id, self._push_timeout_s, client_id=self._own_client._client_id)
        except ClientscopeError as error:
            warn(error)
            return
        self._pushing = BackgroundPush(lambda: push)
        try:
            await self._pushing.wait_async()
        except asyncio.CancelledError:
            self._pushing = None  # the client may be started again
            raise

    def _cancel_push(self) -> None:
        if self._pushing is not None:
            self._pushing.cancel()


class AIOKafkaProducer(_Pushing, aiokafka.AIOKafkaProducer):
    """`aiokafka.AIOKafkaProducer` that pushes its configuration."""

    _client_type = ClientType.PRODUCER

    async def stop(self) -> None:
        """Stops as aiokafka's own does; a push that is still under way ends."""
        self._cancel_push()
        await super().stop()


class AIOKafkaConsumer(_Pushing, aiokafka.AIOKafkaConsumer):
    """`aiokafka.AIOKafkaConsumer` that pushes its configuration."""

    _client_type = ClientType.CONSUMER

    async def stop(self) -> None:
        """Stops as aiokafka's own does; a push that is still under way ends."""
        self._cancel_push()
        await super().stop()


class AIOKafkaAdminClient(_Pushing, aiokafka.admin.AIOKafkaAdminClient):
    """`aiokafka.admin.AIOKafkaAdminClient` that pushes its configuration."""

    _client_type = ClientType.ADMIN

    async def close(self) -> None:
        """Closes as aiokafka's own does; a push that is still under way ends."""
        self._cancel_push()
        await super().close()
