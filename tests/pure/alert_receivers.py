"""Receivers as values, and a real HTTP server whose answers a test chooses."""

from __future__ import annotations

import logging
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from made_findings import NOW_MS, made

from clientscope import cli
from clientscope.model.finding import Finding
from sinks.alerts.alertmanager import Alerts
from sinks.alerts.message import Message
from sinks.alerts.outbox import Outbox
from sinks.alerts.receivers import KINDS

SECRET = b"0123456789abcdef0123456789abcdef"


def command(*words: str) -> int:
    """A command's exit status; what it sets for its own process is taken back."""
    logger = logging.getLogger("kafka")
    level, filters = logger.level, [(handler, list(handler.filters)) for handler in logging.getLogger().handlers]
    try:
        return cli.main(words)
    finally:
        logger.setLevel(level)
        for handler, before in filters:
            handler.filters = before


def receiver(name: str = "hook", kind: str = "webhook", **fields: Any) -> Any:
    """A web hook that gets everything."""
    return KINDS[kind].model_construct(name=name, kind=kind, **{"urls": ("http://127.0.0.1:9/x",), "secrets": (SECRET,), **fields})


def waits(alerts: Outbox | Alerts) -> list[tuple[int, float]]:
    """The records that a restart would read again, by offset, and since when the alerts of each wait."""
    return sorted((each.place.offset, each.since) for each in alerts.waiting())


def message(*findings: Finding, status: Any = "firing", name: str = "hook") -> Message:
    """A message as it is made for a receiver."""
    return Message.of(name, status, findings or (made(),), NOW_MS)


@dataclass(frozen=True)
class Got:
    """A request."""

    path: str
    headers: Mapping[str, str]
    body: bytes


Answer = Callable[["_Handler"], None]


@dataclass
class Server:
    """What came, and what to answer: the next of ``answers``, or 204."""

    port: int = 0
    got: list[Got] = field(default_factory=list)
    answers: list[Answer] = field(default_factory=list)
    always: Answer | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/hook"


class _Handler(BaseHTTPRequestHandler):
    server_state: Server

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.server_state.got.append(Got(self.path, {name.lower(): value for name, value in self.headers.items()}, body))
        answer = self.server_state.answers.pop(0) if self.server_state.answers else self.server_state.always or status(204)
        with suppress(OSError):
            answer(self)
        self.close_connection = True

    def do_GET(self) -> None:
        self.do_POST()

    def log_message(self, format: str, *args: object) -> None:
        """A request is no news."""


def status(code: int, body: bytes = b"", **headers: str) -> Answer:
    """An answer with this status."""

    def answer(handler: _Handler) -> None:
        handler.send_response(code)
        for name, value in headers.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)

    return answer


def hang(handler: _Handler) -> None:
    """No answer, until the other side has had enough."""
    with suppress(OSError):
        handler.connection.recv(1)


def cut(handler: _Handler) -> None:
    """The connection ends."""
    handler.connection.shutdown(socket.SHUT_RDWR)


@contextmanager
def serving(*answers: Answer, always: Answer | None = None, port: int = 0) -> Iterator[Server]:
    """A server on loopback."""
    state = Server(answers=list(answers), always=always)
    handler = type("Handler", (_Handler,), {"server_state": state})
    server = ThreadingHTTPServer(("127.0.0.1", port), handler)
    server.daemon_threads = True
    state.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield state
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
