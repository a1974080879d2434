"""Start and size of a query's batches, and the options of their source, by release of Spark."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import streaming
from clientscope.kafka.access import KafkaAccess
from streaming.releases import MINORS, RELEASES, SparkRelease, release
from streaming.sources import LIVE, Pace, sink_options, source_options

KAFKA = KafkaAccess("127.0.0.1:1")
SPLIT = "maxRecordsPerPartition"


def test_what_somebody_waits_for_begins_at_once() -> None:
    assert LIVE.options(release("4.0")) == {"maxOffsetsPerTrigger": "200000"}


@pytest.mark.parametrize(("minor", "most"), [("3.5", "25000"), ("4.2", "50000")])
def test_history_waits_for_a_full_batch_or_its_time(minor: str, most: str) -> None:
    """As much as it takes at most is what it waits for, so a backlog is never read a batch an interval."""
    assert Pace(50_000, 1.5).options(release(minor)) == {
        "maxOffsetsPerTrigger": most,
        "minOffsetsPerTrigger": most,
        "maxTriggerDelay": "1500ms",
    }


@pytest.mark.parametrize("spark", RELEASES, ids=MINORS)
def test_no_task_gets_more_than_25000_records_of_a_partition(spark: SparkRelease) -> None:
    """Spark 3.5 ignores ``maxRecordsPerPartition``, so a batch of a topic with one partition is one task there."""
    options = source_options(KAFKA, spark=spark) | LIVE.options(spark)
    bound = "maxOffsetsPerTrigger" if spark.minor == "3.5" else SPLIT
    assert options[bound] == "25000"
    assert (SPLIT in options) == (spark.minor != "3.5")
    assert Pace(10_000).options(spark)["maxOffsetsPerTrigger"] == "10000", "smaller batches stay as they are"


def test_no_source_waits_for_a_fetch_and_no_sink_warns() -> None:
    assert source_options(KAFKA)["kafka.fetch.max.wait.ms"] == "5"
    assert not [key for key in sink_options(KAFKA) if "fetch" in key], "a producer would warn of it"


def test_every_source_is_made_in_one_place() -> None:
    """Elsewhere a source would lack options that its latency, and a backlog's tasks, depend on."""
    folder = Path(streaming.__file__).parent
    reading = {
        file.relative_to(folder).as_posix()
        for file in folder.rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Attribute) and (node.attr == "readStream" or (node.attr == "read" and _is_session(node.value)))
    }
    assert reading == {"sources.py"}


def _is_session(node: ast.expr) -> bool:
    return (isinstance(node, ast.Name) and node.id == "spark") or (
        isinstance(node, ast.Attribute) and node.attr in ("spark", "sparkSession")
    )
