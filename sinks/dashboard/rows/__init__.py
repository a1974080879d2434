"""Connections and clients in an in-memory SQLite, so that they are searched, sorted, grouped and paged where they are.

`writing` takes in what opens and closes, `pushes` which client pushed what when, `judging` what is wrong with whom; `sql` makes conditions
of a query, `lists`, `groups` and `facets` answer.  One connection, used by one thread at a time: `sinks.dashboard.state` holds the lock.
"""

from __future__ import annotations

from sinks.dashboard.rows.lists import Lists
from sinks.dashboard.rows.schema import Database
from sinks.dashboard.rows.writing import Writing

__all__ = ["Database", "Lists", "Writing"]
