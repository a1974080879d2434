"""Questions by name; an answer is kept briefly, so that its pages, orders and searches cost no further read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa

from clientscope.profiles.owners import NO_OWNERS, Owners
from clientscope.stores.store_path import AnyPath
from sinks.dashboard.past import client_facts, clients, differences, findings, lifetimes, pushes, series
from sinks.dashboard.past.answers import (
    ClientFactsAnswer,
    ClientsAnswer,
    DifferencesAnswer,
    FindingsAnswer,
    PastAnswer,
    SeriesAnswer,
    StartsAnswer,
)
from sinks.dashboard.past.pushes import Whose
from sinks.dashboard.past.tables import Span, Tables

KEPT_S = 300.0
"""The longest time that an answer is kept; a client that was erased from the tables may remain in answers for so long."""

_MOST_KEPT = 3


class Questions:
    """Answers questions about the tables below a folder; for one thread.

    Args:
        clock: seconds.
        owners: of the clients in them.
    """

    def __init__(self, folder: AnyPath, clock: Callable[[], float], owners: Owners = NO_OWNERS) -> None:
        self._tables = Tables(folder)
        self._owners = owners
        self._clock = clock
        self._kept: dict[tuple[Any, ...], tuple[float, pa.Table]] = {}

    def answer(self, question: str, arguments: dict[str, Any]) -> PastAnswer:
        """The answer, as JSON has it.

        Raises:
            NoAnswer: the tables can't say.
            QueryError: ``q`` or ``sort`` can't be read.
        """
        answer: PastAnswer = getattr(self, f"_{question}")(**arguments)
        return answer

    def _series(self, span: tuple[int, int], q: str = "", now_ms: int = 0) -> SeriesAnswer:
        if not q.strip():
            return series.series(self._tables, Span(*span))
        chosen = clients.chosen(self._all_clients(span), q, now_ms)
        found = self._once(("lifetimes", *span), lambda: lifetimes.lifetimes(self._tables, Span(*span)))
        return lifetimes.series(self._tables, Span(*span), found, chosen)

    def _clients(self, span: tuple[int, int], **chosen: Any) -> ClientsAnswer:
        return clients.page(self._all_clients(span), **chosen)

    def _all_clients(self, span: tuple[int, int]) -> pa.Table:
        return self._once(("clients", *span), lambda: clients.clients(self._tables, Span(*span), self._owners))

    def _starts(self, span: tuple[int, int], whose: dict[str, str | None], **chosen: Any) -> StartsAnswer:
        return pushes.starts(self._tables, Span(*span), Whose(**whose), **chosen)

    def _differences(self, span: tuple[int, int], whose: dict[str, str | None]) -> DifferencesAnswer:
        return differences.differences(self._tables, Span(*span), Whose(**whose))

    def _client_facts(self, span: tuple[int, int], whose: dict[str, str | None]) -> ClientFactsAnswer:
        return client_facts.client_facts(self._tables, Span(*span), Whose(**whose))

    def _findings_at(self, at_ms: int, **chosen: Any) -> FindingsAnswer:
        found = self._once(("findings", at_ms), lambda: findings.at_a_time(self._tables, at_ms))
        return findings.page(found, **chosen)

    def _findings_ended(self, span: tuple[int, int], **chosen: Any) -> FindingsAnswer:
        found = self._once(("ended", *span), lambda: findings.ended(self._tables, Span(*span)))
        return findings.page(found, **chosen)

    def _once(self, key: tuple[Any, ...], ask: Callable[[], pa.Table]) -> pa.Table:
        now = self._clock()
        self._kept = {other: kept for other, kept in self._kept.items() if now - kept[0] < KEPT_S}
        if key not in self._kept:
            while len(self._kept) >= _MOST_KEPT:
                del self._kept[next(iter(self._kept))]
            self._kept[key] = now, ask()
        return self._kept[key][1]
