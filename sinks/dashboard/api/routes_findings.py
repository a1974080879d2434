"""Routes of findings: lists, groups, one finding, and decisions about it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

from fastapi import APIRouter, Depends, HTTPException, Path, Query

from clientscope.api.common import ApiProblem
from clientscope.api.findings import AcceptRequest, CloseRequest, DecisionTaken, FindingGroups, FindingList, ReopenRequest
from clientscope.findings.record import TO_DO, Finding
from clientscope.findings.record import State as FindingState
from sinks.dashboard.api.deciding import Deciding
from sinks.dashboard.api.routes_clients import WRONG_QUERY, Offset, Q, Sort
from sinks.dashboard.http.access import require_admin
from sinks.dashboard.state.findings import Confidence, FindingChoice, FindingGroupBy, Suppressed
from sinks.dashboard.state.state import State

States = Annotated[tuple[FindingState, ...], Query(alias="state", description="Only these; may be given several times.")]
OfConfidence = Annotated[Confidence, Query(description="low is of those that only look like it.")]
OfSuppressed = Annotated[Suppressed, Query(description="Whether to include findings that a suppression of the rules file hides.")]


def _choice(
    states: States = TO_DO,
    confidence: OfConfidence = "all",
    suppressed: OfSuppressed = "no",
    q: Q = "",
) -> FindingChoice:
    return FindingChoice(frozenset(states), confidence, suppressed, q)


Chosen = Annotated[FindingChoice, Depends(_choice)]
"""Which findings, by the parameters that every list of them takes."""

Fingerprint = Annotated[str, Path(pattern="^[0-9a-f]{32}$")]
Limit = Annotated[int, Query(ge=1, le=1_000, description="At most so many items.")]

_CHANGES: dict[int | str, dict[str, Any]] = {
    400: {"model": ApiProblem, "description": "the decision doesn't fit"},
    403: {"model": ApiProblem, "description": "not an admin, or the request comes from another site"},
    404: {"model": ApiProblem, "description": "no such finding"},
    503: {"model": ApiProblem, "description": "Kafka has not taken it"},
}


def routes(state: State, deciding: Deciding, clock: Callable[[], int]) -> APIRouter:
    """The resources under ``/api/v1``."""
    router = APIRouter()

    @router.get("/findings", responses=WRONG_QUERY)
    def findings(
        choice: Chosen,
        sort: Sort = "",
        offset: Offset = 0,
        limit: Limit = 100,
    ) -> FindingList:
        """What is wrong, what to fix first first.  A `state:` in `q` counts instead of the parameter."""
        return state.findings(choice, offset, limit, sort, clock())

    @router.get("/findings/groups", responses=WRONG_QUERY)
    def groups(
        group: FindingGroupBy,
        choice: Chosen,
        offset: Offset = 0,
        limit: Limit = 100,
    ) -> FindingGroups:
        """The same by code, principal, owner or severity, worst first."""
        return state.finding_groups(choice, group, offset, limit, clock())

    @router.get("/findings/{fingerprint}", responses={404: {"model": ApiProblem}})
    def finding(fingerprint: Fingerprint) -> Finding:
        """All that is known of one."""
        return _known(fingerprint)

    @router.post("/findings/{fingerprint}/close", responses=_CHANGES)
    def close(fingerprint: Fingerprint, asked: CloseRequest, name: Annotated[str, Depends(require_admin)]) -> DecisionTaken:
        """Closes it by a person's decision."""
        return deciding.close(_known(fingerprint), asked.resolution, asked.why, asked.until, name, clock())

    @router.post("/findings/{fingerprint}/accept", responses=_CHANGES)
    def accept(fingerprint: Fingerprint, asked: AcceptRequest, name: Annotated[str, Depends(require_admin)]) -> DecisionTaken:
        """Takes the risk until a date."""
        return deciding.close(_known(fingerprint), "accepted", asked.why, asked.until, name, clock())

    @router.post("/findings/{fingerprint}/reopen", responses=_CHANGES)
    def reopen(fingerprint: Fingerprint, asked: ReopenRequest, name: Annotated[str, Depends(require_admin)]) -> DecisionTaken:
        """Takes the decision back."""
        return deciding.reopen(_known(fingerprint), asked.why, name, clock())

    def _known(fingerprint: str) -> Finding:
        found = state.finding(fingerprint)
        if found is None:
            raise HTTPException(404, "no finding has this fingerprint; one that is resolved is forgotten after 30 days")
        return found

    return router
