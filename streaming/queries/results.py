"""results: ``clientscope.configs`` -> rules -> ``clientscope.results``."""

from __future__ import annotations

from pyspark.sql import SparkSession
from pyspark.sql.streaming import StreamingQuery

from clientscope.config import StreamSettings
from clientscope.kafka_access import KafkaAccess
from clientscope.policy.redaction import DigestKey
from clientscope.profiles import Thresholds
from clientscope.records.topics import RESULTS
from streaming.queries.start import source, start
from streaming.sources import spark_options
from streaming.transforms.results import results

# Not compressed: the topic's readers need no more than kafka-python then.
_LARGE_REQUESTS = {"kafka.linger.ms": "20", "kafka.batch.size": str(256 * 1024)}


def start_results(spark: SparkSession, settings: StreamSettings, digest_key: DigestKey | None, thresholds: Thresholds) -> StreamingQuery:
    """Without state, and in one job per batch: Spark's own Kafka sink writes in the task that judged.

    It flushes at the end of each task, so lingering delays nothing; in a backlog it makes requests of hundreds of records instead of a few.
    """
    rows = results(source(spark, settings, "results"), digest_key, thresholds)
    writer = rows.writeStream.format("kafka").options(**spark_options(KafkaAccess.of(settings)), **_LARGE_REQUESTS).option("topic", RESULTS)
    return start(writer, "results", settings.checkpoint_dir)
