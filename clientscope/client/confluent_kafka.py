"""confluent-kafka's clients with the client's half of KIP-1324, for librdkafka, which has none.

They are confluent-kafka's own classes and take its configuration.  A thread that the constructor starts pushes the configuration over a
connection of its own, once, with the client's security settings, its ``client.id``, and the software name and version that librdkafka
sends.  The constructor doesn't wait for the push (KIP-1324, "Blocking Behavior").  The first call that uses Kafka waits until the push has
ended or no broker could be reached, for at most two seconds.  So a dead broker blocks no application: the push is retried in its thread for
``default.api.timeout.ms`` while the client works.  A failure is logged by the logger ``clientscope.client``.

Three more settings, which librdkafka doesn't see:

- ``enable.config.push`` (default true): false pushes nothing.
- ``config.push.allowed.keys``: the keys to push instead of KIP-1324's default ones, by Kafka's names, as a list or with commas between.
- ``default.api.timeout.ms`` (default 60000): when to stop trying.

With OAUTHBEARER ``oauth_cb`` is called once more, in the push's thread.
"""

from __future__ import annotations

import functools
import uuid
from collections.abc import Mapping
from typing import Any

from clientscope.catalog.configs import ClientType
from clientscope.client.other_clients import BackgroundPush, InstanceId, disabled, prepare, push_timeout_s
from clientscope.client.push import OwnConnectionPush, PushResult
from clientscope.client.settings import is_enabled
from clientscope.errors import EnvironmentProblem

try:
    import confluent_kafka
    import confluent_kafka.admin
except ImportError:
    raise EnvironmentProblem("confluent-kafka is not installed", "pip install confluent-kafka") from None

__all__ = ["AdminClient", "Consumer", "DeserializingConsumer", "Producer", "SerializingProducer", "push_config"]

_ENABLE, _KEYS, _TIMEOUT = "enable.config.push", "config.push.allowed.keys", "default.api.timeout.ms"
_OURS = frozenset({_ENABLE, _KEYS, _TIMEOUT})


def push_config(
    conf: Mapping[str, Any],
    client_type: ClientType | str,
    bootstrap_servers: str | None = None,
    *,
    client_instance_id: uuid.UUID | None = None,
    timeout_s: float = 60.0,
) -> PushResult:
    """Pushes a configuration of librdkafka's once, over a connection of its own, and waits for it.

    Args:
        conf: as confluent-kafka takes it, the settings above among it.
        client_type: "producer", "consumer", "share-consumer" or "admin".
        bootstrap_servers: instead of those in ``conf``.
        client_instance_id: a new UUIDv4 where it isn't given.
        timeout_s: the longest that this blocks.

    Raises:
        ClientscopeError: what can't be taken over of the configuration.  Nothing is raised for what the network or the broker does.
    """
    push_timeout_s(_TIMEOUT, _KEYS, conf)
    if not is_enabled(_ENABLE, conf.get(_ENABLE, True)):
        return disabled(_ENABLE, client_instance_id)
    return _prepare(conf, ClientType(client_type), client_instance_id, timeout_s, bootstrap_servers).run()


def _prepare(
    conf: Mapping[str, Any],
    client_type: ClientType,
    client_instance_id: uuid.UUID | None,
    timeout_s: float,
    bootstrap_servers: str | None = None,
) -> OwnConnectionPush:
    return prepare(
        "librdkafka",
        client_type,
        conf,
        _software(conf),
        dialect_version=_text(confluent_kafka.libversion()),
        bootstrap_servers=bootstrap_servers,
        client_instance_id=client_instance_id,
        timeout_s=timeout_s,
    )


def _software(conf: Mapping[str, Any]) -> tuple[str, str]:
    """What librdkafka says in its own ApiVersions requests."""
    version = f"{_text(confluent_kafka.version())}-rdkafka-{_text(confluent_kafka.libversion())}"
    return str(conf.get("client.software.name", "confluent-kafka-python")), str(conf.get("client.software.version", version))


def _text(version: Any) -> str:
    return str(version if isinstance(version, str) else version[0])


