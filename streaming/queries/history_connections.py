"""The query ``history_connections``: ``clientscope.connections`` -> Delta, and ``clientscope.quarantine``."""

from __future__ import annotations

from pyspark.sql import DataFrame

from clientscope.records.codec import reasons
from clientscope.records.connection_record import ClientConnectionRecord
from clientscope.records.topics import CONNECTIONS, QUARANTINE
from streaming import transforms
from streaming.queries.history import start_history
from streaming.queries.query import JobContext, JobQuery
from streaming.supervision import Running


def _step(job: JobContext, records: DataFrame) -> DataFrame:
    return transforms.connections(records, job.digest_key)


def _start(job: JobContext) -> Running:
    return Running(start_history(job, "history_connections", _step, reasons(ClientConnectionRecord)))


QUERY = JobQuery(
    start=_start,
    reads=(CONNECTIONS,),
    writes=(QUARANTINE,),
    step=_step,
)
