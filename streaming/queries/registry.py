"""Registry of the queries: `QUERY` of the file that each name of `streaming.checkpoints.plans.PLANS` refers to."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module

from clientscope.config import StreamSettings
from streaming.checkpoints.plans import PLANS
from streaming.queries.query import JobQuery


def query_of(name: str) -> JobQuery:
    """What its file defines.

    Raises:
        TypeError: it is no query.
    """
    query = import_module(f"streaming.queries.{name}").QUERY
    if not isinstance(query, JobQuery):
        raise TypeError(f"streaming.queries.{name}.QUERY is not a JobQuery")
    return query


QUERIES: Mapping[str, JobQuery] = {name: query_of(name) for name in PLANS}
"""Every query, in the order in which the job starts them."""


def wanted(settings: StreamSettings) -> Mapping[str, JobQuery]:
    """Those that a job of these settings runs."""
    return {name: query for name, query in QUERIES.items() if query.is_wanted(settings)}
