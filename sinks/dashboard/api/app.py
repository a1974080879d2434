"""FastAPI application: page, JSON API, events, metrics and health."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path

from fastapi import APIRouter, FastAPI, HTTPException, Request, Response
from fastapi.responses import JSONResponse
from prometheus_client import Counter
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest

from clientscope.api.common import ApiProblem, QueryProblem
from clientscope.api.overview import Health
from clientscope.errors import ClientscopeError
from clientscope.query import QueryError
from sinks.dashboard.api import metrics, routes, routes_past, streams
from sinks.dashboard.api.deciding import Write
from sinks.dashboard.http.access import Access
from sinks.dashboard.http.files import PAGE, Asset, data_docs_routes
from sinks.dashboard.http.middleware import compressed, guarded, without_bodies
from sinks.dashboard.past.asking import Past
from sinks.dashboard.past.tables import RETRY_AFTER_S, NoAnswer
from sinks.dashboard.state.reader import Fetch
from sinks.dashboard.state.readiness import ReadinessView
from sinks.dashboard.state.state import State


def create_app(
    state: State,
    assets: Mapping[str, Asset],
    clock: Callable[[], int],
    *,
    alive: Callable[[], bool],
    stopping: Callable[[], bool],
    data_docs_dir: Path | None,
    access: Access,
    fetch: Fetch,
    write: Write,
    past: Past,
    refused: Counter,
) -> FastAPI:
    """The application.

    Args:
        clock: ms since the epoch.
        alive: whether the topics are being read, or tried again.
        stopping: whether event streams should end.
        data_docs_dir: where Data Docs are, or will be.
        access: the access rules.
        fetch: reads configurations.
        write: writes decisions.
        past: reads history's tables.
        refused: counts what the listener refuses, for ``/metrics``.
    """
    # No interactive documentation: FastAPI's loads scripts from elsewhere.
    app = FastAPI(title="clientscope", docs_url=None, redoc_url=None, openapi_url="/api/v1/openapi.json")
    app.add_middleware(compressed)
    app.add_middleware(without_bodies)
    app.add_middleware(guarded, access=access)
    app.add_exception_handler(ClientscopeError, _refused)
    open_streams = streams.Streams(refused.labels("listen", "event_streams").inc)
    for router in (
        routes.installation_routes(state, ReadinessView(state), access, clock, stopping, open_streams),
        routes.client_routes(state, fetch, write, clock),
    ):
        app.include_router(router, prefix="/api/v1", tags=["v1"])
    app.include_router(routes_past.routes(past, state, clock), prefix="/api/v1/history", tags=["v1"])
    app.include_router(_operations(state, alive, refused), include_in_schema=False)
    app.include_router(_page(assets), include_in_schema=False)
    if data_docs_dir is not None:
        app.include_router(data_docs_routes(data_docs_dir))
    return app


def _refused(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, ClientscopeError)
    if isinstance(error, QueryError):
        wrong = QueryProblem(detail=str(error), position=error.position, length=error.length, expected=list(error.expected))
        return JSONResponse(asdict(wrong), status_code=400)
    status = error.status if isinstance(error, NoAnswer) else 400
    headers = {"retry-after": str(RETRY_AFTER_S)} if status == 503 else None
    return JSONResponse(asdict(ApiProblem(detail=str(error), hint=error.hint)), status_code=status, headers=headers)


def _operations(state: State, alive: Callable[[], bool], refused: Counter) -> APIRouter:
    router = APIRouter()
    registry = metrics.registry(state)
    registry.register(refused)

    @router.get("/metrics")
    def prometheus() -> Response:
        return Response(generate_latest(registry), headers={"content-type": CONTENT_TYPE_LATEST})

    @router.get("/healthz")
    def healthz() -> JSONResponse:
        return _health(state, alive())

    @router.get("/readyz")
    def readyz() -> JSONResponse:
        return _health(state, state.feed.now == "live")

    return router


def _health(state: State, good: bool) -> JSONResponse:
    health = Health(status="ok" if good else "unavailable", feed=state.feed.now, detail=state.feed.detail)
    return JSONResponse(asdict(health), status_code=200 if good else 503)


def _page(assets: Mapping[str, Asset]) -> APIRouter:
    router = APIRouter()

    @router.get("/")
    def page(request: Request) -> Response:
        return _asset(assets[PAGE], request)

    @router.get("/static/{name:path}")
    def static(name: str, request: Request) -> Response:
        if name not in assets:
            raise HTTPException(404)
        return _asset(assets[name], request)

    return router


def _asset(asset: Asset, request: Request) -> Response:
    # Asked for again each time: a page of one release never runs with another's scripts. What hasn't changed isn't sent again.
    headers = {"content-type": asset.media_type, "cache-control": "no-cache", "etag": asset.etag}
    if asset.etag in [each.strip() for each in request.headers.get("if-none-match", "").split(",")]:
        return Response(status_code=304, headers=headers)
    return Response(asset.content, headers=headers)
