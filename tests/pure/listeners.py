"""A listener for tests that say what happens on each connection."""

from __future__ import annotations

import socketserver
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any


class _Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    request_queue_size = 128


@contextmanager
def taking(serve: Callable[[Any], object]) -> Iterator[str]:
    """An address where each connection is served in a thread of its own, and closed then."""

    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            with suppress(OSError):
                serve(self.request)

    with _Server(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        yield f"127.0.0.1:{server.server_address[1]}"
        server.shutdown()
