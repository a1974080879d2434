"""The registry of queries: each has a file, a line, and what the job needs to know of it."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import pytest

from clientscope.config import StreamSettings
from clientscope.records.topics import BY_NAME
from streaming import queries
from streaming.checkpoints import plans
from streaming.queries import registry
from streaming.queries.query import JobQuery
from streaming.queries.registry import QUERIES


def test_every_file_with_a_query_is_registered() -> None:
    folder = Path(queries.__file__).parent
    assert set(QUERIES) == {path.stem for path in folder.glob("*.py") if "\nQUERY = " in path.read_text()}


@pytest.mark.parametrize("name", QUERIES)
def test_its_topics_are_there_and_its_plan_reads_one_of_them(name: str) -> None:
    query, plan = QUERIES[name], plans.QUERIES[name]
    assert {*query.reads, *query.writes} <= BY_NAME.keys()
    if plan is not None:
        assert plan.topic in query.reads


def test_clients_own_metrics_are_read_on_request() -> None:
    def chosen(**settings: bool) -> set[str]:
        return set(registry.wanted(StreamSettings(bootstrap_servers="broker:1", **settings)))  # type: ignore[arg-type]

    assert chosen() == set(QUERIES) - {"history_client_facts"}
    assert chosen(client_telemetry=True) == set(QUERIES)


@pytest.mark.parametrize(
    ("made", "message"),
    [(object(), "is not a JobQuery"), (JobQuery(start=lambda job: None, reads=(), writes=()), "needs a step")],  # type: ignore[arg-type, return-value]
)
def test_what_is_no_query_or_has_a_checkpoint_and_no_step_is_refused(made: object, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("streaming.queries.made")
    module.QUERY = made  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setitem(plans.PLANS, "made", plans.PLANS["results"])
    with pytest.raises((TypeError, ValueError), match=message):
        registry.query_of("made")
