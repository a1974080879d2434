"""The ``clientscope serve`` process: the live page, the JSON API and ``/metrics``.

Topics in, views out.  `state.reader` polls Kafka and hands records to `state.state`, which is plain Python without I/O, thread or clock,
over the tables of `rows` in SQLite; `api` only ever reads it, in the models of `clientscope.api`.  Each request passes `http` first.
Nothing is stored: a new copy reads the topics and knows the same.
What is older than the topics is read from the streaming job's tables, by a process of its own (`past`).
"""
