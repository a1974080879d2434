"""The query ``history_connections``: ``clientscope.connections`` -> Delta, and ``clientscope.quarantine``."""

from __future__ import annotations

from functools import partial

from clientscope.records.codec import reasons
from clientscope.records.connection_record import ClientConnectionRecord
from clientscope.records.topics import CONNECTIONS, QUARANTINE
from streaming.queries.history import start_history
from streaming.queries.query import JobContext, JobQuery
from streaming.supervision import Plain
from streaming.transforms import history


def _start(job: JobContext) -> Plain:
    step = partial(history.connections, digest_key=job.digest_key)
    return Plain(start_history(job, "history_connections", step, reasons(ClientConnectionRecord)))


QUERY = JobQuery(
    start=_start,
    reads=(CONNECTIONS,),
    writes=(QUARANTINE,),
    kernel=lambda digest_key: partial(history.connection_rows, digest_key=digest_key),
)
