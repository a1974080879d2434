"""Routes of the past: connections over time, clients, pushes and findings before the topics begin."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, fields
from typing import Annotated, Literal, NamedTuple

from fastapi import APIRouter, Depends, Query
from starlette.responses import StreamingResponse

from clientscope.api.common import ApiProblem, QueryProblem
from clientscope.api.history import (
    NOT_SHARED,
    PastClientFacts,
    PastClientRow,
    PastClients,
    PastDifferences,
    PastFindings,
    PastSeries,
    PastStarts,
    PastThere,
)
from clientscope.errors import SettingsError
from clientscope.model.codec import adapter
from clientscope.query import HISTORY_CLIENTS, HISTORY_FINDINGS, parse
from sinks.dashboard.api.routes import Limit, Offset, Q, Sort, refusals
from sinks.dashboard.api.streams import file_of
from sinks.dashboard.past.asking import Past
from sinks.dashboard.past.tables import Json
from sinks.dashboard.state.state import State

MINUTE_MS, DAY_MS = 60_000, 86_400_000
MOST_DAYS = 800

_END_OF_TIME_MS = 2**43
ROWS_AT_ONCE = 5_000
"""Rows of a file that are in memory."""

Ms = Annotated[int | None, Query(ge=0, le=_END_OF_TIME_MS)]
From = Annotated[
    int | None, Query(alias="from", ge=0, le=_END_OF_TIME_MS, description="In ms since the epoch; a day before `to` if left out.")
]
To = Annotated[int | None, Query(ge=0, le=_END_OF_TIME_MS, description="In ms since the epoch, and before that; now if left out.")]
Name = Annotated[str | None, Query(max_length=300)]
StartLimit = Annotated[int, Query(ge=1, le=50, description="At most so many items.")]

_WRONG = refusals(
    {400: "`q` or `sort` can't be read; or the time asked about can't be, or is too much"}, QueryProblem | ApiProblem
) | refusals(
    {
        404: "serve has no history, or this table isn't there yet",
        503: "history can't be read now, took too long, or too many ask; `Retry-After` says when to come again",
    }
)


class _Asked(NamedTuple):
    from_ms: int | None
    to: int | None

    def span(self, now: int) -> tuple[int, int]:
        """From and to; SettingsError where there is no such time, or it is too long."""
        # A whole minute, so that all pages of a list are of one answer.
        until = self.to if self.to is not None and self.to <= now else now // MINUTE_MS * MINUTE_MS
        since = max(0, until - DAY_MS) if self.from_ms is None else self.from_ms
        if since >= until:
            raise SettingsError("`from` must come before `to`, and before now", "both in ms since the epoch")
        if until - since > MOST_DAYS * DAY_MS:
            raise SettingsError(f"at most {MOST_DAYS} days in one question", "ask for a shorter range")
        return since, until


def _asked(from_ms: From = None, to: To = None) -> _Asked:
    return _Asked(from_ms, to)


Asked = Annotated[_Asked, Depends(_asked)]


def _whose(
    client_id: Annotated[Name, Query(description="Exactly this one; empty for clients without one.")] = None,
    application: Annotated[Name, Query(description="client.id without its instance part.")] = None,
    principal: Annotated[Name, Query(description="Empty for clients without one.")] = None,
    address: Name = None,
) -> dict[str, str | None]:
    whose = {"client_id": client_id, "application": application, "principal": principal, "address": address}
    if all(value is None for value in whose.values()):
        raise SettingsError("say whose: client_id, application, principal or address", "several of them: all must be so")
    return whose


WhosePushes = Annotated[dict[str, str | None], Depends(_whose)]


def routes(past: Past, state: State, clock: Callable[[], int]) -> APIRouter:
    """The resources under ``/api/v1/history``."""
    router = APIRouter()

    def of_pushes(span: tuple[int, int], found: Json) -> Json:
        """An answer from the table of pushes: it is complete if the topic has none that came after its newest one."""
        complete_ms = found.get("complete_ms")
        if complete_ms != span[1] and not state.may_have_pushes(span[0] if complete_ms is None else complete_ms + 1):
            complete_ms = span[1]
        return {"from_ms": span[0], "to_ms": span[1], **found, "complete_ms": complete_ms}

    @router.get("")
    def there() -> PastThere:
        """Whether there is history here."""
        return PastThere(configured=past.is_there)

    @router.get("/series", responses=_WRONG)
    def series(asked: Asked, q: Q = "") -> PastSeries:
        """Connections by software version, in steps such that there are at most 500: the most at once in each.

        With `q`, those of the clients that `history/clients` then lists: all that were there at any moment of a step.
        """
        parse(q, HISTORY_CLIENTS, clock())
        return adapter(PastSeries).validate_python(past.ask("series", span=asked.span(clock()), q=q, now_ms=clock()))

    @router.get("/clients", responses=_WRONG)
    def clients(asked: Asked, q: Q = "", sort: Sort = "", offset: Offset = 0, limit: Limit = 1_000) -> PastClients:
        """Clients that were connected."""
        parse(q, HISTORY_CLIENTS, clock())  # what can't be read asks no table
        span = asked.span(clock())
        found = past.ask("clients", span=span, q=q, sort=sort, offset=offset, limit=limit, now_ms=clock())
        return adapter(PastClients).validate_python({"from_ms": span[0], "to_ms": span[1], "offset": offset, **found})

    @router.get(
        "/clients/export",
        response_class=StreamingResponse,
        responses={**_WRONG, 200: {"content": {"text/csv": {}, "application/json": {}}}},
    )
    def export(asked: Asked, q: Q = "", sort: Sort = "", format: Literal["csv", "json"] = "csv") -> StreamingResponse:
        """All of them that `q` leaves, as a file.  No cell is a formula in a spreadsheet."""
        span = asked.span(clock())

        def part(offset: int) -> Json:
            return past.ask("clients", span=span, q=q, sort=sort, offset=offset, limit=ROWS_AT_ONCE, now_ms=clock())

        first = part(0)

        def rows() -> Iterator[Mapping[str, object]]:
            for offset in range(0, first["total"], ROWS_AT_ONCE):
                items = (part(offset) if offset else first)["items"]
                yield from map(asdict, adapter(list[PastClientRow]).validate_python(items))

        columns = [each.name for each in fields(PastClientRow) if each.name not in NOT_SHARED]
        return file_of("clients-seen", format, columns, rows())

    @router.get("/starts", responses=_WRONG)
    def starts(
        asked: Asked,
        whose: WhosePushes,
        offset: Offset = 0,
        limit: StartLimit = 20,
        settings: Annotated[bool, Query(description="Also what each pushed.")] = False,
    ) -> PastStarts:
        """Starts of an application or a client: what it pushed, as the difference from the start before; redacted."""
        span = asked.span(clock())
        found = past.ask("starts", span=span, whose=whose, offset=offset, limit=limit, settings=settings)
        return adapter(PastStarts).validate_python({"offset": offset, **of_pushes(span, found)})

    @router.get("/diff", responses=_WRONG)
    def diff(asked: Asked, whose: WhosePushes) -> PastDifferences:
        """What changed between two times: the newest start until the second against the newest before the first; redacted."""
        span = asked.span(clock())
        return adapter(PastDifferences).validate_python(of_pushes(span, past.ask("differences", span=span, whose=whose)))

    @router.get("/client-facts", responses=_WRONG)
    def client_facts(asked: Asked, whose: WhosePushes) -> PastClientFacts:
        """What an application or a client said in its own metrics, in steps such that there are at most 120."""
        return adapter(PastClientFacts).validate_python(past.ask("client_facts", span=asked.span(clock()), whose=whose))

    @router.get("/findings", responses=_WRONG)
    def findings(
        at: Annotated[Ms, Query(description="In ms since the epoch; now if left out.")] = None,
        q: Q = "",
        sort: Sort = "",
        offset: Offset = 0,
        limit: Limit = 100,
    ) -> PastFindings:
        """The findings at a time, each in its last state recorded by then."""
        parse(q, HISTORY_FINDINGS, clock())
        found = past.ask("findings_at", at_ms=clock() if at is None else at, q=q, sort=sort, offset=offset, limit=limit, now_ms=clock())
        return adapter(PastFindings).validate_python({"offset": offset, **found}, strict=False)

    @router.get("/findings/ended", responses=_WRONG)
    def ended(asked: Asked, q: Q = "", sort: Sort = "-ended", offset: Offset = 0, limit: Limit = 100) -> PastFindings:
        """What was resolved or closed."""
        parse(q, HISTORY_FINDINGS, clock())
        found = past.ask("findings_ended", span=asked.span(clock()), q=q, sort=sort, offset=offset, limit=limit, now_ms=clock())
        return adapter(PastFindings).validate_python({"offset": offset, **found}, strict=False)

    return router
