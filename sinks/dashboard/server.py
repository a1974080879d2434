"""``clientscope serve``: composes reader, state and HTTP, and runs them until told to stop."""

from __future__ import annotations

import logging
import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn

from clientscope import topics
from clientscope.config import ServeSettings
from clientscope.config_types import split_address
from clientscope.errors import EnvironmentProblem
from clientscope.kafka_access import KafkaAccess
from sinks.dashboard import assets
from sinks.dashboard.api import create_app
from sinks.dashboard.reader import TOPICS, Reader, now_ms
from sinks.dashboard.security import is_loopback
from sinks.dashboard.state import State

_GRACE_SECONDS = 3

_log = logging.getLogger(__name__)


class _Server(uvicorn.Server):
    """Leaves signals to `run`: uvicorn raises them again once it has stopped, which would kill the process instead of returning."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def run(settings: ServeSettings) -> None:
    """Serves until SIGTERM or SIGINT, then returns; says ``ready`` on stdout once ``/readyz`` does.

    Raises:
        EnvironmentProblem: its port is taken, a topic is missing or set otherwise, or one of the page's files is missing.
    """
    files = assets.load()
    kafka = KafkaAccess.of(settings)
    topics.verify(kafka, reads=TOPICS)
    host, listener = _bind(settings.listen)
    url = f"http://{'[' + host + ']' if ':' in host else host}:{listener.getsockname()[1]}/"
    if not is_loopback(host):
        _log.warning("%s can be reached from other machines, and asks nobody for a password", url)
    state = State()
    reader = Reader(kafka, state)
    server: _Server

    def stop(signum: int, frame: object) -> None:
        server.should_exit = True

    app = create_app(
        state,
        files,
        now_ms,
        loopback_only=is_loopback(host),
        alive=reader.is_alive,
        stopping=lambda: server.should_exit,
        data_docs_dir=settings.data_docs_dir,
    )
    config = uvicorn.Config(app, log_config=None, access_log=False, server_header=False, timeout_graceful_shutdown=_GRACE_SECONDS)
    server = _Server(config)
    previous = {number: signal.signal(number, stop) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        reader.start()
        threading.Thread(target=_announce, args=(state, server, url), name="clientscope-ready", daemon=True).start()
        server.run(sockets=[listener])
    finally:
        reader.stop()
        listener.close()
        for number, handler in previous.items():
            signal.signal(number, handler)


def _announce(state: State, server: uvicorn.Server, url: str) -> None:
    """Waits in a thread of its own, as reading a day of records may take a while."""
    pause = threading.Event()
    while not server.should_exit:
        if server.started and state.feed()[0] == "live":
            print(f"clientscope serve: ready at {url}", flush=True)
            return
        pause.wait(0.05)


def _bind(listen: str) -> tuple[str, socket.socket]:
    """A bound socket, before anything else is started: that a port is taken is best said at once."""
    host, port = split_address(listen)
    try:
        family, kind, proto, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listener = socket.socket(family, kind, proto)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
    except OSError as error:
        raise EnvironmentProblem(
            f"can't listen on {listen}: {error.strerror or error}", "choose another address with --listen HOST:PORT"
        ) from error
    return host, listener
