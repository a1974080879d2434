"""Connections and clients in an in-memory SQLite, which searches, sorts, groups and pages them.

`writing` stores opened and closed connections, `pushes` the index of pushes, `judging` the problems of each client.  `sql` turns queries
into conditions; `lists` and `groups` answer.  One connection, used by one thread at a time: `sinks.dashboard.state` holds the lock.
"""

from __future__ import annotations

from sinks.dashboard.rows.lists import Lists
from sinks.dashboard.rows.sql import Database
from sinks.dashboard.rows.writing import Writing

__all__ = ["Database", "Lists", "Writing"]
