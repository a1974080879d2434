"""Shared parts of the aiokafka and confluent-kafka wrappers: the instance's id, and its one push in a thread of its own."""

from __future__ import annotations

import asyncio
import concurrent.futures
import os
import threading
import uuid
from collections.abc import Callable, Mapping
from typing import Any

from clientscope.catalog.configs import ClientType
from clientscope.client.connection_settings import connection_settings
from clientscope.client.handshake import PushOutcome, log
from clientscope.client.push import OwnConnectionPush, PushResult
from clientscope.client.settings import Collected, collect_dialect, milliseconds, split_keys
from clientscope.errors import ClientscopeError, SettingsError

FIRST_USE_S = 2.0
"""The longest that a client's first use waits for the push."""


class InstanceId:
    """The ClientInstanceId of one client instance: a UUIDv4 made at once; a forked process is another instance."""

    def __init__(self) -> None:
        self._renew()

    def _renew(self) -> None:
        self._pid, self._value = os.getpid(), uuid.uuid4()

    @property
    def value(self) -> uuid.UUID:
        """The id, the same for all of this process."""
        if os.getpid() != self._pid:
            self._renew()
        return self._value


def push_timeout_s(timeout_key: str, keys_key: str, settings: Mapping[str, Any]) -> float:
    """How long a push may take, in seconds; our other settings are also checked, so that an invalid one is reported at once.

    Args:
        timeout_key, keys_key: ``default.api.timeout.ms`` and ``config.push.allowed.keys`` in the dialect's spelling.

    Raises:
        SettingsError: one of them is invalid.
    """
    if (keys := settings.get(keys_key)) is not None:
        split_keys(keys, keys_key)
    return milliseconds(timeout_key, settings.get(timeout_key, 60_000), 60_000) / 1000


def prepare(
    dialect: str,
    client_type: ClientType,
    settings: Mapping[str, Any],
    software: tuple[str, str],
    *,
    dialect_version: str = "",
    bootstrap_servers: Any = None,
    client_id: str | None = None,
    client_instance_id: uuid.UUID | None = None,
    timeout_s: float = 60.0,
) -> OwnConnectionPush:
    """A push of what the user set, in the dialect's names, by the client's own way to Kafka.

    Args:
        software: name and version, as the client's own ApiVersions requests have them.
        dialect_version: of the software whose defaults hold; ``software``'s where it isn't given.
        bootstrap_servers: instead of those in ``settings``.
        client_id: what the client calls itself where the user didn't say.

    Raises:
        ClientscopeError: what can't be taken over of the client's settings.
    """
    collected = collect_dialect(dialect, client_type, settings, version=dialect_version or software[1])
    if collected.sensitive:
        log.warning("not pushed, as they are sensitive: %s", ", ".join(map(ascii, collected.sensitive)))
    connection = connection_settings(dialect, settings)
    if bootstrap_servers is not None:
        connection["bootstrap_servers"] = bootstrap_servers
    if not connection.get("bootstrap_servers"):
        raise SettingsError("bootstrap.servers is missing", "set it, or give bootstrap_servers")
    if client_id is not None:
        connection["client_id"] = client_id
        collected = _named(collected, client_id)
    return OwnConnectionPush(collected, connection, *software, client_instance_id=client_instance_id, timeout_s=timeout_s)


def disabled(key: str, client_instance_id: uuid.UUID | None = None) -> PushResult:
    """What a push is that the user doesn't want."""
    return PushResult(PushOutcome.NOTHING_TO_PUSH, f"{key} is false", (), client_instance_id or uuid.uuid4())


def warn(error: Exception) -> None:
    """Logs why there is no push; the client continues without it."""
    if isinstance(error, ClientscopeError):
        why = f"{error} ({error.hint})" if error.hint else str(error)
    else:
        why = type(error).__name__  # its text may quote a secret
        log.debug("push", exc_info=error)
    log.warning("configuration not pushed, the client continues without: %s", why)


def _named(collected: Collected, client_id: str) -> Collected:
    entries = (entry._replace(value=client_id) if entry.key == "client.id" and entry.is_default else entry for entry in collected.entries)
    return collected._replace(entries=tuple(entries))


class BackgroundPush:
    """One client's push in a daemon thread, in parallel with the client's work.

    ``make`` is called in that thread; what it raises is logged.
    """

    def __init__(self, make: Callable[[], OwnConnectionPush]) -> None:
        self._make = make
        self._push: OwnConnectionPush | None = None
        self._cancelled = False
        self._released: concurrent.futures.Future[None] = concurrent.futures.Future()
        self._ended: concurrent.futures.Future[PushResult | None] = concurrent.futures.Future()
        for future in (self._released, self._ended):
            future.set_running_or_notify_cancel()  # so that a waiter can't cancel it
        threading.Thread(target=self._run, name="clientscope-push", daemon=True).start()

    def wait(self) -> None:
        """Waits until the push has ended, no node could be reached, or `FIRST_USE_S` have passed."""
        concurrent.futures.wait([self._released], FIRST_USE_S)

    async def wait_async(self) -> None:
        """`wait` for a coroutine; cancelling it cancels the push."""
        await self._wait_async(self._released, FIRST_USE_S)

    async def result(self) -> PushResult | None:
        """The outcome, however long it takes; None if the push couldn't be made.  Cancelling this cancels the push."""
        await self._wait_async(self._ended, None)
        return self._ended.result()

    def cancel(self) -> None:
        """Ends it soon, without waiting."""
        self._cancelled = True
        if self._push is not None:
            self._push.cancel()

    async def _wait_async(self, future: concurrent.futures.Future[Any], seconds: float | None) -> None:
        waiting = asyncio.wrap_future(future)
        try:
            await asyncio.wait([waiting], timeout=seconds)
        except asyncio.CancelledError:
            self.cancel()
            raise
        finally:
            waiting.cancel()  # not every Python 3.11 looks whether the loop is closed before it reports to it

    def _run(self) -> None:
        result = None
        try:
            self._push = self._make()
            self._push.on_unreachable = self._release
            if self._cancelled:
                self._push.cancel()
            result = self._push.run()
        except Exception as error:
            warn(error)
        finally:
            self._release()
            self._ended.set_result(result)

    def _release(self) -> None:
        if not self._released.done():
            self._released.set_result(None)