class _Pushing:
    """Takes our settings out of the configuration, and starts the push once the client is made.

    Until the first use the client is of a class below its own, whose methods wait: afterwards, and without a push, each call costs what
    it costs in confluent-kafka.
    """

    _client_type: ClientType
    _first_uses: tuple[str, ...]
    """Methods that have Kafka do something; the others need one of these before them."""
    _instance: InstanceId | None = None
    _pushing: BackgroundPush | None = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        # conf is the first argument, or comes by its name; settings may also come as keyword arguments of their own.
        given = (*args[:1], kwargs.get("conf"), {key: value for key, value in kwargs.items() if key != "conf"})
        conf = {key: value for some in given if isinstance(some, Mapping) for key, value in some.items()}
        enabled = is_enabled(_ENABLE, conf.get(_ENABLE, True))
        seconds = push_timeout_s(_TIMEOUT, _KEYS, conf)
        without = {key: _without_ours(value) if key == "conf" else value for key, value in kwargs.items() if key not in _OURS}
        super().__init__(*map(_without_ours, args[:1]), *args[1:], **without)
        if enabled:
            self._instance = InstanceId()
            # No method of the client: its push must not keep it alive.
            self._pushing = BackgroundPush(functools.partial(_prepare, conf, self._client_type, self._instance.value, seconds))
            self._own_class = type(self)
            self.__class__ = _waiting(self._own_class)  # type: ignore[arg-type]  # mypy asks whether an instance can be hashed

    @property
    def client_instance_id(self) -> uuid.UUID | None:
        """What this client's push says it is; None if ``enable.config.push`` is false."""
        return self._instance.value if self._instance else None

    def _wait_for_push(self) -> None:
        assert self._pushing is not None
        self._pushing.wait()
        self.__class__ = self._own_class


@functools.cache
def _waiting(client_class: Any) -> Any:
    """A class whose methods wait for the push, and then are those of ``client_class``, which the client gets back."""

    def waiting(name: str) -> Any:
        def call(self: _Pushing, *args: Any, **kwargs: Any) -> Any:
            self._wait_for_push()
            return getattr(self, name)(*args, **kwargs)

        return functools.wraps(getattr(client_class, name))(call)

    methods = {name: waiting(name) for name in client_class._first_uses if hasattr(client_class, name)}  # they vary by releases
    names = {name: getattr(client_class, name) for name in ("__doc__", "__module__", "__qualname__")}
    return type(client_class.__name__, (client_class,), {**names, **methods})


def _without_ours(conf: Any) -> Any:
    return {key: value for key, value in conf.items() if key not in _OURS} if isinstance(conf, Mapping) else conf


class _Closing(_Pushing):
    def close(self, *args: Any, **kwargs: Any) -> Any:
        """Closes as confluent-kafka's own does; a push that is still under way ends."""
        if self._pushing is not None:
            self._pushing.cancel()
        return super().close(*args, **kwargs)  # type: ignore[misc]


_PRODUCING = ("produce", "produce_batch", "list_topics", "cluster_id", "init_transactions")
_CONSUMING = (
    "subscribe", "assign", "incremental_assign", "list_topics", "cluster_id", "committed", "commit", "get_watermark_offsets",
    "offsets_for_times",
)  # fmt: skip
_NOT_ADMINISTERING = ("poll", "set_sasl_credentials")


class Producer(_Closing, confluent_kafka.Producer):
    """`confluent_kafka.Producer` whose configuration is pushed."""

    _client_type = ClientType.PRODUCER
    _first_uses = _PRODUCING


class SerializingProducer(_Closing, confluent_kafka.SerializingProducer):
    """`confluent_kafka.SerializingProducer` whose configuration is pushed."""

    _client_type = ClientType.PRODUCER
    _first_uses = _PRODUCING


class Consumer(_Closing, confluent_kafka.Consumer):
    """`confluent_kafka.Consumer` whose configuration is pushed."""

    _client_type = ClientType.CONSUMER
    _first_uses = _CONSUMING


class DeserializingConsumer(_Closing, confluent_kafka.DeserializingConsumer):
    """`confluent_kafka.DeserializingConsumer` whose configuration is pushed."""

    _client_type = ClientType.CONSUMER
    _first_uses = _CONSUMING


class AdminClient(_Pushing, confluent_kafka.admin.AdminClient):
    """`confluent_kafka.admin.AdminClient` whose configuration is pushed."""

    _client_type = ClientType.ADMIN
    _first_uses = tuple(
        name for name in dir(confluent_kafka.admin.AdminClient) if not name.startswith("_") and name not in _NOT_ADMINISTERING
    )
