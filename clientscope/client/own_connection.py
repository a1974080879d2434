"""`push`: the settings of a client of any library, over connections of their own.

The connections are kafka-python's with the handshake in them, as its own clients have; `Handshake` decides what is sent, retried and
abandoned.  This module decides which node is asked.
"""

from __future__ import annotations

import functools
import logging
import random
import re
import threading
import time
import traceback
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any

import kafka
import kafka.errors
from kafka.future import Future as LoopFuture
from kafka.net.compat import KafkaNetClient

from clientscope.catalog.configs import DEFAULT_KEYS, ClientType
from clientscope.catalog.dialects import dialect as dialect_of
from clientscope.client.connection import is_final, net_client, said
from clientscope.client.handshake import Handshake, PushOutcome, backoff, log
from clientscope.client.settings import Collected, collect, collect_dialect, flat, milliseconds, push_enabled, split_keys
from clientscope.errors import ClientscopeError, EnvironmentProblem, SettingsError

CONNECTION_SETUP_MS = 10_000
"""How long one node has to take the connection and its credentials: ``socket.connection.setup.timeout.ms``."""

ROUNDS = backoff(initial_ms=250, max_ms=5000)
"""Pauses between two rounds of all nodes."""

_LOST_AUTHENTICATING = 3
"""kafka-python drops what came together with a connection's end, so a broker that refuses credentials and closes may look like one that
only closed.  After so many of these the credentials are taken for wrong: they must not be tried for ever, or the account gets locked."""


_PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")


def push(
    settings: Mapping[str, Any],
    *,
    dialect: str,
    bootstrap_servers: str | Sequence[str],
    client_type: str = "",
    client_id: str | None = None,
    software: tuple[str, str] = ("", "unknown"),
    allowed_keys: str | Iterable[str] | None = None,
    default_api_timeout_ms: float = 60_000,
    **connection: Any,
) -> Future[uuid.UUID | None]:
    """Pushes a client's settings once, in a daemon thread: call it when the application starts, beside making the client itself.

    Returns at once, raises nothing, and the client works as without it.  A failure is the future's exception, and one warning of the
    logger ``clientscope.client``; without a gateway there, it is no more than a message at INFO.

    Args:
        settings: as the client's library takes them.  Secrets among them are never pushed, and are not used to connect.
        dialect: the library: one of `clientscope.catalog.dialects.DIALECTS`.
        bootstrap_servers: where the client connects, which leads to a gateway.
        client_type: ``producer``, ``consumer``, ``share-consumer``, ``admin`` or ``streams``; by default what the settings look like.
        client_id: of the client's connections; by default the settings' or the library's.  Together with principal and address it says
            whose connections the settings are of.
        software: the library's name (by default the dialect's) and version, as its connections announce them (KIP-511); the version
            decides about defaults.
        allowed_keys: the keys to push; by default ``config.push.allowed.keys`` among the settings, or KIP-1324's own list.
        default_api_timeout_ms: when to stop trying.
        connection: how to be let in, as kafka-python's clients take it: ``security_protocol``, ``sasl_mechanism``,
            ``sasl_plain_username``, ``sasl_plain_password``, ``sasl_oauth_token_provider``, ``ssl_context``, ``ssl_cafile`` and so on.

    Returns:
        The push's ClientInstanceId; None if the settings have ``enable.config.push=false``.
    """
    future: Future[uuid.UUID | None] = Future()
    future.set_running_or_notify_cancel()  # so that nobody can cancel it

    def run() -> None:
        try:
            timeout_ms = milliseconds("default_api_timeout_ms", default_api_timeout_ms, 60_000)
            if not push_enabled(settings):
                future.set_result(None)
                return
            client = DeclaredClient(settings, dialect, client_type, client_id, software, allowed_keys)
            if held_back := client.collected.sensitive:
                log.warning("not pushed, as they are sensitive: %s", ", ".join(map(ascii, held_back)))
            future.set_result(client.push({**connection, "bootstrap_servers": bootstrap_servers}, timeout_ms / 1000))
        except Exception as error:
            if isinstance(error, SettingsError) or not isinstance(error, ClientscopeError):  # of others the handshake has told
                log.debug("push", exc_info=error)
                log.warning("configuration not pushed, the client continues without: %s", said(error))
            future.set_exception(error)

    threading.Thread(target=run, name="clientscope-push", daemon=True).start()
    return future


