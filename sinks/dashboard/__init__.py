"""``clientscope serve``: the live page, the JSON API and ``/metrics``.

Topics in, views out.  `reader` polls Kafka and hands records to `state`, which is plain Python without I/O, thread or clock;
`api`, `metrics` and `events` only ever read `state`.  Nothing is stored: a new copy reads the topics and knows the same.
What is older than the topics is read from the streaming job's tables, by a process of its own (`past`).
"""
