"""Samples of new files: bounded, by chance, and only what is needed is read; the rate of the last hour, and when a failure is a finding."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet
from quality_batches import NOW_MS, append, connections, pushes
from record_bytes import config_record, connection_record, setting

from clientscope.catalog.value_states import ValueState
from clientscope.model.topics import CONFIGS, CONNECTIONS
from sinks.quality import samples
from sinks.quality.samples import LastHour, Sample, sample
from sinks.quality.suites import OF, SUITES, ExpectationVerdict


def sampled(history: Path, topic: str, most_read: int = 1_000, most_rows: int = 1_000) -> Sample | None:
    table = str(history / SUITES[topic].table)
    return sample(topic, table, samples.since(table, 0)[0], most_read, most_rows, np.random.default_rng(7))


def of(history: Path, topic: str, **most: int) -> Sample:
    found = sampled(history, topic, **most)
    assert found is not None
    return found


def test_facts_are_numbers_and_count_what_they_say(tmp_path: Path) -> None:
    redacted = setting("s", None, state=ValueState.KEY_PREFIX, length=9, digest=b"d" * 32)
    append(tmp_path, CONFIGS, [config_record(setting("acks", "all"), setting("k" * 99, "four"), redacted), config_record()])
    counts = [("java", "4", 2, 1, 0), ("java", "3", 1, 1, 0)]
    gateways = [("c", "g"), ("c", "h"), ("d", "g"), ("c", "g")]
    records = [connection_record(number, counts[number:], cluster=c, gateway=g) for number, (c, g) in enumerate(gateways)]
    append(tmp_path, CONNECTIONS, records)
    of_pushes, of_connections = (of(tmp_path, topic).facts for topic in (CONFIGS, CONNECTIONS))
    assert all(pa.types.is_integer(field.type) for field in (*of_pushes.schema, *of_connections.schema))
    place = {"partition": 0, "appended_ms": NOW_MS, "told_ms": 1}
    assert of_pushes.to_pylist() == [
        place | {"offset": 0, "settings": 3, "longest_key": 99, "unkeyed_digests": 1},
        place | {"offset": 1, "settings": 0, "longest_key": 0, "unkeyed_digests": 0},
    ]
    assert of_connections["unbalanced_counts"].to_pylist() == [1, 0, 0, 0], "open is opened less closed"
    first, *others, last = of_connections["gateway"].to_pylist()
    assert first == last < 2**48 and len({first, *others}) == 3


def test_few_rows_are_taken_as_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(samples, "ROWS_AT_ONCE", 7)
    append(tmp_path, CONNECTIONS, connections(number=20), newest_ms=NOW_MS + 5)
    append(tmp_path, CONNECTIONS, connections(number=10))
    found = of(tmp_path, CONNECTIONS)
    assert (found.rows, found.newest_ms) == (30, NOW_MS + 5)
    assert found.facts["sequence"].to_pylist() == [*range(20), *range(10)]


def test_of_many_some_are_taken_by_chance_and_never_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(samples, "ROWS_AT_ONCE", 7)  # of some of which none is taken
    append(tmp_path, CONFIGS, pushes(number=1_000))
    found = of(tmp_path, CONFIGS, most_rows=100)
    assert found.rows == 1_000
    assert 60 <= len(found.facts) <= 100
    assert max(found.facts["offset"].to_pylist()) > 500


def test_of_a_backlog_the_newest_files_are_read_and_all_are_counted(tmp_path: Path) -> None:
    for first in (0, 100, 200):
        append(tmp_path, CONFIGS, pushes(number=50), places=list(range(first, first + 50)))
    found = of(tmp_path, CONFIGS, most_read=60)
    assert found.rows == 150
    assert min(found.facts["offset"].to_pylist()) == 100


def test_a_file_that_is_gone_is_passed_over(tmp_path: Path) -> None:
    append(tmp_path, CONFIGS, pushes(number=3))
    append(tmp_path, CONFIGS, pushes(number=5))
    (tmp_path / "pushes" / samples.since(str(tmp_path / "pushes"), 0)[0][0]).unlink()
    assert of(tmp_path, CONFIGS).rows == 5
    (tmp_path / "pushes" / samples.since(str(tmp_path / "pushes"), 0)[0][1]).unlink()
    assert sampled(tmp_path, CONFIGS) is None


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
    assert names == {"partition", "offset", "timestamp", "received_ms", "digest_key_id", "configs"}


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
