"""A TCP proxy for tests that can be cut, and that can delay and break connections between a process and a cluster."""

from __future__ import annotations

import queue
import random
import socket
import struct
import threading
import time
from contextlib import suppress
from types import TracebackType

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
        self._lock = threading.Lock()
        self._open: set[socket.socket] = set()
        self._listener: socket.socket | None = None
        self.restore()

    def restore(self) -> None:
        """Takes connections again."""
        listener = socket.socket()
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", self._port))
        listener.listen(64)
        self._listener = listener
        threading.Thread(target=self._accept, args=(listener,), daemon=True).start()

    def cut(self) -> None:
        """Ends every connection, and refuses new ones."""
        if self._listener is not None:
            self._listener.shutdown(socket.SHUT_RDWR)
            self._listener.close()
            self._listener = None
        with self._lock:
            for one in self._open:
                one.shutdown(socket.SHUT_RDWR)

    def _accept(self, listener: socket.socket) -> None:
        while True:
            try:
                near, _ = listener.accept()
                far = socket.create_connection(self._upstream, 5)
            except OSError:
                return
            threading.Thread(target=self._pump, args=(near, far), daemon=True).start()

    def __enter__(self) -> Cuttable:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.cut()

    def break_one(self) -> None:
        """Resets one connection, whatever it carries."""
        with self._lock:
            if not self._open:
                return
            one = self._random.choice(sorted(self._open, key=id))
            one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            self.broken += 1

    def _pump(self, near: socket.socket, far: socket.socket) -> None:
        with self._lock:
            self._open |= {near, far}
        ways = [threading.Thread(target=self._way, args=pair, daemon=True) for pair in ((near, far), (far, near))]
        for way in ways:
            way.start()
        for way in ways:
            way.join()
        with self._lock:
            self._open -= {near, far}
        near.close()
        far.close()

    def _way(self, source: socket.socket, target: socket.socket) -> None:
        waiting: queue.SimpleQueue[tuple[float, bytes]] = queue.SimpleQueue()

        def later() -> None:
            with suppress(OSError):
                while True:
                    due, data = waiting.get()
                    time.sleep(max(0.0, due - time.monotonic()))
                    if not data:
                        break
                    target.sendall(data)
            for one in (source, target):
                with suppress(OSError):
                    one.shutdown(socket.SHUT_RDWR)

        writer = threading.Thread(target=later, daemon=True)
        writer.start()
        data = b"."
        while data:
            try:
                data = source.recv(65536)
            except OSError:
                data = b""
            waiting.put((time.monotonic() + self._random.uniform(*self._delay_ms) / 1000, data))
        writer.join()
