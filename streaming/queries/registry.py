"""Registry of the queries: `QUERY` of the file that each name of `streaming.checkpoints.plans.QUERIES` refers to."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module

from clientscope.config import StreamSettings
from streaming.checkpoints import plans
from streaming.queries.query import JobQuery


def query_of(name: str) -> JobQuery:
    """What its file defines.

    Raises:
        TypeError, ValueError: it is no query, or one that can't have a checkpoint.
    """
    query = import_module(f"streaming.queries.{name}").QUERY
    if not isinstance(query, JobQuery):
        raise TypeError(f"streaming.queries.{name}.QUERY is not a JobQuery")
    if query.step is None and name in plans.PLANS:
        raise ValueError(f"{name} has a checkpoint, so a record that kills its workers must be found: it needs a step")
    return query


QUERIES: Mapping[str, JobQuery] = {name: query_of(name) for name in plans.QUERIES}
"""Every query, in the order in which the job starts them."""


def wanted(settings: StreamSettings) -> Mapping[str, JobQuery]:
    """Those that a job of these settings runs."""
    return {name: query for name, query in QUERIES.items() if query.is_wanted(settings)}
