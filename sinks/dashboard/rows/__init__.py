"""Connections and clients in an in-memory SQLite, which searches, sorts, groups and pages them.

`sql` has the tables, and turns queries into conditions.  `writing` stores opened and closed connections; `judging` the index of pushes and
the problems of each client; `lists` answers.  One connection, used by one thread at a time: `sinks.dashboard.state` holds the lock.
"""
