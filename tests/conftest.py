"""What holds for all tests."""

from __future__ import annotations

import os

from clientscope.local import process


def pytest_configure() -> None:
    """Two of pytest-xdist's workers never try the same port: each has a share of them."""
    worker, workers = (os.environ.get(f"PYTEST_XDIST_WORKER{suffix}") for suffix in ("", "_COUNT"))
    if worker and workers:
        process.PORTS = process.PORTS[int(worker.removeprefix("gw")) :: int(workers)]
