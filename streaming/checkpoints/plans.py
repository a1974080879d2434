"""Plans of all queries, by name: the topic that each reads, and the table that it writes.

Without Spark, since the commands about checkpoints start no JVM; what a query does is in `streaming/queries/`.
"""

from __future__ import annotations

from dataclasses import dataclass

from clientscope.model.topics import CONFIGS, CONNECTIONS, TELEMETRY


@dataclass(frozen=True)
class QueryPlan:
    """One query that continues where it was.

    Attributes:
        topics: that it reads, by one source of Spark.
        table: the Delta table that it writes, by its folder in ``history_dir``; empty for none. Its rows are those of one topic.
    """

    topics: tuple[str, ...]
    table: str = ""


PLANS: dict[str, QueryPlan] = {
    "live": QueryPlan((CONFIGS, CONNECTIONS)),
    "history_pushes": QueryPlan((CONFIGS,), table="pushes"),
    "history_connections": QueryPlan((CONNECTIONS,), table="connections"),
    "history_client_facts": QueryPlan((TELEMETRY,), table="client_facts"),
}
"""Every query by its name, in the order in which they start. Spark keeps no state for any of them, so a checkpoint is a position."""
