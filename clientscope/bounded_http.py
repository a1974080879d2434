"""HTTP listeners that no client can exhaust: uvicorn with bounds on connections, on the duration of a request, and on bytes.

Every HTTP listener of the project is made of this.  A connection beyond the bound replaces the one that has waited the longest for its
request, among those of the address that holds the most: whoever holds half requests displaces their own, and others are served.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections import Counter as Counts
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import uvicorn
from prometheus_client import CollectorRegistry, Counter
from uvicorn.protocols.http.h11_impl import H11Protocol

from clientscope.config_types import split_address
from clientscope.errors import EnvironmentProblem

_HEAD_BYTES = 16 * 1024
BACKLOG = 128
"""What one turn of the event loop may accept beyond the bound, so few."""

_PROGRESS_BYTES = 64 * 1024


@dataclass(frozen=True)
class Bounds:
    """What one listener gives to all its clients together.

    Attributes:
        connections: open at a time; a tenth more are answered 503, and further ones are closed at once.
        body_bytes: of one request.
        request_s: from a connection's first moment, or a further request's first byte, to the request's last byte.
        unread_s: how long a client may leave its answer without reading 64 KiB of it.
        unread_bytes: of all answers that wait to be read; beyond it, the connection with the most is closed.
    """

    connections: int = 64
    body_bytes: int = 64 * 1024
    request_s: float = 10.0
    unread_s: float = 30.0
    unread_bytes: int = 16 * 1024 * 1024


def refusals(registry: CollectorRegistry) -> Counter:
    """What was refused, by listener and reason: how often a bound was reached."""
    return Counter(
        "clientscope_http_refused",
        "HTTP connections closed and requests refused at a bound, or for an invalid token.",
        ("listener", "reason"),
        registry=registry,
    )


class Listener:
    """The connections of one listener; for the thread of its event loop alone."""

    def __init__(self, name: str, bounds: Bounds, refused: Counter) -> None:
        """
        Args:
            name: the address' setting, for the metric.
        """
        self.bounds = bounds
        self._name, self._refused = name, refused
        self._open: set[BoundedProtocol] = set()
        self._waiting: dict[BoundedProtocol, None] = {}
        """Connections without a whole request, the oldest first."""
        self._unread: set[BoundedProtocol] = set()

    def config(self, app: Any, **more: Any) -> uvicorn.Config:
        """What uvicorn serves ``app`` by."""
        return uvicorn.Config(
            app,
            http=partial(BoundedProtocol, self),  # type: ignore[arg-type]  # called like a class, and nothing else
            ws="none",
            lifespan="off",
            h11_max_incomplete_event_size=_HEAD_BYTES,
            limit_concurrency=self.bounds.connections + 1,  # it counts the connection that asks, too
            backlog=BACKLOG,
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,  # else any process on this machine could claim another address, a trusted proxy's
            **more,
        )

    def opened(self, connection: BoundedProtocol) -> None:
        """Makes room for one more if there isn't any."""
        if len(self._open) >= self.bounds.connections:
            self._count("connections")
            if (oldest := self._displaced()) is not None:
                oldest.end()
            elif len(self._open) >= self.bounds.connections + max(1, self.bounds.connections // 10):
                connection.end()
                return
        self._open.add(connection)
        self._waiting[connection] = None

    def closed(self, connection: BoundedProtocol) -> None:
        """Forgets it."""
        self._open.discard(connection)
        self._waiting.pop(connection, None)
        self._unread.discard(connection)

    def waits(self, connection: BoundedProtocol) -> None:
        """Notes that a connection has no whole request."""
        self._waiting.setdefault(connection, None)

    def asks(self, connection: BoundedProtocol) -> None:
        """Notes that a connection has a whole request, which is answered now."""
        self._waiting.pop(connection, None)

    def refuses(self, connection: BoundedProtocol, reason: str) -> None:
        """Closes it at once."""
        self._count(reason)
        connection.end()

    def malformed(self) -> None:
        """A request was answered 400, before any page saw it."""
        self._count("malformed")

    def reads_on(self, connection: BoundedProtocol) -> None:
        """Its client has read nearly all of its answer."""
        self._unread.discard(connection)

    def lags(self, connection: BoundedProtocol) -> None:
        """Its client has yet to read an answer."""
        self._unread.add(connection)
        while sum(each.unread for each in self._unread) > self.bounds.unread_bytes:
            largest = max(self._unread, key=lambda each: each.unread)
            self._unread.discard(largest)
            self.refuses(largest, "unread_bytes")

    def _count(self, reason: str) -> None:
        self._refused.labels(self._name, reason).inc()

    def _displaced(self) -> BoundedProtocol | None:
        addresses = Counts(each.address for each in self._waiting)
        if not addresses:
            return None
        greediest = addresses.most_common(1)[0][0]
        return next(each for each in self._waiting if each.address == greediest)


class BoundedProtocol(H11Protocol):
    """One connection.  uvicorn itself has a time limit for idle connections alone, and none for a request that never becomes whole."""

    def __init__(self, listener: Listener, **given: Any) -> None:
        super().__init__(**given)
        self._listener = listener
        self._request_timer: asyncio.TimerHandle | None = None
        self._unread_timer: asyncio.TimerHandle | None = None
        self._received = 0

    @property
    def address(self) -> str:
        """The peer's."""
        return self.client[0] if self.client else ""

    @property
    def unread(self) -> int:
        """Bytes of answers that its client has yet to read, beside what the kernel holds."""
        return int(self.transport.get_write_buffer_size())

    def end(self) -> None:
        """Closes it at once, and forgets what was to be sent."""
        self._listener.closed(self)
        self.connections.discard(self)  # for limit_concurrency; uvicorn itself would do so later
        self.transport.abort()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._start_clock()
        self._listener.opened(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._listener.closed(self)
        self._stop_clock()
        self._stop_unread()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        self._start_clock()
        self._received += len(data)
        super().data_received(data)
        self._look()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._received = 0
        self._look()

    def send_400_response(self, msg: str) -> None:
        self._listener.malformed()
        super().send_400_response(msg)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._listener.lags(self)
        self._watch_unread(self.unread)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._listener.reads_on(self)
        self._stop_unread()

    def _look(self) -> None:
        if self.transport.is_closing():
            return
        if self.cycle is not None and not self.cycle.response_complete:
            # Bytes that arrive meanwhile are bounded by uvicorn, which stops reading at 64 KiB of unread body.
            if not self.cycle.more_body:
                self._stop_clock()
                self._listener.asks(self)
            return
        self._listener.waits(self)
        if self._received > self._listener.bounds.body_bytes + _HEAD_BYTES:
            self._listener.refuses(self, "request_bytes")

    def _start_clock(self) -> None:
        if self._request_timer is None:
            self._request_timer = self.loop.call_later(self._listener.bounds.request_s, self._listener.refuses, self, "request_time")

    def _stop_clock(self) -> None:
        if self._request_timer is not None:
            self._request_timer.cancel()
            self._request_timer = None

    def _watch_unread(self, before: int) -> None:
        self._stop_unread()
        self._unread_timer = self.loop.call_later(self._listener.bounds.unread_s, self._judge_unread, before)

    def _judge_unread(self, before: int) -> None:
        if (now := self.unread) > before - _PROGRESS_BYTES:
            self._listener.refuses(self, "unread_time")
        else:
            self._watch_unread(now)

    def _stop_unread(self) -> None:
        if self._unread_timer is not None:
            self._unread_timer.cancel()
            self._unread_timer = None


class Server(uvicorn.Server):
    """Leaves signals to the process that runs it.

    uvicorn raises them again once it has stopped, which would kill the process instead of returning.
    """

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        # Whatever a client sends that is no HTTP is counted; a line for each would fill the log.
        logging.getLogger("uvicorn.error").setLevel(logging.ERROR)
        yield


def listening(address: str, setting: str, hint: str) -> socket.socket:
    """A socket that listens, before anything else is started: that a port is taken is best said at once, and connections wait.

    Args:
        setting: the address' own name, for the error.

    Raises:
        EnvironmentProblem: it can't be had.
    """
    listener: socket.socket | None = None
    try:
        family, kind, proto, _, found = socket.getaddrinfo(*split_address(address), type=socket.SOCK_STREAM)[0]
        listener = socket.socket(family, kind, proto)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(found)
        listener.listen(BACKLOG)
    except OSError as error:
        if listener is not None:
            listener.close()
        raise EnvironmentProblem(f"{setting}: cannot listen on {address}: {error.strerror}", hint) from None
    return listener
