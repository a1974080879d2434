"""F48: the job's batches, maintenance and erasure commit to one Delta table at the same time."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import date, timedelta
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from clientscope.errors import ClientscopeError
from sinks.history.batches import append
from sinks.history.erase import ErasureSubject, erase_rows
from sinks.history.maintain import maintain
from sinks.history.tables import repeated

TODAY = date(2026, 9, 21)
ROWS = 4
"""Of a batch; the first is of the client that is erased."""
GONE = ErasureSubject(client_id="gone")
LONGEST_S = 0.02
"""About what one of the three takes, so that they begin anywhere in each other."""


def rows_of(number: int) -> pa.RecordBatch:
    day = TODAY - timedelta(days=number % 3)
    clients = ["gone", *(f"client-{each}" for each in range(1, ROWS))]
    return pa.record_batch(
        {
            "date": pa.array([day] * ROWS),
            "partition": pa.array([0] * ROWS, pa.int32()),
            "offset": pa.array(range(number * ROWS, (number + 1) * ROWS), pa.int64()),
            "client_id": clients,
        }
    )


@pytest.mark.parametrize(("seed", "batches"), [(0, 12), (1, 12), pytest.param(2, 500, marks=pytest.mark.long)])
def test_f48_every_row_is_there_once(tmp_path: Path, seed: int, batches: int) -> None:
    chance = random.Random(seed)  # noqa: S311 - interleavings that can be had again
    table = tmp_path / "pushes"
    begun: list[int] = []

    def batch(number: int) -> None:
        for _ in range(chance.choice((1, 2))):  # a batch may be done again after a restart
            repeated(lambda: append(iter([rows_of(number)]), str(table), "start", {0: range(number, number + 1)}))

    def others(pauses: list[float]) -> None:
        for pause_s in pauses:
            time.sleep(pause_s)
            act: Callable[[], object] = (
                (lambda: maintain(str(table), TODAY, 0)) if chance.random() < 0.5 else (lambda: erase_rows(str(table), GONE))
            )
            before = DeltaTable(str(table)).version()
            with suppress(ClientscopeError):  # a batch has brought the client's rows again
                act()
            begun.append(DeltaTable(str(table)).version() - before)

    batch(0)
    with ThreadPoolExecutor() as pool:
        acting = pool.submit(others, [chance.uniform(0, LONGEST_S) for _ in range(batches)])
        for number in range(1, batches):
            batch(number)
            time.sleep(chance.uniform(0, LONGEST_S))
        acting.result()
    erase_rows(str(table), GONE)
    assert len(begun) == batches and any(commits > 1 for commits in begun), "batches came in between"
    found = Counter(DeltaTable(str(table)).to_pyarrow_table(columns=["offset"])["offset"].to_pylist())
    assert found == Counter(number * ROWS + each for number in range(batches) for each in range(1, ROWS))
