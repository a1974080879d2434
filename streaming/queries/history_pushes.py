"""The query ``history_pushes``: ``clientscope.configs`` -> Delta, and ``clientscope.quarantine``."""

from __future__ import annotations

from functools import partial

from clientscope.records.codec import reasons
from clientscope.records.config_record import ClientConfigRecord
from clientscope.records.topics import CONFIGS, QUARANTINE
from streaming.queries.history import start_history
from streaming.queries.query import JobContext, JobQuery
from streaming.supervision import Plain
from streaming.transforms import history


def _start(job: JobContext) -> Plain:
    step = partial(history.pushes, digest_key=job.digest_key)
    return Plain(start_history(job, "history_pushes", step, reasons(ClientConfigRecord)))


QUERY = JobQuery(
    start=_start,
    reads=(CONFIGS,),
    writes=(QUARANTINE,),
    kernel=lambda digest_key: partial(history.push_rows, digest_key=digest_key),
)