class DeclaredClient:
    """A client of which the settings are known, and what of them would be pushed.

    Attributes:
        collected: the entries to push, and the keys that are held back.

    Raises:
        SettingsError: the library is unknown, or has no such client.
    """

    def __init__(
        self,
        settings: Mapping[str, Any],
        dialect: str,
        client_type: str = "",
        client_id: str | None = None,
        software: tuple[str, str] = ("", "unknown"),
        allowed_keys: str | Iterable[str] | None = None,
    ) -> None:
        library = dialect_of(dialect)
        settings = flat(settings)
        if client_id is not None:
            settings["client.id"] = client_id
        types = {each.value: each for each in library.defaults}
        self.client_type = client_type or _type_of({library.kafka_name(name, ClientType.CONSUMER) for name in settings})
        if self.client_type not in types:
            raise SettingsError(f"{library.name} has no {self.client_type} client", f"the type of client may be {', '.join(types)}")
        self.software = software[0] or library.software[0], software[1]
        known = types[self.client_type]
        keys = None if allowed_keys is None else split_keys(allowed_keys)
        self.collected = collect_dialect(dialect, known, settings, keys, self.software[1])
        names = {library.kafka_name(name, known): value for name, value in settings.items() if value is not None}
        self.client_id = str(names.get("client.id") or library.defaults_of(known, self.software[1]).get("client.id") or "")

    def push(self, connection: Mapping[str, Any], timeout_s: float) -> uuid.UUID:
        """Pushes, and closes the connection; blocks for at most ``timeout_s``, name resolution and a token provider's own work apart.

        Nodes are tried in random order, the bootstrap servers first, until one takes it: where those that were met don't advertise
        PushConfig, the cluster's other brokers too.  While no node can be reached, all are tried again, with pauses from 0.25 s to 5 s.

        Args:
            connection: kafka-python's arguments.

        Returns:
            The ClientInstanceId.

        Raises:
            SettingsError: an argument is unknown, or nothing is left that may be pushed.
            EnvironmentProblem: no broker here advertises PushConfig, or none was reached in time.
            ClientscopeError: the push was refused.
        """
        if not self.collected.entries:
            raise SettingsError("no setting is left that may be pushed", "name keys in config.push.allowed.keys that Kafka's clients have")
        unknown = sorted(connection.keys() - kafka.KafkaAdminClient.DEFAULT_CONFIG.keys())
        if unknown:
            raise SettingsError(f"{unknown[0][:64]!a} is no argument of a connection", "they are named as kafka-python's clients name them")
        if connection.get("security_protocol", "PLAINTEXT") not in _PROTOCOLS:  # kafka-python takes any other word for PLAINTEXT
            raise SettingsError(f"security_protocol must be one of {', '.join(_PROTOCOLS)}", "set it to one of them, in capitals")
        # A character that brokers refuse becomes a dash, as in librdkafka.
        name, version = (re.sub(r"[^a-zA-Z0-9.-]", "-", text).strip(".-") for text in self.software)
        identity = {"client_id": self.client_id, "client_software_name": name, "client_software_version": version}
        return _OwnConnectionPush(self.collected, {**connection, **identity}, timeout_s).run()


def _type_of(kafka_names: set[str]) -> str:
    for client_type, key in ((ClientType.STREAMS, "application.id"), (ClientType.CONSUMER, "group.id")):
        if key in kafka_names:
            return client_type.value
    return ClientType.PRODUCER.value


