"""The query ``results``: ``clientscope.configs`` -> rules -> ``clientscope.results``."""

from __future__ import annotations

from functools import partial

from clientscope.kafka.access import KafkaAccess
from clientscope.records.topics import CONFIGS, RESULTS
from streaming.queries.query import JobContext, JobQuery
from streaming.queries.start import LIVE_INTERVAL_S, source, start
from streaming.sources import sink_options
from streaming.supervision import Plain
from streaming.transforms.results import results, verdicts

# Not compressed: the topic's readers need no more than kafka-python then.
_LARGE_REQUESTS = {"kafka.linger.ms": "20", "kafka.batch.size": str(256 * 1024)}


def start_results(job: JobContext) -> Plain:
    """Without state, and in one job per batch: Spark's own Kafka sink writes in the task that judged.

    It flushes at the end of each task, so lingering delays nothing; in a backlog it makes requests of hundreds of records instead of a few.
    """
    beginning = job.checkpoints.begin("results")
    rows = results(source(job, "results", beginning), job.digest_key, job.thresholds)
    options = {**sink_options(KafkaAccess.of(job.settings)), **_LARGE_REQUESTS, "topic": RESULTS}
    return Plain(start(rows.writeStream.format("kafka").options(**options), "results", beginning.location, LIVE_INTERVAL_S))


QUERY = JobQuery(
    start=start_results,
    reads=(CONFIGS,),
    writes=(RESULTS,),
    kernel=lambda digest_key: partial(verdicts, digest_key=digest_key),
    is_live=True,
)
