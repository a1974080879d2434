"""The page, served in the test's own process from made-up records: no broker, no job."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import served_page
from page_app import LOCAL
from page_fleet import OWNERS, Fleet
from starlette.types import ASGIApp, Receive, Scope, Send

from clientscope.clock import now_ms
from sinks.dashboard.http.access import Access
from sinks.dashboard.state.known import TopicRecord
from sinks.dashboard.state.state import State

Decision = tuple[str, bytes | None]
"""Of a fingerprint; None takes one back."""


class Stripping:
    """A reverse proxy that serves the page under a path of its own.

    Attributes:
        streams: how many event streams are open.
        outside: paths that were asked for beyond the prefix.
    """

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix
        self.streams = 0
        self.outside: list[str] = []

    def before(self, app: ASGIApp) -> ASGIApp:
        self._app = app
        return self

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        path: str = scope["path"]
        if not path.startswith(self._prefix):
            self.outside.append(path)
        is_stream = path.endswith("/events")
        self.streams += is_stream
        try:
            inner = path.removeprefix(self._prefix.rstrip("/"))
            await self._app({**scope, "path": inner, "raw_path": inner.encode()}, receive, send)
        finally:
            self.streams -= is_stream


@dataclass(frozen=True)
class PageServer:
    """One that runs.

    Attributes:
        state: what it shows; records may be applied at any time.
        url: of the page, with a slash at its end.
        decisions: what was written to ``clientscope.decisions``.
    """

    state: State
    fleet: Fleet
    url: str
    proxy: Stripping
    decisions: list[Decision]

    def apply(self, records: Iterable[TopicRecord]) -> None:
        """As a reader would."""
        self.state.apply(records)


@contextmanager
def serving(
    fleet: Fleet | int = 0,
    prefix: str = "/",
    live: bool = True,
    data_docs_dir: Path = Path("no-data-docs"),
    access: Access = LOCAL,
    history_dir: Path | None = None,
) -> Iterator[PageServer]:
    """Serves a fleet, or one of so many clients, until left; without, there are no records."""
    state = State(OWNERS)
    made = Fleet(now_ms(), fleet) if isinstance(fleet, int) else fleet
    if fleet != 0:
        state.apply(made.records())
    if live:
        state.live()
    proxy, decisions = Stripping(prefix), list[Decision]()
    more = {"data_docs_dir": data_docs_dir, "write": lambda fingerprint, value, headers: decisions.append((fingerprint, value))}
    with served_page.serving(state, made.values, history_dir, access=access, around=proxy.before, **more) as address:
        yield PageServer(state, made, address + prefix, proxy, decisions)
