"""F28: 95 % of events come from one version, and no task has more to do than another: nothing is put together by its name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody knows it
from record_bytes import Records, config_record, connection_record, setting

from clientscope.records.topics import CONFIGS, CONNECTIONS
from streaming import transforms
from streaming.transforms import arrivals, entries, results

STEPS: list[tuple[str, Callable[[DataFrame], DataFrame]]] = [
    (CONFIGS, lambda rows: results(rows, None)),
    (CONFIGS, lambda rows: arrivals(rows, None)),
    (CONNECTIONS, lambda rows: arrivals(rows, None)),
    (CONNECTIONS, entries),
    (CONFIGS, lambda rows: transforms.pushes(rows, None)),
    (CONNECTIONS, lambda rows: transforms.connections(rows, None)),
]


def hot(topic: str, count: int = 400) -> list[bytes]:
    """Every twentieth has a version of its own."""
    versions = ["4.4.0" if number % 20 else f"0.{number}" for number in range(count)]
    if topic == CONFIGS:
        return [
            config_record(setting("acks", "0"), client_software_version=each, connection_id=number) for number, each in enumerate(versions)
        ]
    return [
        connection_record(number, [("java", each, 1, 1, 0)], client_software_version=each, connection_id=number)
        for number, each in enumerate(versions)
    ]


@pytest.mark.parametrize(("topic", "step"), STEPS)
def test_f28_no_task_gets_what_one_version_sends(records: Records, plan_of: Callable[[DataFrame], str], topic: str, step: Any) -> None:
    read = records(topic, *hot(topic)).repartition(8)  # as Kafka's source cuts a backlog, by offsets
    made = step(read)
    per_task = [row["count"] for row in made.withColumn("task", F.spark_partition_id()).groupBy("task").count().collect()]
    assert len(per_task) == 8 and max(per_task) <= 5 * sorted(per_task)[4], "by how much has come, not by whose it is"
    plan = plan_of(made)
    assert plan.count("Exchange") == 1 and "RoundRobin" in plan, "the test's own: the step has none"
