"""Messages between the gateway's own processes, over a socket pair.

The framing is that of `multiprocessing.connection.Connection` (an int32 length, then a pickle), so that a process without an
event loop uses that class on its end. Both ends are this program, on a socket that no other process can open.
"""

from __future__ import annotations

import asyncio
import logging
import pickle
import struct
from collections.abc import Callable, Coroutine
from typing import Any, cast

_LENGTH = struct.Struct("!i")
MOST_UNSENT = 16 * 1024 * 1024
"""Bytes that the other end has not read; beyond it, messages are dropped."""


class Channel(asyncio.Protocol):
    """One end of a socket pair, in an event loop.

    Args:
        received: called with each message, in order.
        lost: called once when the other end is gone.
        drained: called when there is room again after a message was refused.
    """

    def __init__(
        self, received: Callable[[Any], None], lost: Callable[[], None] = lambda: None, drained: Callable[[], None] = lambda: None
    ) -> None:
        self._received = received
        self._lost = lost
        self._drained = drained
        self._transport: asyncio.Transport | None = None
        self._held = bytearray()
        self._full = False
        self._refused = False

    def send(self, message: Any) -> bool:
        """Sends without waiting; False where the other end is gone, or has 16 MiB unread: the message is then dropped."""
        if self._transport is None or self._transport.is_closing() or self._full:
            self._refused = True
            return False
        data = pickle.dumps(message, pickle.HIGHEST_PROTOCOL)
        self._transport.write(_LENGTH.pack(len(data)) + data)
        return True

    def close(self) -> None:
        """Closes this end once all is written."""
        if self._transport is not None:
            self._transport.close()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._transport.set_write_buffer_limits(high=MOST_UNSENT)

    def pause_writing(self) -> None:
        self._full = True

    def resume_writing(self) -> None:
        self._full = False
        if self._refused:
            self._refused = False
            self._drained()

    def data_received(self, data: bytes) -> None:
        self._held += data
        position = 0
        while len(self._held) - position >= _LENGTH.size:
            (length,) = _LENGTH.unpack_from(self._held, position)
            start = position + _LENGTH.size
            if len(self._held) - start < length:
                break
            position = start + length
            self._received(pickle.loads(memoryview(self._held)[start:position].tobytes()))  # noqa: S301  see above: our own end
        del self._held[:position]

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        self._lost()


# Background coroutines: kept referenced, with failures reported.

log = logging.getLogger(__name__)


class Tasks:
    """Tasks of one owner, in one event loop. Not `asyncio.TaskGroup`: one that fails must not end the others."""

    def __init__(self) -> None:
        self._running: set[asyncio.Task[None]] = set()

    def run(self, work: Coroutine[Any, Any, None]) -> None:
        """Runs a coroutine; asyncio itself would hold on to none."""
        task = asyncio.get_running_loop().create_task(work)
        self._running.add(task)
        task.add_done_callback(self._finished)

    def cancel(self) -> None:
        """Cancels those that still run."""
        for task in list(self._running):
            task.cancel()

    def _finished(self, task: asyncio.Task[None]) -> None:
        self._running.discard(task)
        if not task.cancelled() and (error := task.exception()):
            log.error("a task failed: %s", type(error).__name__, exc_info=error)
