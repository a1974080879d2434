"""Plans of all queries, by name: the version of a query's state, and the topic that it reads.

Without Spark, since the commands about checkpoints start no JVM; what a query does is in the file of its name in `streaming/queries/`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from clientscope.records.topics import CONFIGS, CONNECTIONS, TELEMETRY
from clientscope.stores.store_path import AnyPath


@dataclass(frozen=True)
class QueryPlan:
    """One query, as far as its checkpoint depends on it.

    Attributes:
        version: of what it keeps there; see ``checkpoints/README.md`` on what needs a new one.
        topic: that it reads.
        record: the topic's record, by the name of its schema; empty for OTLP's, which has no version.
        stateful: whether Spark keeps state for it, which can only be made again from the topic's beginning.
        table: the Delta table that it writes, by its folder in ``history_dir``; empty for none.
    """

    version: int
    topic: str
    record: str = ""
    stateful: bool = False
    table: str = ""

    @property
    def folder(self) -> str:
        """Name of its folder below the query's."""
        return f"v{self.version}"


QUERIES: dict[str, QueryPlan | None] = {
    "gauges": QueryPlan(2, CONNECTIONS, "ClientConnectionRecord"),
    "results": QueryPlan(1, CONFIGS, "ClientConfigRecord"),
    "findings": None,
    "history_pushes": QueryPlan(1, CONFIGS, "ClientConfigRecord", table="pushes"),
    "history_connections": QueryPlan(1, CONNECTIONS, "ClientConnectionRecord", table="connections"),
    "history_client_facts": QueryPlan(1, TELEMETRY, table="client_facts"),
}
"""Every query by its name, in the order in which they start; None for one that has no checkpoint, and begins anew at each start."""

PLANS = {name: plan for name, plan in QUERIES.items() if plan is not None}
"""The queries with a checkpoint.  A checkpoint of an older version stays where it is, and isn't read any more."""


def folder(checkpoint_dir: AnyPath, query: str) -> AnyPath:
    """Where a query's checkpoint is, or will be."""
    return checkpoint_dir.absolute() / query / PLANS[query].folder


def versions(checkpoint_dir: AnyPath, query: str) -> dict[int, AnyPath]:
    """The checkpoints that are there of a query, by version, the oldest first."""
    parent = checkpoint_dir.absolute() / query
    names = [path.name for path in parent.iterdir()] if parent.is_dir() else []
    return {number: parent / f"v{number}" for number in sorted(int(name[1:]) for name in names if re.fullmatch(r"v\d+", name))}
