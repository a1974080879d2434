"""The query ``history_pushes``: ``clientscope.configs`` -> Delta, and ``clientscope.quarantine``."""

from __future__ import annotations

from functools import partial

from clientscope.records.topics import CONFIGS, QUARANTINE
from streaming.queries.history import start_history
from streaming.queries.query import JobQuery
from streaming.supervision import Plain
from streaming.transforms import history
from udfs.kernels.expectations import OF_PUSHES

QUERY = JobQuery(
    start=lambda job: Plain(start_history(job, "history_pushes", partial(history.pushes, digest_key=job.digest_key), OF_PUSHES)),
    reads=(CONFIGS,),
    writes=(QUARANTINE,),
    kernel=lambda digest_key: partial(history.push_rows, digest_key=digest_key),
)
