"""Samples of new files: bounded, by chance, and only what is needed is read; the rate of the last hour, and when a failure is a finding."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from pyarrow import parquet
from quality_batches import NOW_MS, append, connections, pushes

from clientscope.records.topics import CONFIGS, CONNECTIONS
from sinks.quality import samples
from sinks.quality.samples import LastHour, Sample, sample
from sinks.quality.suites import OF, ExpectationVerdict


def of(history: Path, topic: str, most_read: int = 1_000, most_rows: int = 1_000) -> Sample | None:
    table = str(history / ("pushes" if topic == CONFIGS else "connections"))
    return sample(topic, table, samples.since(table, 0).files, most_read, most_rows, np.random.default_rng(7))


def test_few_rows_are_taken_as_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(samples, "ROWS_AT_ONCE", 7)
    append(tmp_path, CONNECTIONS, connections(number=20), newest_ms=NOW_MS + 5)
    append(tmp_path, CONNECTIONS, connections(number=10))
    found = of(tmp_path, CONNECTIONS)
    assert found is not None
    assert (found.rows, found.newest_ms) == (30, NOW_MS + 5)
    assert found.facts["sequence"].to_pylist() == [*range(20), *range(10)]


def test_of_many_some_are_taken_by_chance_and_never_more(tmp_path: Path) -> None:
    append(tmp_path, CONFIGS, pushes(number=1_000))
    found = of(tmp_path, CONFIGS, most_rows=100)
    assert found is not None
    assert found.rows == 1_000
    assert 60 <= len(found.facts) <= 100
    assert max(found.facts["offset"].to_pylist()) > 500


def test_of_a_backlog_the_newest_files_are_read_and_all_are_counted(tmp_path: Path) -> None:
    for first in (0, 100, 200):
        append(tmp_path, CONFIGS, pushes(number=50), places=list(range(first, first + 50)))
    found = of(tmp_path, CONFIGS, most_read=60)
    assert found is not None
    assert found.rows == 150
    assert min(found.facts["offset"].to_pylist()) == 100


def test_a_file_that_is_gone_is_passed_over(tmp_path: Path) -> None:
    append(tmp_path, CONFIGS, pushes(number=3))
    append(tmp_path, CONFIGS, pushes(number=5))
    (tmp_path / "pushes" / samples.since(str(tmp_path / "pushes"), 0).files[0]).unlink()
    found = of(tmp_path, CONFIGS)
    assert found is not None
    assert found.rows == 5
    (tmp_path / "pushes" / samples.since(str(tmp_path / "pushes"), 0).files[1]).unlink()
    assert of(tmp_path, CONFIGS) is None


def test_columns_that_name_a_client_are_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[list[str]] = []
    batches = parquet.ParquetFile.iter_batches

    def seen(self: parquet.ParquetFile, *given: object, **named: object) -> object:
        asked.append(named["columns"])  # type: ignore[arg-type]
        return batches(self, *given, **named)

    monkeypatch.setattr(parquet.ParquetFile, "iter_batches", seen)
    append(tmp_path, CONFIGS, pushes())
    of(tmp_path, CONFIGS)
    names = {path.split(".")[0] for path in asked[0]}
    assert names == {"partition", "offset", "timestamp", "received_timestamp_ms", "digest_key_id", "configs"}


def test_the_rate_is_that_of_the_last_hour_by_kafkas_clock() -> None:
    hour = LastHour()
    reported = [hour.ratio(minute * 60_000, 1_000) for minute in range(1, 71)]
    assert reported[:11] == [None] * 11, "ten minutes aren't known before"
    assert reported[11:] == [pytest.approx(1)] * 59
    assert hour.ratio(71 * 60_000, 10_900) == pytest.approx(10)
    assert hour.ratio(72 * 60_000, 0) == pytest.approx(100 / (100 + (59 * 1_000 + 10_900) / 60), rel=0.02)
    assert hour.ratio(72 * 60_000, 5) is None, "no time has passed"
    quiet = LastHour()
    for minute in range(1, 21):
        quiet.ratio(minute * 60_000, 1)
    assert quiet.ratio(21 * 60_000, 500) == pytest.approx(600 / 101), "a few clients make no storm"


@pytest.mark.parametrize("every", [1, 2, 3, 4, 5, 7, 9])
def test_what_fails_now_and_then_never_flaps(every: int) -> None:
    verdict = ExpectationVerdict()
    changes = sum(verdict.take(number % every == 0) for number in range(500))
    assert changes <= 1
    assert verdict.failing is (True if every < OF else None)
