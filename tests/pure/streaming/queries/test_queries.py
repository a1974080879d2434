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
from streaming.queries.registry import QUERIES


def test_every_file_with_a_query_is_registered() -> None:
    folder = Path(queries.__file__).parent
    assert set(QUERIES) == {path.stem for path in folder.glob("*.py") if "\nQUERY = " in path.read_text()}


@pytest.mark.parametrize("name", QUERIES)
def test_its_topics_are_there_and_it_may_read_those_of_its_plan(name: str) -> None:
    query = QUERIES[name]
    assert {*query.reads, *query.writes} <= BY_NAME.keys()
    assert {*plans.PLANS[name].topics} <= {*query.reads}


def test_clients_own_metrics_are_read_on_request() -> None:
    def chosen(**settings: bool) -> set[str]:
        return set(registry.wanted(StreamSettings(bootstrap_servers="broker:1", **settings)))  # type: ignore[arg-type]

    assert chosen() == set(QUERIES) - {"history_client_facts"}
    assert chosen(client_telemetry=True) == set(QUERIES)


def test_what_is_no_query_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("streaming.queries.made")
    module.QUERY = object()  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, module.__name__, module)
    with pytest.raises(TypeError, match="is not a JobQuery"):
        registry.query_of("made")