class _OwnConnectionPush:
    def __init__(self, collected: Collected, connection: Mapping[str, Any], timeout_s: float) -> None:
        self._settings = connection
        self._handshake = Handshake(timeout_s, backoff())
        self._handshake.configure(collected.entries)
        self._timeout_s = timeout_s
        self._ended = LoopFuture()
        self._last_error = ""
        self._lost_authenticating = 0

    def run(self) -> uuid.UUID:
        deadline = time.monotonic() + self._timeout_s
        client = net_client(self._handshake, for_push_alone=True, **self._settings)
        try:
            client._manager.call_soon(self._rounds, client._manager, deadline).add_both(self._end)
            with _no_credentials_in_logs():
                client._net.poll(timeout_ms=self._timeout_s * 1000, future=self._ended)
        finally:
            self._end(None)  # what closing wakes up is no cause of anything
            client.close()
        if not_advertised := self._ended.value:
            raise EnvironmentProblem(
                f"no broker here supports PushConfig: {not_advertised}",
                "the bootstrap servers must lead to a gateway: clientscope gateway, in front of each broker",
            )
        self._handshake.expire(self._last_error)
        if self._handshake.outcome is PushOutcome.REFUSED:
            raise ClientscopeError(f"the push was refused: {self._handshake.detail}", "clientscope push --dry-run shows what is pushed")
        if self._handshake.outcome is PushOutcome.FAILED:
            raise EnvironmentProblem(f"not pushed: {self._handshake.detail}", "check the addresses and the security settings")
        return self._handshake.client_instance_id

    def _end(self, value: Any) -> None:
        """The first of these counts: the end of `_rounds`, with any outcome, or the deadline."""
        if self._ended.is_done:
            return
        if isinstance(value, Exception):
            log.debug("push", exc_info=value)
            self._handshake.give_up(said(value))
        self._ended.success(value if isinstance(value, str) else None)

    async def _rounds(self, manager: Any, deadline: float) -> str | None:
        """Goes round the nodes until the handshake has ended; returns why, if none of them advertises PushConfig."""
        retry = 0
        while True:
            met, advertised = await self._round(manager, deadline)
            if self._ended.is_done or self._handshake.done:
                return None
            if met and not advertised:
                detail = f"none of the {met} nodes that answered advertises PushConfig"
                log.info("configuration not pushed: %s", detail)
                return detail
            delay = max(ROUNDS.seconds(retry) if not met else 0.0, self._handshake.not_before - time.monotonic())
            await manager._net.sleep(delay)
            retry += 1

    async def _round(self, manager: Any, deadline: float) -> tuple[int, bool]:
        """Meets nodes until one advertises PushConfig; how many were met, and whether one advertised it."""
        waiting = _shuffled(manager.cluster.bootstrap_brokers())
        asked: set[tuple[str, int]] = set()
        met = 0
        while waiting:
            node = waiting.pop()
            if (node.host, node.port) in asked:
                continue
            asked.add((node.host, node.port))
            reached, advertised = await self._meet(manager, node, deadline)
            met += reached
            if self._ended.is_done or self._handshake.done or advertised:
                return met, advertised
            waiting += _shuffled(manager.cluster.brokers())
        return met, False

    async def _meet(self, manager: Any, node: Any, deadline: float) -> tuple[bool, bool]:
        """One connection to one node, on which the handshake takes its turn; whether it was reached, and advertises PushConfig."""
        manager.reset_backoff(node.node_id)  # the pauses are ours
        manager.broker_version_data = None  # each node is asked for itself
        timeout_ms = min(CONNECTION_SETUP_MS, max(1.0, (deadline - time.monotonic()) * 1000))
        connection = manager.get_connection(node.node_id, timeout_ms=timeout_ms, refresh_metadata_on_err=False)
        try:
            await connection
        except Exception as error:
            if self._ended.is_done:
                _drop_frames(error)
                return False, False
            self._last_error = said(error)
            if connection.sasl_enabled and connection.broker_version_data is not None:  # ApiVersions was answered
                self._lost_authenticating += 1
            if is_final(error):
                self._handshake.give_up(self._last_error)
            elif self._lost_authenticating >= _LOST_AUTHENTICATING:
                why = f"{self._lost_authenticating} connections were lost during authentication, as with wrong credentials, the last by "
                self._handshake.give_up(why + self._last_error)
            _drop_frames(error)
            return False, False
        else:
            if not connection.advertised:
                await self._learn_brokers(manager, node)
            return True, connection.advertised
        finally:
            connection.close()

    async def _learn_brokers(self, manager: Any, node: Any) -> None:
        try:
            await manager.cluster.refresh_metadata(node.node_id)
        except kafka.errors.KafkaError as error:
            self._last_error = said(error)


