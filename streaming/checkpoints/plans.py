"""Plans of all queries, by name: the topic that each reads, and the table that it writes.

Without Spark, since the commands about checkpoints start no JVM; what a query does is in the file of its name in `streaming/queries/`.
"""

from __future__ import annotations

from dataclasses import dataclass

from clientscope.records.topics import CONFIGS, CONNECTIONS, TELEMETRY


@dataclass(frozen=True)
class QueryPlan:
    """One query that continues where it was.

    Attributes:
        topic: that it reads.
        table: the Delta table that it writes, by its folder in ``history_dir``; empty for none.
    """

    topic: str
    table: str = ""


QUERIES: dict[str, QueryPlan | None] = {
    "gauges": QueryPlan(CONNECTIONS),
    "results": QueryPlan(CONFIGS),
    "findings": None,
    "history_pushes": QueryPlan(CONFIGS, table="pushes"),
    "history_connections": QueryPlan(CONNECTIONS, table="connections"),
    "history_client_facts": QueryPlan(TELEMETRY, table="client_facts"),
}
"""Every query by its name, in the order in which they start; None for one that has no checkpoint, and begins anew at each start."""

PLANS = {name: plan for name, plan in QUERIES.items() if plan is not None}
"""The queries with a checkpoint.  Spark keeps no state for any of them, so a checkpoint is a position in a topic."""
