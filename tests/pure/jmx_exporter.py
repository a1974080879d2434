"""A page such as a JMX exporter's, over HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from alert_receivers import serving, status

PAGE = '# HELP x y\nkafka_server_app_info_version{id="1",version="%s"} 1.0\nkafka_client_connections{} 3.0\n'
"""What the embedded broker's exporter says of app-info, the version left open."""


@contextmanager
def exporter(page: str, code: int = 200) -> Iterator[str]:
    """Serves one page, and yields its address."""
    with serving(always=status(code, page.encode())) as server:
        yield f"http://127.0.0.1:{server.port}/metrics"
