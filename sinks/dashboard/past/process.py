"""Program of the process that reads tables for serve: ``python -m sinks.dashboard.past.process FOLDER [OWNERS]``.

A question is a line of JSON on its standard input, ``{"question", "arguments"}``.  The answer is a line on its standard output, with
``answer`` or ``error``.  The process ends when its input does, or is killed when a question takes too long.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from clientscope.local.answering import answer_questions
from clientscope.profiles import owners
from clientscope.profiles.owners import NO_OWNERS, Owners
from clientscope.query import QueryError
from sinks.dashboard.past import connections, findings, pushes
from sinks.dashboard.past.pushes import Whose
from sinks.dashboard.past.tables import Json, NoAnswer, Span, Tables, unreadable


class Questions:
    """Answers questions about the tables below a folder; for one thread.

    Lists are kept for one version of their table, since most questions are for another page of the list before.

    Args:
        owners: of the clients in them.
    """

    def __init__(self, folder: str, owners: Owners = NO_OWNERS) -> None:
        self._tables = tables = Tables(folder)
        self._all_clients = lru_cache(2)(lambda span, version: connections.clients(tables, span, owners))
        self._lifetimes = lru_cache(1)(lambda span, version, known_ms: connections.lifetimes(tables, span, known_ms))
        self._open_findings = lru_cache(1)(lambda at_ms, version: findings.at_a_time(tables, at_ms))
        self._ended_findings = lru_cache(1)(lambda span, version: findings.ended(tables, span))

    def answer(self, question: str, arguments: dict[str, Any]) -> Json:
        """The answer, as JSON has it.

        Raises:
            NoAnswer: the tables can't say.
            QueryError: ``q`` or ``sort`` can't be read.
        """
        given = dict(arguments)
        if "span" in given:
            given["span"] = Span(*given["span"])
        if "whose" in given:
            given["whose"] = Whose(**given["whose"])
        answer: Json = getattr(self, f"_{question}")(**given)
        return answer

    def _series(self, span: Span, q: str = "", now_ms: int = 0) -> Json:
        if not q.strip():
            return connections.series(self._tables, span)
        version = self._tables.version("connections")
        found, complete_ms = self._all_clients(span, version)
        chosen = connections.chosen(found, q, now_ms)
        return connections.chosen_series(self._tables, span, self._lifetimes(span, version, complete_ms), chosen)

    def _clients(self, span: Span, **chosen: Any) -> Json:
        found, complete_ms = self._all_clients(span, self._tables.version("connections"))
        return {**connections.page(found, **chosen), "complete_ms": complete_ms}

    def _starts(self, span: Span, whose: Whose, **chosen: Any) -> Json:
        complete_ms = self._pushes_until(span)
        return {**pushes.starts(self._tables, span, whose, **chosen), "complete_ms": complete_ms}

    def _differences(self, span: Span, whose: Whose) -> Json:
        complete_ms = self._pushes_until(span)
        return {**pushes.differences(self._tables, span, whose), "complete_ms": complete_ms}

    def _pushes_until(self, span: Span) -> int | None:
        """When the newest push was taken; none may have come since."""
        later, newest_ms = self._tables.written("pushes", span)
        return span.to_ms if later else newest_ms

    def _client_facts(self, span: Span, whose: Whose) -> Json:
        return pushes.client_facts(self._tables, span, whose)

    def _findings_at(self, at_ms: int, **chosen: Any) -> Json:
        return findings.page(self._open_findings(at_ms, self._tables.version("findings")), **chosen)

    def _findings_ended(self, span: Span, **chosen: Any) -> Json:
        return findings.page(self._ended_findings(span, self._tables.version("findings")), **chosen)


_NICE = 5


def _answer(questions: Questions, asked: Json) -> Json:
    try:
        return {"answer": questions.answer(asked["question"], asked["arguments"])}
    except NoAnswer as problem:
        return _fault(problem)
    except QueryError as error:
        return {"error": {"detail": str(error), "position": error.position, "length": error.length, "expected": list(error.expected)}}
    except Exception as error:  # rows that are none of the job's, say: the next question may have an answer
        return _fault(unreadable(f"{type(error).__name__}: {error}"))
    finally:
        pa.default_memory_pool().release_unused()


def _fault(problem: NoAnswer) -> Json:
    return {"error": {"kind": problem.kind, "detail": str(problem), "hint": problem.hint or "", "reason": problem.reason}}


def _ready() -> Callable[[Json], Json]:
    folder, *owners_file = sys.argv[1:]
    return partial(_answer, Questions(folder, owners.read_if_given(Path(owners_file[0]) if owners_file else None)))


if __name__ == "__main__":
    answer_questions(_NICE, _ready)
