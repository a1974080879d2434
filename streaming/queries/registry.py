"""Registry of the queries, by their names in `streaming.checkpoints.plans.PLANS`."""

from __future__ import annotations

from collections.abc import Mapping

from clientscope.config import StreamSettings
from streaming.queries import history, history_client_facts, live
from streaming.queries.query import JobQuery

QUERIES: Mapping[str, JobQuery] = {
    "live": live.QUERY,
    "history_pushes": history.PUSHES,
    "history_connections": history.CONNECTIONS,
    "history_client_facts": history_client_facts.QUERY,
}
"""Every query, in the order in which the job starts them."""


def wanted(settings: StreamSettings) -> Mapping[str, JobQuery]:
    """Those that a job of these settings runs."""
    return {name: query for name, query in QUERIES.items() if query.is_wanted(settings)}
