"""Answers that are sent piece by piece: server-sent events, and clients as CSV or JSON, so that memory is bounded."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import fields
from itertools import islice
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.responses import JSONResponse, StreamingResponse
from starlette.types import Receive, Scope, Send

from clientscope.api.clients import ClientRow
from clientscope.api.overview import Overview
from clientscope.bounded import Present
from clientscope.model.codec import adapter
from clientscope.report.listing import csv_line
from sinks.dashboard.state.state import State

INTERVAL_SECONDS = 0.25
"""At most four events a second."""

ALIVE_SECONDS = 5.0
"""How often an idle stream says that it lives: a browser can't see a comment, so it is an event."""

RETRY_MS = 1_000

LONGEST_SECONDS = 3_600.0
"""The longest life of a stream; a browser then asks for another, so access that was withdrawn ends."""


STREAM_LIMIT = 200
"""Event streams at a time."""

STREAM_LIMIT_PER_HOLDER = 50
"""Event streams of one user at one address; a browser has one for each open page."""

Holder = tuple[str, str]
"""A user's name and address."""


class Streams:
    """How many are open, and whose; in one event loop."""

    def __init__(self, refused: Callable[[], object]) -> None:
        """
        Args:
            refused: counts each that was one too many.
        """
        self.refused = refused
        self.held: Present[Holder] = Present()

    def is_full(self, holder: Holder) -> bool:
        """Whether one more is too many."""
        return self.held.total() >= STREAM_LIMIT or self.held[holder] >= STREAM_LIMIT_PER_HOLDER


class EventResponse(StreamingResponse):
    """A stream that counts for as long as it is sent, however that ends."""

    def __init__(self, streams: Streams, holder: Holder, content: AsyncGenerator[bytes]) -> None:
        super().__init__(content, media_type="text/event-stream", headers={"x-accel-buffering": "no"})
        self._streams, self._holder, self._content = streams, holder, content

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Sends it, or 503."""
        if scope.get("clientscope.head"):
            await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
            await send({"type": "http.response.body", "body": b""})
            return
        held = self._streams.held
        if self._streams.is_full(self._holder):
            self._streams.refused()
            full = JSONResponse({"detail": "too many event streams"}, status_code=503, headers={"retry-after": "10"})
            await full(scope, receive, send)
            return
        held[self._holder] += 1
        try:
            async with aclosing(self._content):
                await super().__call__(scope, receive, send)
        finally:
            held.leave(self._holder)


async def stream(state: State, clock: Callable[[], int], stopping: Callable[[], bool]) -> AsyncGenerator[bytes]:
    """``changed`` events with the `Overview`, from the present one on, and ``alive`` events; until ``stopping``."""
    yield f"retry: {RETRY_MS}\n\n".encode()
    seen: int | None = None
    idle = lasted = 0.0
    while not stopping() and lasted < LONGEST_SECONDS:
        if state.version != seen:
            overview = await run_in_threadpool(state.overview, clock())
            seen = overview.version
            idle = 0.0
            yield b"event: changed\ndata: %b\n\n" % adapter(Overview).dump_json(overview)
        elif idle >= ALIVE_SECONDS:
            idle = 0.0
            yield f'event: alive\ndata: {{"version":{seen}}}\n\n'.encode()
        await asyncio.sleep(INTERVAL_SECONDS)
        idle += INTERVAL_SECONDS
        lasted += INTERVAL_SECONDS


_ROWS_AT_ONCE = 200

_MEDIA_TYPES = {"csv": "text/csv; charset=utf-8", "json": "application/json"}

CLIENT_COLUMNS = (*(field.name for field in fields(ClientRow) if field.name != "findings"), "findings_worst", "findings_count")
"""Columns of a CSV: the API's names.  ``findings_count`` is empty where the client was not judged, and 0 where it is clean."""


def file_of(name: str, format: str, columns: Sequence[str], rows: Iterator[Mapping[str, Any]]) -> StreamingResponse:
    """A CSV of these columns, no cell of which is a formula; or one array of JSON, a row in each line."""
    headers = {"content-disposition": f'attachment; filename="{name}.{format}"'}
    return StreamingResponse(_written(format, columns, rows), media_type=_MEDIA_TYPES[format], headers=headers)


def _written(format: str, columns: Sequence[str], rows: Iterator[Mapping[str, Any]]) -> Iterator[str]:
    before = f"{csv_line(columns)}\r\n" if format == "csv" else "[\n"
    while part := list(islice(rows, _ROWS_AT_ONCE)):
        if format == "csv":
            yield before + "".join(f"{csv_line(map(_flat(row).get, columns))}\r\n" for row in part)
            before = ""
        else:
            yield before + ",\n".join(json.dumps(row, ensure_ascii=False) for row in part)
            before = ",\n"
    yield before if format == "csv" else "[]\n" if before == "[\n" else "\n]\n"


def _flat(row: Mapping[str, Any]) -> dict[str, object]:
    """Several values are in one cell, and what is below a name in cells of its own."""
    found: dict[str, object] = {}
    for name, value in row.items():
        if isinstance(value, Mapping):
            found |= {f"{name}_{below}": each for below, each in value.items()}
        else:
            found[name] = " ".join(map(str, value)) if isinstance(value, list | tuple) else value
    return found
