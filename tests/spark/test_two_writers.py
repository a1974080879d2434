"""F48: the job's batches, maintenance and erasure commit to one Delta table at the same time."""

from __future__ import annotations

import os
import random
import signal
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import date, timedelta
from pathlib import Path
from threading import Event, Thread

import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession
from scale import scaled

from sinks.history.batches import append
from sinks.history.erase import ErasureSubject, erase_rows
from sinks.history.maintain import maintain

TODAY = date(2026, 9, 21)
SCHEMA = "partition int, offset long, date date, client_id string"
ROWS = 4
"""Of a batch; the first is of the client that is erased."""
GONE = ErasureSubject(client_id="gone")


@contextmanager
def striking(jvm: int, log: Path, act: Callable[[], None]) -> Iterator[list[int]]:
    """Each time Spark has looked whether a version is there, and not written it yet, Spark stands still and ``act`` begins.

    Gives how often that was.
    """
    done, strikes, acts = Event(), [0], list[Thread]()

    def watch() -> None:
        while not done.is_set():
            if not any(path.name.endswith(".tmp") for path in log.iterdir()):
                continue
            os.kill(jvm, signal.SIGSTOP)
            acting = Thread(target=act)
            try:
                acting.start()
                acting.join(0.3)  # longer than it takes where nothing holds it up
            finally:
                os.kill(jvm, signal.SIGCONT)
            acts.append(acting)
            strikes[0] += 1

    watching = Thread(target=watch)
    watching.start()
    try:
        yield strikes
    finally:
        done.set()
        for thread in (watching, *acts):
            thread.join()


@pytest.mark.long_form
@pytest.mark.timeout(scaled(300, 7200))
def test_f48_every_row_is_there_once(spark: SparkSession, tmp_path: Path) -> None:
    chance = random.Random(48)  # noqa: S311 - interleavings that can be had again
    table, batches = tmp_path / "pushes", int(scaled(12, 1_000))
    failed: list[BaseException] = []

    def batch(number: int) -> None:
        day = TODAY - timedelta(days=number % 3)
        rows = [(0, number * ROWS + each, day, "gone" if each == 0 else f"client-{each}") for each in range(ROWS)]
        append(spark.createDataFrame(rows, SCHEMA), table, "query", number)

    def act() -> None:
        try:
            if chance.random() < 0.5:
                maintain(table, TODAY, 0)
            else:
                erase_rows(table, GONE)
        except BaseException as error:  # shown by the test, not by a thread
            failed.append(error)

    batch(0)
    jvm = int(spark._jvm.java.lang.ProcessHandle.current().pid())  # type: ignore[union-attr]
    with striking(jvm, table / "_delta_log", act) as strikes:
        for number in range(1, batches):
            batch(number)
    erase_rows(table, GONE)
    assert failed == []
    assert strikes[0] >= batches // 3, "Spark was met while it committed"
    found = Counter(DeltaTable(str(table)).to_pyarrow_table(columns=["offset"])["offset"].to_pylist())
    assert found == Counter(number * ROWS + each for number in range(batches) for each in range(1, ROWS))
