"""A push over connections of its own, for clients whose own connections can't carry one.

The connections are kafka-python's with the handshake in them, as its own clients have; `Handshake` decides what is sent, retried and
abandoned. Here is only which node is asked.
"""

from __future__ import annotations

import logging
import random
import re
import threading
import time
import traceback
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import kafka.errors
from kafka.future import Future

from clientscope.client.connection import net_client
from clientscope.client.failures import is_final, said
from clientscope.client.handshake import Handshake, PushOutcome, backoff, log
from clientscope.client.settings import Collected

__all__ = ["OwnConnectionPush", "PushOutcome", "PushResult", "push"]

CONNECTION_SETUP_MS = 10_000
"""How long one node has to take the connection and its credentials: ``socket.connection.setup.timeout.ms``."""

ROUNDS = backoff(initial_ms=250, max_ms=5000)
"""Pauses between two rounds of all nodes."""

_LOST_AUTHENTICATING = 3
"""kafka-python drops what came together with a connection's end, so a broker that refuses credentials and closes may look like one that
only closed.  After so many of these the credentials are taken for wrong: they must not be tried for ever, or the account gets locked."""


@dataclass(frozen=True)
class PushResult:
    """The outcome of one push.

    Attributes:
        detail: why, in words; empty where it was pushed.  Holds no secret.
        sensitive: the keys that were asked for and held back.
        client_instance_id: what its connections said they were.
    """

    outcome: PushOutcome
    detail: str
    sensitive: tuple[str, ...]
    client_instance_id: uuid.UUID


def push(
    entries: Collected,
    connection: Mapping[str, Any],
    software_name: str,
    software_version: str,
    *,
    client_instance_id: uuid.UUID | None = None,
    timeout_s: float = 60.0,
) -> PushResult:
    """Pushes, and closes the connection.

    Nodes are tried in random order, the bootstrap servers first, until one takes it: where those that were met don't advertise PushConfig,
    the cluster's other brokers too.  While no node can be reached, all are tried again, with pauses from 0.25 s to 5 s.

    Args:
        connection: kafka-python's arguments, as `connection_settings` makes them; ``retry_backoff_ms`` and ``retry_backoff_max_ms`` (100
            and 1000 where they aren't given) are the pauses between two attempts at one node.
        software_name, software_version: of the client that this is for (KIP-511).  A character that brokers refuse becomes ``-``, as in
            librdkafka, and characters that the ends may not have are stripped.
        client_instance_id: of the client that this is for; a new UUIDv4 where it isn't given.
        timeout_s: the longest that this blocks, name resolution and a token provider's own work apart.

    Returns:
        Its outcome.  Nothing is raised for what the network or the broker does; a failure is logged by ``clientscope.client``.
    """
    return OwnConnectionPush(
        entries, connection, software_name, software_version, client_instance_id=client_instance_id, timeout_s=timeout_s
    ).run()


class OwnConnectionPush:
    """`push` as an object, which another thread can cancel.

    Attributes:
        on_unreachable: called, in the thread of `run`, whenever no node could be reached.
    """

    def __init__(
        self,
        entries: Collected,
        connection: Mapping[str, Any],
        software_name: str,
        software_version: str,
        *,
        client_instance_id: uuid.UUID | None = None,
        timeout_s: float = 60.0,
    ) -> None:
        self._collected = entries
        software = {"client_software_name": _acceptable(software_name), "client_software_version": _acceptable(software_version)}
        self._settings = {**connection, **software}
        pauses = backoff(connection.get("retry_backoff_ms", 100), connection.get("retry_backoff_max_ms", 1000))
        self._handshake = Handshake(timeout_s, pauses, client_instance_id)
        self._handshake.configure(entries.entries)
        self._timeout_s = timeout_s
        self.on_unreachable: Callable[[], None] = lambda: None
        self._ended = Future()
        self._net: Any = None
        self._cancelled = False
        self._last_error = ""
        self._lost_authenticating = 0

    def run(self) -> PushResult:
        """Blocks until it has ended, at most ``timeout_s``.  Once."""
        if not self._collected.entries:
            detail = "no setting is left that may be pushed"
            log.info("configuration not pushed: %s", detail)
            return self._result(PushOutcome.NOTHING_TO_PUSH, detail)
        deadline = time.monotonic() + self._timeout_s
        client = net_client(self._handshake, for_push_alone=True, **self._settings)
        self._net = client._net
        try:
            if not self._cancelled:
                client._manager.call_soon(self._rounds, client._manager, deadline).add_both(self._end)
                with _no_credentials_in_logs():
                    self._net.poll(timeout_ms=self._timeout_s * 1000, future=self._ended)
        finally:
            self._end(None)  # what closing wakes up is no cause of anything
            client.close()
        outcome, detail = self._ended.value or (self._handshake.outcome, self._handshake.detail)
        if outcome is None:
            why = "the client was closed" if self._cancelled else f"timed out after {self._timeout_s:g} s"
            detail = f"{why}{self._last_error and '; the last error was '}{self._last_error}"
            self._handshake.give_up(detail)
            outcome = PushOutcome.FAILED
        return self._result(outcome, detail)

    def cancel(self) -> None:
        """Ends `run` soon; from any thread, and at any time."""
        self._cancelled = True
        if self._net is not None:
            try:
                self._net.call_soon_threadsafe(lambda: self._end(None))
            except RuntimeError:  # it has ended, and its loop is closed
                log.debug("push cancelled after its end")

    def _end(self, value: Any) -> None:
        """The first of these counts: the end of `_rounds`, with any outcome; `cancel`; or the deadline."""
        if self._ended.is_done:
            return
        if isinstance(value, Exception):
            log.debug("push", exc_info=value)
            self._handshake.give_up(said(value))
        self._ended.success(value if isinstance(value, tuple) else None)

    def _result(self, outcome: PushOutcome, detail: str) -> PushResult:
        return PushResult(outcome, detail, self._collected.sensitive, self._handshake.client_instance_id)

    async def _rounds(self, manager: Any, deadline: float) -> tuple[PushOutcome, str] | None:
        """Goes round the nodes until the handshake has ended; an outcome that only the nodes together make."""
        retry = 0
        while True:
            met, advertised = await self._round(manager, deadline)
            if self._ended.is_done or self._handshake.outcome is not None:
                return None
            if met and not advertised:
                detail = f"none of the {met} nodes that answered advertises PushConfig"
                log.info("configuration not pushed: %s", detail)
                return PushOutcome.NOT_ADVERTISED, detail
            if not met:
                self.on_unreachable()
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
            if self._ended.is_done or self._handshake.outcome is not None or advertised:
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
            elif self._lost_authenticating >= _LOST_AUTHENTICATING and self._handshake.outcome is None:
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


def _acceptable(text: str) -> str:
    return re.sub(r"[^a-zA-Z0-9.-]", "-", text).strip(".-")


def _drop_frames(error: BaseException | None) -> None:
    """kafka-python doesn't close the socket of a connection that was refused, or whose TLS failed: only these frames hold it."""
    while error is not None:
        traceback.clear_frames(error.__traceback__)
        error = error.__context__
