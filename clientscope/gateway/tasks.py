"""Background coroutines: kept referenced, with failures reported."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any

log = logging.getLogger(__name__)


class Tasks:
    """Tasks of one owner, in one event loop. Not `asyncio.TaskGroup`: one that fails must not end the others."""

    def __init__(self) -> None:
        self._running: set[asyncio.Task[None]] = set()

    def run(self, work: Coroutine[Any, Any, None]) -> None:
        """Runs a coroutine; asyncio itself would hold on to none."""
        task = asyncio.get_running_loop().create_task(work)
        self._running.add(task)
        task.add_done_callback(self._finished)

    def cancel(self) -> None:
        """Cancels those that still run."""
        for task in list(self._running):
            task.cancel()

    def _finished(self, task: asyncio.Task[None]) -> None:
        self._running.discard(task)
        if not task.cancelled() and (error := task.exception()):
            log.error("a task failed: %s", type(error).__name__, exc_info=error)
