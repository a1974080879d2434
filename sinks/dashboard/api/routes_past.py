"""Routes of the past: connections over time, clients, pushes and findings before the topics begin."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, fields, replace
from typing import Annotated, Any, Literal, NamedTuple, TypeVar

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
    PastSpan,
    PastStarts,
    PastThere,
)
from clientscope.errors import SettingsError
from clientscope.model.codec import adapter
from clientscope.query import HISTORY_CLIENTS, HISTORY_FINDINGS, Fields, parse
from sinks.dashboard.api.routes import Limit, Offset, Q, Sort, refusals
from sinks.dashboard.api.streams import file_of
from sinks.dashboard.past.asking import Past
from sinks.dashboard.state.state import State

MINUTE_MS, DAY_MS = 60_000, 86_400_000
MOST_DAYS = 800

_END_OF_TIME_MS = 2**43
ROWS_AT_ONCE = 5_000
"""Rows of a file that are in memory."""

Answer = TypeVar("Answer")
OfPushes = TypeVar("OfPushes", bound=PastSpan)

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

    def ask(answer: type[Answer], question: str, **asked: Any) -> Answer:
        """Asks, and checks what is answered by its model, which may also have what was asked for."""
        span = dict(zip(("from_ms", "to_ms"), asked.get("span", ()), strict=False))
        return adapter(answer).validate_python({**span, **asked, **past.ask(question, **asked)}, strict=False)

    def search(answer: type[Answer], question: str, fields: Fields, q: str, **asked: Any) -> Answer:
        """The same with a query; one that can't be read asks no table."""
        now_ms = clock()
        parse(q, fields, now_ms)
        return ask(answer, question, q=q, now_ms=now_ms, **asked)

    def of_pushes(answer: type[OfPushes], question: str, span: tuple[int, int], **asked: Any) -> OfPushes:
        """An answer from the table of pushes: it is complete if the topic has none that came after its newest one."""
        found = ask(answer, question, span=span, **asked)
        known_ms = found.complete_ms
        later = known_ms != span[1] and state.may_have_pushes(span[0] if known_ms is None else known_ms + 1)
        return found if later else replace(found, complete_ms=span[1])

    @router.get("")
    def there() -> PastThere:
        """Whether there is history here."""
        return PastThere(configured=past.is_there)

    @router.get("/series", responses=_WRONG)
    def series(asked: Asked, q: Q = "") -> PastSeries:
        """Connections by software version, in steps such that there are at most 500: the most at once in each.

        With `q`, those of the clients that `history/clients` then lists: all that were there at any moment of a step.
        """
        return search(PastSeries, "series", HISTORY_CLIENTS, q, span=asked.span(clock()))

    @router.get("/clients", responses=_WRONG)
    def clients(asked: Asked, q: Q = "", sort: Sort = "", offset: Offset = 0, limit: Limit = 1_000) -> PastClients:
        """Clients that were connected."""
        return search(PastClients, "clients", HISTORY_CLIENTS, q, span=asked.span(clock()), sort=sort, offset=offset, limit=limit)

    @router.get(
        "/clients/export",
        response_class=StreamingResponse,
        responses={**_WRONG, 200: {"content": {"text/csv": {}, "application/json": {}}}},
    )
    def export(asked: Asked, q: Q = "", sort: Sort = "", format: Literal["csv", "json"] = "csv") -> StreamingResponse:
        """All of them that `q` leaves, as a file.  No cell is a formula in a spreadsheet."""
        span = asked.span(clock())

        def part(offset: int) -> PastClients:
            return search(PastClients, "clients", HISTORY_CLIENTS, q, span=span, sort=sort, offset=offset, limit=ROWS_AT_ONCE)

        first = part(0)

        def rows() -> Iterator[Mapping[str, object]]:
            for offset in range(0, first.total, ROWS_AT_ONCE):
                yield from map(asdict, (part(offset) if offset else first).items)

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
        return of_pushes(PastStarts, "starts", asked.span(clock()), whose=whose, offset=offset, limit=limit, settings=settings)

    @router.get("/diff", responses=_WRONG)
    def diff(asked: Asked, whose: WhosePushes) -> PastDifferences:
        """What changed between two times: the newest start until the second against the newest before the first; redacted."""
        return of_pushes(PastDifferences, "differences", asked.span(clock()), whose=whose)

    @router.get("/client-facts", responses=_WRONG)
    def client_facts(asked: Asked, whose: WhosePushes) -> PastClientFacts:
        """What an application or a client said in its own metrics, in steps such that there are at most 120."""
        return ask(PastClientFacts, "client_facts", span=asked.span(clock()), whose=whose)

    @router.get("/findings", responses=_WRONG)
    def findings(
        at: Annotated[Ms, Query(description="In ms since the epoch; now if left out.")] = None,
        q: Q = "",
        sort: Sort = "",
        offset: Offset = 0,
        limit: Limit = 100,
    ) -> PastFindings:
        """The findings at a time, each in its last state recorded by then."""
        at_ms = clock() if at is None else at
        return search(PastFindings, "findings_at", HISTORY_FINDINGS, q, at_ms=at_ms, sort=sort, offset=offset, limit=limit)

    @router.get("/findings/ended", responses=_WRONG)
    def ended(asked: Asked, q: Q = "", sort: Sort = "-ended", offset: Offset = 0, limit: Limit = 100) -> PastFindings:
        """What was resolved or closed."""
        span = asked.span(clock())
        return search(PastFindings, "findings_ended", HISTORY_FINDINGS, q, span=span, sort=sort, offset=offset, limit=limit)

    return router
