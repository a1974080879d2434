"""Routes of the whole installation: overview, gauges, results, brokers, numbers by minute, and events."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request, Response
from starlette.responses import StreamingResponse

from clientscope.api.brokers import Brokers
from clientscope.api.gauges import GaugeList
from clientscope.api.overview import Overview
from clientscope.api.results import Results
from clientscope.api.series import Series
from sinks.dashboard.api import events
from sinks.dashboard.api.routes_clients import WRONG_QUERY, Q
from sinks.dashboard.http.access import Visitor, visitor
from sinks.dashboard.state.state import State

Limit = Annotated[int, Query(ge=1, le=10_000, description="At most so many items.")]


def routes(state: State, clock: Callable[[], int], stopping: Callable[[], bool], streams: events.Streams) -> APIRouter:
    """The resources under ``/api/v1``."""
    router = APIRouter()

    @router.get("/overview")
    def overview() -> Overview:
        """The state of everything, in one small answer."""
        return state.overview(clock())

    @router.get("/gauges")
    def gauges(limit: Limit = 1_000) -> GaugeList:
        """Connections per listener, software name and version, at each gateway."""
        return state.gauges(limit)

    @router.get("/results")
    def results(limit: Limit = 100, fired: bool = False, pushed: bool = False) -> Results:
        """The rules' verdicts on each configuration; with `fired`, only of those on which a rule fired; with `pushed`, only of pushes."""
        return state.results(limit, fired, pushed)

    @router.get("/brokers", responses=WRONG_QUERY)
    def brokers(q: Q = "") -> Brokers:
        """The brokers, their software and APIs, and where those that `q` leaves differ."""
        return state.brokers(clock(), q)

    @router.get("/series")
    def series(minutes: Annotated[int, Query(ge=1, le=1_440, description="How far back.")] = 60) -> Series:
        """Connections by software version, and what was opened, closed and pushed, by minute."""
        return state.series_by_minute(clock(), minutes)

    @router.get("/events", response_class=StreamingResponse, responses={200: {"content": {"text/event-stream": {}}}})
    async def event_stream(request: Request, who: Annotated[Visitor, Depends(visitor)]) -> Response:
        """Server-sent events: `changed` with an Overview, at most four a second, and `alive` every five seconds without one."""
        holder = (who.name or "", request.scope.get("clientscope.address", ""))
        return events.EventResponse(streams, holder, events.stream(state, clock, stopping))

    return router
