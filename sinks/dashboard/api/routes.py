"""Routes of the live page: the whole installation, clients, findings, readiness, rules, and signing in."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, HTTPException, Path, Query, Request, Response
from starlette.responses import StreamingResponse

from clientscope.api.clients import Brokers, ClientDetail, ClientGroups, ClientList, Connections, Facets, GaugeList, GroupBy, Series
from clientscope.api.common import ApiProblem, QueryProblem
from clientscope.api.findings import (
    CloseRequest,
    DecisionTaken,
    FindingGroups,
    FindingList,
    ReopenRequest,
    Results,
    RulePage,
)
from clientscope.api.overview import Login, Me, Overview, ReadinessBy, ReadinessGroups
from clientscope.model.finding import TO_DO, Finding
from clientscope.model.finding import State as FindingState
from clientscope.report.findings import Confidence, FindingChoice, Suppressed
from sinks.dashboard.api import deciding, streams
from sinks.dashboard.api.deciding import Write
from sinks.dashboard.http.access import Access, Visitor, require_admin, visitor
from sinks.dashboard.state.findings import FindingGroupBy
from sinks.dashboard.state.one_client import detail
from sinks.dashboard.state.reader import Fetch
from sinks.dashboard.state.readiness import NEWEST, ReadinessView
from sinks.dashboard.state.state import State
from udfs.rules.engine.rule import FIRED, NOT_EVALUABLE, Rule
from udfs.rules.registry import EVERY_RULE

Q = Annotated[str, Query(max_length=2_000, description="What to search for: `software:librdkafka version:<2.6 finding:>=high`.")]
Sort = Annotated[str, Query(max_length=200, description="Fields by commas, each with `-` for descending: `-connections,client_id`.")]
Offset = Annotated[int, Query(ge=0, le=10_000_000, description="Leave out so many.")]
Limit = Annotated[int, Query(ge=1, le=10_000, description="At most so many items.")]
Key = Annotated[str, Path(pattern="^[A-Za-z0-9_-]{1,64}$")]


def refusals(said: Mapping[int, str], model: Any = ApiProblem) -> dict[int | str, dict[str, Any]]:
    """What statuses mean, as FastAPI takes it; ``model`` is that of their answers."""
    return {status: {"model": model, "description": text} for status, text in said.items()}


WRONG_QUERY = refusals({400: "`q` or `sort` can't be read"}, QueryProblem)


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
FindingLimit = Annotated[int, Query(ge=1, le=1_000, description="At most so many items.")]

_CHANGES = refusals(
    {
        400: "the decision doesn't fit",
        403: "not an admin, or the request comes from another site",
        404: "no such finding",
        503: "Kafka has not taken it",
    }
)

_WRONG = refusals({400: "`q` can't be read, or unknown release"}, QueryProblem | ApiProblem)


Code = Annotated[str, Path(pattern="^[A-Z]{2}[0-9]{3}$")]


def client_routes(state: State, fetch: Fetch, write: Write, clock: Callable[[], int]) -> APIRouter:
    """The resources under ``/api/v1`` of clients, and of findings about them."""
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
        return streams.file_of("clients", format, streams.CLIENT_COLUMNS, map(asdict, rows))

    @router.get("/clients/{key}", responses=refusals({404: "no such client is known, or any more"}))
    def client(key: Key) -> ClientDetail:
        """One client: its identity, configuration, findings and starts."""
        found = detail(state, fetch, key)
        if found is None:
            raise HTTPException(404, "no such client is connected, nor was one lately")
        return found

    @router.get("/findings", responses=WRONG_QUERY)
    def findings(
        choice: Chosen,
        sort: Sort = "",
        offset: Offset = 0,
        limit: FindingLimit = 100,
    ) -> FindingList:
        """What is wrong, what to fix first first.  A `state:` in `q` counts instead of the parameter."""
        return state.findings(choice, offset, limit, sort, clock())

    @router.get("/findings/groups", responses=WRONG_QUERY)
    def finding_groups(
        group: FindingGroupBy,
        choice: Chosen,
        offset: Offset = 0,
        limit: FindingLimit = 100,
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
        return deciding.close(write, _known(fingerprint), asked, name, clock())

    @router.post("/findings/{fingerprint}/reopen", responses=_CHANGES)
    def reopen(fingerprint: Fingerprint, asked: ReopenRequest, name: Annotated[str, Depends(require_admin)]) -> DecisionTaken:
        """Takes the decision back."""
        return deciding.reopen(write, _known(fingerprint), asked, name, clock())

    def _known(fingerprint: str) -> Finding:
        found = state.finding(fingerprint)
        if found is None:
            raise HTTPException(404, "no finding has this fingerprint; one that is resolved is forgotten after 30 days")
        return found

    return router


def installation_routes(
    state: State,
    view: ReadinessView,
    access: Access,
    clock: Callable[[], int],
    stopping: Callable[[], bool],
    open_streams: streams.Streams,
) -> APIRouter:
    """The other resources under ``/api/v1``; ``me``, ``login`` and ``logout`` need no authentication."""
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
    def results(limit: Limit = 100, pushed: bool = False) -> Results:
        """The rules' verdicts on each configuration; with `pushed`, only of pushes."""
        return state.results(limit, pushed)

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
        holder = (who.name or "", access.address(request.scope))
        return streams.EventResponse(open_streams, holder, streams.stream(state, clock, stopping))

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

    by_code = {rule.code: rule for rule in EVERY_RULE}

    @router.get("/rules/{code}", responses=refusals({404: "no such rule"}))
    def rule(code: Code) -> RulePage:
        """What a rule finds, why that matters, what to do, and its source."""
        if code not in by_code:
            raise HTTPException(404, "this release has no such rule")
        return page(by_code[code])

    @router.get("/me")
    def me(who: Annotated[Visitor, Depends(visitor)]) -> Me:
        """The current user; none before signing in."""
        url = access.external_url if who.role else ""
        return Me(name=who.name, role=who.role, authentication=access.authentication, external_url=url or None)

    @router.post(
        "/login",
        status_code=204,
        responses=refusals({401: "no such token", 429: "too often"}),
    )
    async def login(asked: Login, request: Request) -> Response:  # in the event loop: one after the other, so that all wrong ones count
        """Exchanges a token for a cookie that scripts can't read."""
        response = Response(status_code=204)
        if not access.login(asked.token.get_secret_value(), request, response):
            raise HTTPException(401, "invalid token")
        return response

    @router.post("/logout", status_code=204)
    def logout(request: Request) -> Response:
        """Ends the session, and forgets the cookie."""
        response = Response(status_code=204)
        access.logout(request, response)
        return response

    return router


def page(rule: Rule) -> RulePage:
    """A rule's documentation, with its thresholds filled in."""
    return RulePage(
        code=rule.code,
        name=rule.name,
        title=rule.title,
        severity=rule.severity,
        risks=list(rule.risks),
        client_types=sorted(str(each.value) for each in rule.client_types),
        needs=rule.needs.value,
        keys=list(rule.keys),
        what=_flowing(rule.what),
        why=_flowing(rule.why),
        example=_flowing(rule.example),
        use_instead=_flowing(rule.use_instead),
        source=list(rule.sources),
        links=rule.links,
        fired=rule.message(FIRED),
        not_evaluable=rule.message(NOT_EVALUABLE),
    )


def _flowing(text: str) -> str:
    """Without the line breaks of the source code; paragraphs stay."""
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in text.split("\n\n"))
