"""The registry of queries: each has a plan, and what the job needs to know of it."""

from __future__ import annotations

import pytest

from clientscope.config import StreamSettings
from clientscope.model.topics import BY_NAME
from streaming.checkpoints import plans
from streaming.queries import registry
from streaming.queries.registry import QUERIES


def test_each_query_has_a_plan() -> None:
    assert list(QUERIES) == list(plans.PLANS)


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
