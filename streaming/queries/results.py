"""The query ``results``: ``clientscope.configs`` -> rules -> ``clientscope.results``; and its fresh lane, which reads new records beside
it.
"""

from __future__ import annotations

import tempfile
from functools import partial
from pathlib import Path

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody knows it
from pyspark.sql.streaming import DataStreamWriter

from clientscope.config import StreamSettings
from clientscope.kafka.access import KafkaAccess
from clientscope.records.topics import AHEAD, CONFIGS, RESULTS
from streaming.internals.progress_reports import last_report
from streaming.progress import all_unread
from streaming.queries.query import JobContext, JobQuery
from streaming.queries.start import LIVE_INTERVAL_S, source, start
from streaming.sources import Pace, records, sink_options
from streaming.supervision import Plain
from streaming.transforms.results import results, verdicts

FRESH = "fresh_results"
"""The lane's name; it is none of `streaming.checkpoints.plans.PLANS`, since it keeps nothing."""

_FRESH_PACE = Pace(10_000)
_FRESH_EVERY_S = 0.5
"""Each of its batches costs what the backlog could use."""

# Not compressed: the topic's readers need no more than kafka-python then.
_LARGE_REQUESTS = {"kafka.linger.ms": "20", "kafka.batch.size": str(256 * 1024)}


def start_results(job: JobContext) -> Plain:
    """Without state, and in one job per batch: Spark's own Kafka sink writes in the task that judged.

    It flushes at the end of each task, so lingering delays nothing; in a backlog it makes requests of hundreds of records instead of a few.
    """
    beginning = job.checkpoints.begin("results")
    rows = results(source(job, "results", beginning), job.digest_key, job.thresholds)
    return Plain(start(_writer(rows, job.settings), "results", beginning.location, LIVE_INTERVAL_S))


class FreshResults:
    """The lane: the same results, under the same places, from the topic's end at its start on; marked by the header `AHEAD`.

    Its checkpoint is a directory of the driver's that lasts as long as the lane: whatever it has not read, `start_results`' query does.
    Spark gives each query's tasks an equal share (scheduler pools), so it waits for a core no longer than one task of the backlog's takes.
    """

    def __init__(self, job: JobContext) -> None:
        settings = job.settings
        read = records(job.spark, KafkaAccess.of(settings), CONFIGS, "latest", job.skipped(), _FRESH_PACE)
        self._folder = tempfile.TemporaryDirectory(prefix="clientscope-fresh-", ignore_cleanup_errors=True)
        try:
            header = F.struct(F.lit(AHEAD).alias("key"), F.lit(b"").alias("value"))
            writer = _writer(results(read, job.digest_key, job.thresholds).withColumn("headers", F.array(header)), settings)
            self._query = start(writer, FRESH, Path(self._folder.name).as_uri(), _FRESH_EVERY_S)
        except BaseException:
            self._folder.cleanup()
            raise

    def failure(self) -> str | None:
        """Why it has ended; None while it runs."""
        return None if self._query.isActive else str(self._query.exception())

    def progressed(self) -> bool:
        """Whether it has finished a batch."""
        return self._query.lastProgress is not None

    def unread(self) -> int:
        """Records that it had still to read, by its last report."""
        report = last_report(self._query)
        return all_unread(report) if report is not None else 0

    def stop(self) -> None:
        """At once: what a batch that is cut off has not written, the other query will."""
        try:
            self._query.stop()
        finally:
            self._folder.cleanup()


def _writer(rows: DataFrame, settings: StreamSettings) -> DataStreamWriter:
    return rows.writeStream.format("kafka").options(**sink_options(KafkaAccess.of(settings)), **_LARGE_REQUESTS).option("topic", RESULTS)


QUERY = JobQuery(
    start=start_results,
    reads=(CONFIGS,),
    writes=(RESULTS,),
    kernel=lambda digest_key: partial(verdicts, digest_key=digest_key),
    is_live=True,
)
