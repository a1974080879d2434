"""Server-sent events: one small event when something changed, and a sign of life when nothing did."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable

from starlette.concurrency import run_in_threadpool

from sinks.dashboard.state import State

INTERVAL_SECONDS = 0.25
"""At most four events a second."""

ALIVE_SECONDS = 5.0
"""How often an idle stream says that it lives: a browser can't see a comment, so it is an event."""

RETRY_MS = 1_000

LONGEST_SECONDS = 3_600.0
"""Then a stream ends, and a browser asks for another: so nobody listens for ever who may listen no more."""


async def stream(state: State, clock: Callable[[], int], stopping: Callable[[], bool]) -> AsyncIterator[bytes]:
    """``changed`` events with the `Overview`, from the present one on, and ``alive`` events; until ``stopping``."""
    yield f"retry: {RETRY_MS}\n\n".encode()
    seen: int | None = None
    idle = lasted = 0.0
    while not stopping() and lasted < LONGEST_SECONDS:
        if state.version != seen:
            overview = await run_in_threadpool(state.overview, clock())
            seen = overview.version
            idle = 0.0
            yield f"event: changed\ndata: {overview.model_dump_json()}\n\n".encode()
        elif idle >= ALIVE_SECONDS:
            idle = 0.0
            yield f'event: alive\ndata: {{"version":{seen}}}\n\n'.encode()
        await asyncio.sleep(INTERVAL_SECONDS)
        idle += INTERVAL_SECONDS
        lasted += INTERVAL_SECONDS
