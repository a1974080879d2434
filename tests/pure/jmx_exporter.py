"""A page such as a JMX exporter's, over HTTP."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer

PAGE = '# HELP x y\nkafka_server_app_info_version{id="1",version="%s"} 1.0\nkafka_client_connections{} 3.0\n'
"""What the embedded broker's exporter says of app-info, the version left open."""


@contextmanager
def exporter(page: str, status: int = 200) -> Iterator[str]:
    """Serves one page, and yields its address."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            self.end_headers()
            self.wfile.write(page.encode())

        def log_message(self, *args: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/metrics"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
