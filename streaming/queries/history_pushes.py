"""The query ``history_pushes``: ``clientscope.configs`` -> Delta, and ``clientscope.quarantine``."""

from __future__ import annotations

from pyspark.sql import DataFrame

from clientscope.records.codec import reasons
from clientscope.records.config_record import ClientConfigRecord
from clientscope.records.topics import CONFIGS, QUARANTINE
from streaming import transforms
from streaming.queries.history import start_history
from streaming.queries.query import JobContext, JobQuery
from streaming.supervision import Running


def _step(job: JobContext, records: DataFrame) -> DataFrame:
    return transforms.pushes(records, job.digest_key)


def _start(job: JobContext) -> Running:
    return Running(start_history(job, "history_pushes", _step, reasons(ClientConfigRecord)))


QUERY = JobQuery(
    start=_start,
    reads=(CONFIGS,),
    writes=(QUARANTINE,),
    step=_step,
)
