"""Route of upgrade readiness."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

from fastapi import APIRouter, Query

from clientscope.api.common import ApiProblem, QueryProblem
from clientscope.api.readiness import ReadinessBy, ReadinessGroups
from sinks.dashboard.api.routes_clients import Limit, Offset
from sinks.dashboard.state.readiness import NEWEST, ReadinessView

_WRONG: dict[int | str, dict[str, Any]] = {
    400: {"model": QueryProblem | ApiProblem, "description": "`q` can't be read, or unknown release"}
}


def routes(view: ReadinessView, clock: Callable[[], int]) -> APIRouter:
    """The resources under ``/api/v1``."""
    router = APIRouter()

    @router.get("/readiness", responses=_WRONG)
    def readiness(
        target: Annotated[str, Query(max_length=20, description="Release of the brokers, such as 4.0.0 or 4.1.")] = NEWEST,
        by: ReadinessBy = "application",
        q: Annotated[str, Query(max_length=2_000, description="Only these clients: `owner:payments verdict:breaks`.")] = "",
        offset: Offset = 0,
        limit: Limit = 100,
    ) -> ReadinessGroups:
        """Which clients break, fall back or work with brokers of another release, by the versions that gateways saw them request."""
        return view.groups(target, by, limit, offset, clock(), q)

    return router
