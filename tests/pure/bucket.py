"""A real S3 endpoint on loopback: moto's server, in a process of its own, with one bucket."""

from __future__ import annotations

import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager

from patience import until

from clientscope.local.process import free_port, spawn, stop


@contextmanager
def bucket() -> Iterator[tuple[str, dict[str, str]]]:
    """The bucket's address, and the variables with which it is found there."""
    port = free_port()
    name = f"clientscope-{port}"
    server = spawn([sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)], log=subprocess.DEVNULL)
    url = f"http://127.0.0.1:{port}"
    try:
        _created(f"{url}/{name}", server)
        yield (
            f"s3a://{name}",
            {
                "AWS_ENDPOINT_URL": url,
                "AWS_ALLOW_HTTP": "true",
                "AWS_REGION": "us-east-1",
                "AWS_ACCESS_KEY_ID": "canary-id-3b1d",
                "AWS_SECRET_ACCESS_KEY": "canary-secret-9c42",
            },
        )
    finally:
        stop(server)


def _created(url: str, server: subprocess.Popen[bytes]) -> None:
    def done() -> bool:
        assert server.poll() is None
        try:
            urllib.request.urlopen(urllib.request.Request(url, method="PUT"), timeout=10).close()
        except OSError:
            return False
        return True

    until(done)
