"""A TCP proxy for tests that can be cut, and that can delay and break connections between a process and a cluster."""

from __future__ import annotations

import asyncio
import random
import socket
import struct
import threading
from asyncio import StreamReader, StreamWriter
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any

from patience import LIMIT_S

from clientscope.local.process import free_port


class Cuttable:
    """Forwards what comes to `address` until `cut`, and then refuses connections until `restore`.

    Kafka's clients connect to the addresses that a broker advertises, so the broker must advertise `address`.

    Args:
        delay_ms: shortest and longest, drawn for each piece; pieces stay in order.
    """

    def __init__(self, upstream: tuple[str, int], port: int = 0, delay_ms: tuple[int, int] = (0, 0)) -> None:
        self._upstream, self._delay_ms = upstream, delay_ms
        self._random = random.Random(40)  # noqa: S311 - the same each time
        self.broken = 0
        self._port = port or free_port()
        self.address = f"127.0.0.1:{self._port}"
        self._open: set[StreamWriter] = set()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)

    def __enter__(self) -> Cuttable:
        self._thread.start()
        self.restore()
        return self

    def __exit__(self, *_: object) -> None:
        self.cut()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def restore(self) -> None:
        """Takes connections again."""
        self._server = self._do(asyncio.start_server(self._pump, "127.0.0.1", self._port))

    def cut(self) -> None:
        """Ends every connection, and refuses new ones."""
        self._do(self._end())

    def break_one(self) -> None:
        """Resets one connection, whatever it carries."""
        self._do(self._reset())

    def _do(self, what: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(what, self._loop).result(LIMIT_S)

    async def _end(self) -> None:
        self._server.close()
        while self._open:
            for one in self._open:
                one.close()
            await asyncio.sleep(0.01)

    async def _reset(self) -> None:
        if self._open:
            one = self._random.choice(sorted(self._open, key=id))
            one.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            one.transport.abort()
            self.broken += 1

    async def _pump(self, from_near: StreamReader, near: StreamWriter) -> None:
        self._open.add(near)
        try:
            from_far, far = await asyncio.open_connection(*self._upstream)
        except OSError:
            near.close()
        else:
            self._open.add(far)
            await asyncio.gather(self._way(from_near, far), self._way(from_far, near))
            self._open.remove(far)
        self._open.remove(near)

    async def _way(self, source: StreamReader, target: StreamWriter) -> None:
        with suppress(OSError):
            while data := await source.read(65536):
                await asyncio.sleep(self._random.uniform(*self._delay_ms) / 1000)
                target.write(data)
                await target.drain()
        target.close()
