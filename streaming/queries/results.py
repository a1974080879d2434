"""The query ``results``: ``clientscope.configs`` -> rules -> ``clientscope.results``."""

from __future__ import annotations

from pyspark.sql import DataFrame

from clientscope.kafka.access import KafkaAccess
from clientscope.records.topics import CONFIGS, RESULTS
from streaming.queries.query import LIVE_INTERVAL_S, JobContext, JobQuery, source, start
from streaming.sources import sink_options
from streaming.supervision import Plain
from streaming.transforms import results

# Not compressed: the topic's readers need no more than kafka-python then.
_LARGE_REQUESTS = {"kafka.linger.ms": "20", "kafka.batch.size": str(256 * 1024)}


def judged(job: JobContext, records: DataFrame) -> DataFrame:
    """The query's step."""
    return results(records, job.digest_key, job.thresholds)


def start_results(job: JobContext) -> Plain:
    """Without state, and in one job per batch: Spark's own Kafka sink writes in the task that judged.

    It flushes at the end of each task, so lingering delays nothing; in a backlog it makes requests of hundreds of records instead of a few.
    """
    beginning = job.checkpoints.begin("results")
    rows = judged(job, source(job, "results", beginning))
    options = {**sink_options(KafkaAccess.of(job.settings)), **_LARGE_REQUESTS, "topic": RESULTS}
    return Plain(start(rows.writeStream.format("kafka").options(**options), "results", beginning.location, LIVE_INTERVAL_S))


QUERY = JobQuery(
    start=start_results,
    reads=(CONFIGS,),
    writes=(RESULTS,),
    step=judged,
    is_live=True,
)
