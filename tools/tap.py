"""A relay in front of a broker that keeps the header of each request: which API in which version, and what software the client reports."""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
from types import TracebackType

from patience import LIMIT_S

from clientscope.readiness import ApiUse, ObservedUses
from clientscope.wire.api_versions import read_request

API_VERSIONS = 18


class Tap:
    """Listens until it is left, and forwards bytes unchanged, those of frames that it can't read too.

    Attributes:
        seen: what the client since `forget` requested.
        software: the name and version of the last ApiVersions request that has them.
    """

    def __init__(self, listen: str, upstream: str) -> None:
        self.seen: set[ApiUse] = set()
        self.software = ("unknown", "unknown")
        host, port = upstream.split(":")
        self._upstream = (host, int(port))
        host, port = listen.split(":")
        self._listener = socket.create_server((host, int(port)))
        self._ends: list[socket.socket] = []
        self._threads = [threading.Thread(target=self._accept, daemon=True)]
        self._threads[0].start()

    def forget(self) -> None:
        """Another client comes."""
        self.seen, self.software = set(), ("unknown", "unknown")

    def observed(self, broker_release: str) -> ObservedUses:
        """What the client since `forget` used."""
        return ObservedUses(frozenset(self.seen), *self.software, broker_release)

    def __enter__(self) -> Tap:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for end in self._ends:
            _shut(end)
        for thread in self._threads:
            thread.join(LIMIT_S)
        for end in self._ends:
            end.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            try:
                broker = socket.create_connection(self._upstream)
            except OSError:
                client.close()
                continue
            self._ends += [client, broker]
            for source, target, read in ((client, broker, self._read), (broker, client, None)):
                self._threads.append(threading.Thread(target=_pump, args=(source, target, read), daemon=True))
                self._threads[-1].start()

    def _read(self, frame: bytes) -> None:
        key, version = struct.unpack_from(">hh", frame, 4)
        self.seen.add(ApiUse(key, version))
        if key == API_VERSIONS and version >= 3:
            said = read_request(frame)
            self.software = (said.software_name or "unknown", said.software_version or "unknown")


def _pump(source: socket.socket, target: socket.socket, read: object) -> None:
    """Until either side ends; requests are forwarded once they are read."""
    pending = b""
    with contextlib.suppress(OSError):
        while data := source.recv(65536):
            if callable(read):
                pending += data
                while len(pending) >= 4 and len(pending) >= 4 + (size := struct.unpack_from(">i", pending)[0]):
                    read(pending[: 4 + size])
                    pending = pending[4 + size :]
            target.sendall(data)
    _shut(source)
    _shut(target)


def _shut(end: socket.socket) -> None:
    with contextlib.suppress(OSError):
        end.shutdown(socket.SHUT_RDWR)
