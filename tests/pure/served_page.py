"""The page's API over a real socket, of records that a test makes, for tests of the commands that ask it."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import uvicorn
from page_app import LOCAL, page_app
from patience import until
from starlette.types import ASGIApp

from clientscope.clock import now_ms
from sinks.dashboard.http.access import Access
from sinks.dashboard.past.asking import Past
from sinks.dashboard.state.state import State

Values = Mapping[tuple[int, int], bytes]
"""Records of ``clientscope.configs`` by partition and offset."""


@contextmanager
def serving(
    state: State,
    values: Values | None = None,
    history_dir: Path | None = None,
    at_ms: int | None = None,
    access: Access = LOCAL,
    around: Callable[[ASGIApp], ASGIApp] = lambda app: app,
    **more: Any,
) -> Iterator[str]:
    """The address of the page, until left.

    Args:
        at_ms: the page's time; by default the current one.
        around: what stands before the page.
        more: what `create_app` takes besides.
    """
    known, past = {} if values is None else values, Past(history_dir and str(history_dir))
    stopping = threading.Event()
    app = page_app(
        state,
        now_ms if at_ms is None else lambda: at_ms,
        stopping=stopping.is_set,
        fetch=lambda places: {place: known[place] for place in places if place in known},
        past=past,
        access=access,
        **more,
    )
    server = uvicorn.Server(uvicorn.Config(around(app), lifespan="off", log_config=None, access_log=False, timeout_graceful_shutdown=2))
    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=server.run, args=([listening],), name="page")
        thread.start()
        try:
            until(lambda: server.started or not thread.is_alive())
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            stopping.set()
            server.should_exit = True
            thread.join()
            past.process.close()
