"""The HTTP side: page, JSON API, events, metrics and health."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path
from typing import Annotated, Literal

from fastapi import APIRouter, FastAPI, HTTPException, Query, Response
from fastapi.responses import JSONResponse
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from starlette.responses import StreamingResponse

from clientscope.findings.record import State as FindingState
from sinks.dashboard import data_docs, events, metrics
from sinks.dashboard.assets import PAGE, Asset
from sinks.dashboard.findings import TO_DO, Choice, Confidence, Suppressed
from sinks.dashboard.models import Clients, Connections, Findings, Gauges, Health, Overview, Results
from sinks.dashboard.security import SecurityMiddleware
from sinks.dashboard.state import State

STREAM_LIMIT = 200
"""Event streams at a time."""

States = Annotated[tuple[FindingState, ...], Query(alias="state", description="Only these; may be given several times.")]
Severity = Annotated[Literal["info", "low", "medium", "high", "critical"], Query(description="Only of this severity or worse.")]
Limit = Annotated[int, Query(ge=1, le=10_000, description="At most so many items.")]


def create_app(
    state: State,
    assets: Mapping[str, Asset],
    clock: Callable[[], int],
    *,
    loopback_only: bool,
    alive: Callable[[], bool] = lambda: True,
    stopping: Callable[[], bool] = lambda: False,
    data_docs_dir: Path | None = None,
) -> FastAPI:
    """The application.

    Args:
        clock: ms since the epoch.
        loopback_only: answer only to a Host that is a loopback name.
        alive: whether the topics are being read, or tried again.
        stopping: whether event streams should end.
        data_docs_dir: where Data Docs are, or will be.
    """
    # No interactive documentation: FastAPI's loads scripts from elsewhere.
    app = FastAPI(title="clientscope", docs_url=None, redoc_url=None, openapi_url="/api/v1/openapi.json")
    app.add_middleware(SecurityMiddleware, loopback_only=loopback_only)
    app.include_router(_api(state, clock, stopping), prefix="/api/v1", tags=["v1"])
    app.include_router(_operations(state, alive), include_in_schema=False)
    app.include_router(_page(assets), include_in_schema=False)
    if data_docs_dir is not None:
        app.include_router(data_docs.api(data_docs_dir), prefix="/api/v1", tags=["v1"])
        app.include_router(data_docs.pages(data_docs_dir), include_in_schema=False)
    return app


def _api(state: State, clock: Callable[[], int], stopping: Callable[[], bool]) -> APIRouter:
    router = APIRouter()
    streams = 0

    @router.get("/overview")
    def overview() -> Overview:
        """The state of everything, in one small answer."""
        return state.overview(clock())

    @router.get("/gauges")
    def gauges(limit: Limit = 1_000) -> Gauges:
        """Connections per listener, software name and version, at each gateway."""
        return state.gauges(limit)

    @router.get("/connections")
    def connections(limit: Limit = 1_000) -> Connections:
        """Open connections."""
        return state.connections(limit)

    @router.get("/clients")
    def clients(limit: Limit = 1_000) -> Clients:
        """Connected clients: open connections of one identity together."""
        return state.clients(limit)

    @router.get("/results")
    def results(limit: Limit = 100, fired: bool = False) -> Results:
        """What the rules said of each push; with `fired`, only those where one fired."""
        return state.results(limit, fired)

    @router.get("/findings")
    def findings(
        states: States = TO_DO,
        severity: Severity = "info",
        code: Annotated[str, Query(max_length=64, description="Only of this rule, or a pattern: SK*.")] = "",
        confidence: Annotated[Confidence, Query(description="low is of those that only look like it.")] = "all",
        suppressed: Annotated[Suppressed, Query(description="Whether those are told that a suppression of the rules file hides.")] = "no",
        offset: Annotated[int, Query(ge=0, le=1_000_000, description="Leave out so many.")] = 0,
        limit: Annotated[int, Query(ge=1, le=1_000, description="At most so many items.")] = 100,
    ) -> Findings:
        """What is wrong, what to fix first first."""
        return state.findings(Choice(frozenset(states), severity, code, confidence, suppressed), offset, limit)

    @router.get("/events", response_class=StreamingResponse, responses={200: {"content": {"text/event-stream": {}}}})
    async def event_stream() -> StreamingResponse:
        """Server-sent events: `changed` with an Overview, at most four a second, and `alive` every five seconds without one."""
        nonlocal streams
        if streams >= STREAM_LIMIT:
            raise HTTPException(503, "too many event streams", headers={"retry-after": "10"})
        streams += 1

        async def counted() -> AsyncIterator[bytes]:
            nonlocal streams
            try:
                async for event in events.stream(state, clock, stopping):
                    yield event
            finally:
                streams -= 1

        return StreamingResponse(counted(), media_type="text/event-stream", headers={"x-accel-buffering": "no"})

    return router


def _operations(state: State, alive: Callable[[], bool]) -> APIRouter:
    router = APIRouter()
    registry = metrics.registry(state)

    @router.get("/metrics")
    def prometheus() -> Response:
        return Response(generate_latest(registry), headers={"content-type": CONTENT_TYPE_LATEST})

    @router.get("/healthz")
    def healthz() -> JSONResponse:
        return _health(state, alive())

    @router.get("/readyz")
    def readyz() -> JSONResponse:
        return _health(state, state.feed()[0] == "live")

    return router


def _health(state: State, good: bool) -> JSONResponse:
    feed, detail = state.feed()
    health = Health(status="ok" if good else "unavailable", feed=feed, detail=detail)
    return JSONResponse(health.model_dump(), status_code=200 if good else 503)


def _page(assets: Mapping[str, Asset]) -> APIRouter:
    router = APIRouter()

    @router.get("/")
    def page() -> Response:
        return _asset(assets[PAGE])

    @router.get("/static/{name}")
    def static(name: str) -> Response:
        if name not in assets:
            raise HTTPException(404)
        return _asset(assets[name])

    return router


def _asset(asset: Asset) -> Response:
    # Asked for again each time: a page of one release never runs with another's scripts.
    headers = {"content-type": asset.media_type, "cache-control": "no-cache"}
    return Response(asset.content, headers=headers)
