"""Questions by name; an answer is kept briefly, so that its pages, orders and searches cost no further read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa

from clientscope.profiles.owners import NO_OWNERS, Owners
from sinks.dashboard.past import client_facts, clients, differences, findings, lifetimes, pushes, series
from sinks.dashboard.past.problems import Json
from sinks.dashboard.past.pushes import Whose
from sinks.dashboard.past.tables import Span, Tables

KEPT_S = 300.0
"""The longest time that an answer is kept; a client that was erased from the tables may remain in answers for so long.

An answer about a time that isn't wholly in its table is kept for that version of the table alone.
"""

_MOST_KEPT = 3


class Questions:
    """Answers questions about the tables below a folder; for one thread.

    Args:
        clock: seconds.
        owners: of the clients in them.
    """

    def __init__(self, folder: str, clock: Callable[[], float], owners: Owners = NO_OWNERS) -> None:
        self._tables = Tables(folder)
        self._owners = owners
        self._clock = clock
        self._kept: dict[tuple[Any, ...], tuple[float, pa.Table, int | None]] = {}

    def answer(self, question: str, arguments: dict[str, Any]) -> Json:
        """The answer, as JSON has it.

        Raises:
            NoAnswer: the tables can't say.
            QueryError: ``q`` or ``sort`` can't be read.
        """
        answer: Json = getattr(self, f"_{question}")(**arguments)
        return answer

    def _series(self, span: tuple[int, int], q: str = "", now_ms: int = 0) -> Json:
        if not q.strip():
            return series.series(self._tables, Span(*span))
        chosen = clients.chosen(self._all_clients(span)[0], q, now_ms)
        found, _ = self._once("lifetimes", span, lambda: lifetimes.lifetimes(self._tables, Span(*span)))
        return lifetimes.series(self._tables, Span(*span), found, chosen)

    def _clients(self, span: tuple[int, int], **chosen: Any) -> Json:
        found, complete_ms = self._all_clients(span)
        return {**clients.page(found, **chosen), "complete_ms": complete_ms}

    def _all_clients(self, span: tuple[int, int]) -> tuple[pa.Table, int | None]:
        return self._once("clients", span, lambda: clients.clients(self._tables, Span(*span), self._owners))

    def _starts(self, span: tuple[int, int], whose: dict[str, str | None], **chosen: Any) -> Json:
        complete_ms = self._pushes_until(span)
        return {**pushes.starts(self._tables, Span(*span), Whose(**whose), **chosen), "complete_ms": complete_ms}

    def _differences(self, span: tuple[int, int], whose: dict[str, str | None]) -> Json:
        complete_ms = self._pushes_until(span)
        return {**differences.differences(self._tables, Span(*span), Whose(**whose)), "complete_ms": complete_ms}

    def _pushes_until(self, span: tuple[int, int]) -> int | None:
        """When the newest push was taken; none may have come since."""
        later, newest_ms = self._tables.written("pushes", Span(*span))
        return span[1] if later else newest_ms

    def _client_facts(self, span: tuple[int, int], whose: dict[str, str | None]) -> Json:
        return client_facts.client_facts(self._tables, Span(*span), Whose(**whose))

    def _findings_at(self, at_ms: int, **chosen: Any) -> Json:
        return findings.page(self._of_findings(("at", at_ms), lambda: findings.at_a_time(self._tables, at_ms)), **chosen)

    def _findings_ended(self, span: tuple[int, int], **chosen: Any) -> Json:
        return findings.page(self._of_findings(("ended", *span), lambda: findings.ended(self._tables, Span(*span))), **chosen)

    def _of_findings(self, key: tuple[Any, ...], ask: Callable[[], pa.Table]) -> pa.Table:
        key = (*key, self._tables.version("findings"))
        return (self._known(key) or self._keep(key, ask(), None))[0]

    def _once(self, question: str, span: tuple[int, int], ask: Callable[[], pa.Table]) -> tuple[pa.Table, int | None]:
        """An answer from the table ``connections``, and until when it is complete."""
        key: tuple[Any, ...] = (question, *span)
        found = self._known(key)
        if found is None:
            version = self._tables.version("connections")
            later, newest_ms = self._tables.written("connections", Span(*span))
            complete_ms = span[1] if later and newest_ms is not None else newest_ms
            if not later:
                key = (*key, version)
            found = self._known(key) or self._keep(key, ask(), complete_ms)
        return found

    def _known(self, key: tuple[Any, ...]) -> tuple[pa.Table, int | None] | None:
        now = self._clock()
        self._kept = {other: kept for other, kept in self._kept.items() if now - kept[0] < KEPT_S}
        return self._kept[key][1:] if key in self._kept else None

    def _keep(self, key: tuple[Any, ...], found: pa.Table, complete_ms: int | None) -> tuple[pa.Table, int | None]:
        while len(self._kept) >= _MOST_KEPT:
            del self._kept[next(iter(self._kept))]
        self._kept[key] = self._clock(), found, complete_ms
        return found, complete_ms
