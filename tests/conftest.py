"""What holds for all tests."""

from __future__ import annotations

import os

import pytest

from clientscope.local import process


def pytest_configure() -> None:
    """Two of pytest-xdist's workers never try the same port: each has a share of them."""
    worker, workers = (os.environ.get(f"PYTEST_XDIST_WORKER{suffix}") for suffix in ("", "_COUNT"))
    if worker and workers:
        process.PORTS = process.PORTS[int(worker.removeprefix("gw")) :: int(workers)]


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """A test marked ``long_form(only=True)`` has no shorter form: `make test-long` alone runs it."""
    if os.environ.get("TEST_LONG_FORMS") == "1":
        return
    long = [item for item in items if (mark := item.get_closest_marker("long_form")) is not None and mark.kwargs.get("only")]
    if long:
        config.hook.pytest_deselected(items=long)
        items[:] = [item for item in items if item not in long]
