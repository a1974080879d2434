"""The query ``history_connections``: ``clientscope.connections`` -> Delta, and ``clientscope.quarantine``."""

from __future__ import annotations

from functools import partial

from clientscope.records.topics import CONNECTIONS, QUARANTINE
from streaming.queries.history import start_history
from streaming.queries.query import JobQuery
from streaming.supervision import Plain
from streaming.transforms import history
from udfs.kernels.expectations import OF_CONNECTIONS

QUERY = JobQuery(
    start=lambda job: Plain(
        start_history(job, "history_connections", partial(history.connections, digest_key=job.digest_key), OF_CONNECTIONS)
    ),
    reads=(CONNECTIONS,),
    writes=(QUARANTINE,),
    kernel=lambda digest_key: partial(history.connection_rows, digest_key=digest_key),
)
