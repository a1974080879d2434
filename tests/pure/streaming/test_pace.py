"""Start and size of a query's batches, and the options of their source, by release of Spark."""

from __future__ import annotations

import pytest

from clientscope.kafka.access import KafkaAccess
from streaming.internals.releases import MINORS, RELEASES, SparkRelease, of_minor
from streaming.sources import LIVE, Pace, source_options

KAFKA = KafkaAccess("127.0.0.1:1")
SPLIT = "maxRecordsPerPartition"


def test_what_somebody_waits_for_begins_at_once() -> None:
    assert LIVE.options(of_minor("4.0")) == {"maxOffsetsPerTrigger": "200000"}


@pytest.mark.parametrize(("minor", "most"), [("3.5", "25000"), ("4.2", "50000")])
def test_history_waits_for_a_full_batch_or_its_time(minor: str, most: str) -> None:
    """As much as it takes at most is what it waits for, so a backlog is never read a batch an interval."""
    assert Pace(50_000, 1.5).options(of_minor(minor)) == {
        "maxOffsetsPerTrigger": most,
        "minOffsetsPerTrigger": most,
        "maxTriggerDelay": "1500ms",
    }


@pytest.mark.parametrize("spark", RELEASES, ids=MINORS)
def test_no_task_gets_more_than_25000_records_of_a_partition(spark: SparkRelease) -> None:
    """Spark 3.5 ignores ``maxRecordsPerPartition``, so a batch of a topic with one partition is one task there."""
    options = source_options(KAFKA, spark) | LIVE.options(spark)
    bound = "maxOffsetsPerTrigger" if spark.minor == "3.5" else SPLIT
    assert options[bound] == "25000"
    assert (SPLIT in options) == (spark.minor != "3.5")
    assert Pace(10_000).options(spark)["maxOffsetsPerTrigger"] == "10000", "smaller batches stay as they are"
