"""The page's API over a real socket, of records that a test makes, for tests of the commands that ask it."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import uvicorn

from clientscope.clock import now_ms
from clientscope.local.process import free_port
from sinks.dashboard.api.app import create_app
from sinks.dashboard.http import files
from sinks.dashboard.http.access import LOCAL, Access
from sinks.dashboard.past.asking import Past
from sinks.dashboard.state.one_client import OneClient
from sinks.dashboard.state.state import State

Values = Mapping[tuple[int, int], bytes]
"""Records of ``clientscope.configs`` by partition and offset."""


@contextmanager
def serving(
    state: State, values: Values | None = None, history_dir: Path | None = None, at_ms: int | None = None, access: Access = LOCAL
) -> Iterator[str]:
    """The address of the page, until left.

    Args:
        at_ms: the page's time; by default the current one.
    """
    known, past = values or {}, Past(history_dir and str(history_dir))
    app = create_app(
        state,
        files.load(),
        now_ms if at_ms is None else lambda: at_ms,
        loopback_only=True,
        one_client=OneClient(state, lambda places: {place: known[place] for place in places if place in known}),
        past=past,
        access=access,
    )
    port = free_port()
    server = uvicorn.Server(uvicorn.Config(app, port=port, log_config=None, timeout_graceful_shutdown=1))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    try:
        while not server.started:
            assert thread.is_alive(), "the server did not start"
            thread.join(0.01)
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join(10)
        past.close()
