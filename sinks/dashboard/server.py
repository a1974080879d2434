"""Main program of ``clientscope serve``: composes reader, state and HTTP, and runs them until a signal."""

from __future__ import annotations

import logging
import signal
import socket
import threading
from functools import partial

from prometheus_client import CollectorRegistry

from clientscope import __version__, topics
from clientscope.api.common import Feed
from clientscope.bounded_http import Bounds, Listener, Server, listening, refusals
from clientscope.clock import now_ms
from clientscope.config import ServeSettings
from clientscope.config_types import split_address
from clientscope.garbage import settle
from clientscope.kafka.access import KafkaAccess
from clientscope.model.status import Condition, ProcessStatus
from clientscope.model.topics import STATUS
from clientscope.profiles import owners
from clientscope.status_writer import INTERVAL_S, StatusWriter
from sinks.dashboard.api.app import create_app
from sinks.dashboard.api.deciding import to_kafka
from sinks.dashboard.http import files
from sinks.dashboard.http.access import access_of
from sinks.dashboard.http.middleware import MOST_BODY_BYTES
from sinks.dashboard.past.asking import Past
from sinks.dashboard.state.reader import TOPICS, PushFetcher, StateReader
from sinks.dashboard.state.state import State

_GRACE_SECONDS = 3

BOUNDS = Bounds(connections=512, body_bytes=MOST_BODY_BYTES, unread_bytes=64 * 1024 * 1024)
"""Room for the event streams and as many browsers' other connections; an answer may be some megabytes."""

_log = logging.getLogger(__name__)


def run(settings: ServeSettings) -> None:
    """Serves until SIGTERM or SIGINT, then returns; says ``ready`` on stdout once ``/readyz`` does.

    Raises:
        SettingsError: others could reach the page without authentication, or a token file or owners.toml is invalid.
        EnvironmentProblem: its port is taken, a topic is missing or set otherwise, or one of the page's files is missing.
    """
    host, _ = split_address(settings.listen)
    access = access_of(settings, host)
    owned = owners.read_if_given(settings.owners)
    assets = files.load()
    kafka = KafkaAccess.of(settings)
    topics.verify(kafka, reads=TOPICS, writes=(STATUS,))
    listener = listening(settings.listen, "listen", "choose another address with --listen HOST:PORT")
    url = f"http://{'[' + host + ']' if ':' in host else host}:{listener.getsockname()[1]}/"
    if not access.loopback_only and not settings.external_url.startswith("https"):
        _log.warning("%s is not encrypted: tokens and cookies can be read on their way, unless a proxy before it speaks TLS", url)
    state = State(owned)
    reader = StateReader(kafka, state)
    fetch = PushFetcher(kafka)
    past = Past(settings.history_dir, owners=settings.owners)
    refused = refusals(CollectorRegistry())
    server: Server

    def stop(signum: int, frame: object) -> None:
        server.should_exit = True

    app = create_app(
        state,
        assets,
        now_ms,
        alive=reader.is_alive,
        stopping=lambda: server.should_exit,
        data_docs_dir=settings.data_docs_dir,
        access=access,
        fetch=fetch,
        write=partial(to_kafka, kafka),
        past=past,
        refused=refused,
    )
    server = Server(Listener("listen", BOUNDS, refused).config(app, timeout_graceful_shutdown=_GRACE_SECONDS))
    status = StatusWriter(
        kafka, "clientscope-serve", partial(serve_status, state, f"{socket.gethostname()}:{listener.getsockname()[1]}", now_ms())
    )
    previous = {number: signal.signal(number, stop) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        reader.start()
        status.start()
        threading.Thread(target=_announce, args=(state, server, url), name="clientscope-ready", daemon=True).start()
        server.run(sockets=[listener])
    finally:
        status.stop()
        reader.stop(10.0)  # twice the timeout of what it asks Kafka
        fetch.close()
        past.process.close()
        listener.close()
        for number, handler in previous.items():
            signal.signal(number, handler)


_CONDITIONS: dict[Feed, Condition] = {"live": "ok", "starting": "starting", "catching_up": "starting", "unreachable": "failed"}


def serve_status(state: State, name: str, started_ms: int) -> list[ProcessStatus]:
    """How this copy of serve is, for ``clientscope.status``."""
    overview = state.overview(now_ms())
    progress = overview.progress
    status = ProcessStatus(
        kind="serve",
        id=name,
        condition=_CONDITIONS[overview.feed],
        reason=overview.feed_detail or "",
        release=__version__,
        started_ms=started_ms,
        told_ms=now_ms(),
        interval_ms=int(INTERVAL_S * 1000),
        lag_records=progress.total - progress.read if progress else 0 if overview.feed == "live" else None,
        last_record_ms=overview.last_record_ms,
        figures={},
    )
    return [status]


def _announce(state: State, server: Server, url: str) -> None:
    """Waits in a thread of its own, as reading a day of records may take a while."""
    pause = threading.Event()
    while not server.should_exit:
        if server.started and state.feed.now == "live":
            settle()
            print(f"clientscope serve: ready at {url}", flush=True)
            return
        pause.wait(0.05)
