"""Routes of connections and clients: search, order and pages; one client; exports as CSV or JSON."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Literal

from fastapi import APIRouter, HTTPException, Path, Query
from starlette.responses import StreamingResponse

from clientscope.api.clients import ClientDetail, ClientGroups, ClientList, Connections, Facets, GroupBy
from clientscope.api.common import ApiProblem, QueryProblem
from sinks.dashboard.api.export import FORMATS
from sinks.dashboard.state.one_client import OneClient
from sinks.dashboard.state.state import State

Q = Annotated[str, Query(max_length=2_000, description="What to search for: `software:librdkafka version:<2.6 finding:>=high`.")]
Sort = Annotated[str, Query(max_length=200, description="Fields by commas, each with `-` for descending: `-connections,client_id`.")]
Offset = Annotated[int, Query(ge=0, le=10_000_000, description="Leave out so many.")]
Limit = Annotated[int, Query(ge=1, le=10_000, description="At most so many items.")]
Key = Annotated[str, Path(pattern="^[A-Za-z0-9_-]{1,64}$")]

WRONG_QUERY: dict[int | str, dict[str, Any]] = {400: {"model": QueryProblem, "description": "`q` or `sort` can't be read"}}


def routes(state: State, one_client: OneClient, clock: Callable[[], int]) -> APIRouter:
    """The resources under ``/api/v1``."""
    router = APIRouter()

    @router.get("/connections", responses=WRONG_QUERY)
    def connections(
        q: Q = "",
        sort: Sort = "",
        offset: Offset = 0,
        limit: Limit = 1_000,
        key: Annotated[str, Query(max_length=64, description="Only this client's.")] = "",
    ) -> Connections:
        """Open connections."""
        return state.connections(limit, offset=offset, q=q, sort=sort, key=key, now_ms=clock())

    @router.get("/clients", responses=WRONG_QUERY)
    def clients(q: Q = "", sort: Sort = "", offset: Offset = 0, limit: Limit = 1_000) -> ClientList:
        """Connected clients: open connections of one identity together."""
        return state.clients(limit, offset=offset, q=q, sort=sort, now_ms=clock())

    @router.get("/clients/groups", responses=WRONG_QUERY)
    def groups(group: GroupBy, q: Q = "", sort: Sort = "", offset: Offset = 0, limit: Limit = 100) -> ClientGroups:
        """Connected clients that share an application, a principal, a software version, an address or a broker."""
        return state.client_groups(group, limit, offset=offset, q=q, sort=sort, now_ms=clock())

    @router.get("/clients/facets", responses=WRONG_QUERY)
    def facets(q: Q = "", limit: Annotated[int, Query(ge=1, le=100, description="Values of each field.")] = 10) -> Facets:
        """The most frequent values of each field, among what `q` leaves."""
        return state.facets(limit, q=q, now_ms=clock())

    @router.get(
        "/clients/export",
        response_class=StreamingResponse,
        responses={**WRONG_QUERY, 200: {"content": {"text/csv": {}, "application/json": {}}}},
    )
    def export(q: Q = "", sort: Sort = "", format: Literal["csv", "json"] = "csv") -> StreamingResponse:
        """All clients that `q` leaves, as a file.  No cell is a formula in a spreadsheet."""
        rows = state.export(q=q, sort=sort, now_ms=clock())
        if rows is None:
            raise HTTPException(503, "the topics are still being read", headers={"retry-after": "5"})
        media_type, write = FORMATS[format]
        headers = {"content-disposition": f'attachment; filename="clients.{format}"'}
        return StreamingResponse(write(rows), media_type=media_type, headers=headers)

    @router.get("/clients/{key}", responses={404: {"model": ApiProblem, "description": "no such client is known, or any more"}})
    def client(key: Key) -> ClientDetail:
        """One client: its identity, configuration, findings and starts."""
        found = one_client.detail(key, clock())
        if found is None:
            raise HTTPException(404, "no such client is connected, nor was one lately")
        return found

    return router