@contextmanager
def _no_credentials_in_logs() -> Iterator[None]:
    """kafka-python logs whole requests at DEBUG, passwords among them, into the log of an application that never chose kafka-python.

    Only what this thread logs is left out.
    """
    here = threading.get_ident()

    def is_harmless(record: logging.LogRecord) -> bool:
        return record.thread != here or record.levelno > logging.DEBUG

    loggers = [logging.getLogger(name) for name in ("kafka.net.connection", "kafka.protocol.parser")]
    for logger in loggers:
        logger.addFilter(is_harmless)
    try:
        yield
    finally:
        for logger in loggers:
            logger.removeFilter(is_harmless)


def _shuffled(nodes: Any) -> list[Any]:
    found = list(nodes)
    random.shuffle(found)
    return found


def _drop_frames(error: BaseException | None) -> None:
    """kafka-python doesn't close the socket of a connection that was refused, or whose TLS failed: only these frames hold it."""
    while error is not None:
        traceback.clear_frames(error.__traceback__)
        error = error.__context__


# Arguments of a pushing kafka-python client: takes clientscope's settings out, and puts ``kafka_client`` in.

SETTINGS: dict[str, Any] = {
    "enable_config_push": True,
    "config_push_allowed_keys": None,
    "retry_backoff_max_ms": 1000,
    "default_api_timeout_ms": 60_000,
}
"""Settings of the push, with their defaults."""


class Pushing:
    """A mixin for kafka-python's clients; a class with it calls `_prepare` in ``__init__``."""

    _handshake: Handshake | None = None
    config: Mapping[str, Any] = {}
    """kafka-python's producer names itself by it at its end, even where it was never made."""

    def _prepare(self, client_type: ClientType, configs: dict[str, Any]) -> dict[str, Any]:
        """The arguments for kafka-python's own ``__init__``.

        Raises:
            SettingsError: a setting of ours is invalid.
        """
        ours = {name: configs.get(name, default) for name, default in SETTINGS.items()}
        if ours["config_push_allowed_keys"] is not None:
            ours["config_push_allowed_keys"] = split_keys(ours["config_push_allowed_keys"], "config_push_allowed_keys")
        timeout_ms = milliseconds("default_api_timeout_ms", ours["default_api_timeout_ms"], SETTINGS["default_api_timeout_ms"])
        backoff_max_ms = milliseconds("retry_backoff_max_ms", ours["retry_backoff_max_ms"], SETTINGS["retry_backoff_max_ms"], least=0)
        backoff_ms = milliseconds("retry_backoff_ms", configs.get("retry_backoff_ms", 100), 100, least=0)
        embedded = configs.get("embedded", False)
        kafkas = {name: value for name, value in configs.items() if name not in SETTINGS and name != "embedded"}
        if not isinstance(enabled := ours["enable_config_push"], bool):  # a text such as "false" would be true
            raise SettingsError(
                f"enable_config_push must be True or False (got {ascii(enabled)[:40]})", "set enable_config_push to one of them"
            )
        if not isinstance(embedded, bool | uuid.UUID):
            raise SettingsError(f"embedded is {embedded!r}", "it is True, False, or the client_instance_id of the application's own client")
        if not enabled or embedded is True:
            return kafkas
        if "kafka_client" in kafkas:
            log.warning("kafka_client is set, so the configuration is not pushed")
            return kafkas
        self._handshake = handshake = Handshake(timeout_ms / 1000, backoff(backoff_ms, backoff_max_ms), embedded or None)
        if embedded:
            return {**kafkas, "kafka_client": functools.partial(net_client, handshake)}
        make = functools.partial(_net_client, handshake, client_type, ours, frozenset(configs))
        return {**kafkas, "kafka_client": make}

    @property
    def client_instance_id(self) -> uuid.UUID | None:
        """What this client says it is, on all its connections; None if it says nothing."""
        return self._handshake.client_instance_id if self._handshake else None


def _net_client(
    handshake: Handshake, client_type: ClientType, ours: Mapping[str, Any], set_by_user: frozenset[str], **configs: Any
) -> KafkaNetClient:
    # Called by kafka-python with the whole configuration, its defaults included.
    keys = ours["config_push_allowed_keys"]
    collected = collect(client_type, {**configs, **ours}, set_by_user, DEFAULT_KEYS[client_type] if keys is None else keys)
    if collected.sensitive:
        log.warning("not pushed, as they are sensitive: %s", ", ".join(map(ascii, collected.sensitive)))
    handshake.configure(collected.entries)
    return net_client(handshake, **configs)
