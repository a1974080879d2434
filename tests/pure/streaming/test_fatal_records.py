"""F21: the batch that failed is run again over halves, until the records are found that kill their worker."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kafka import TopicPartition

from clientscope.kafka.reader import OffsetRange
from streaming import fatal_records
from streaming.fatal_records import fatal_offsets

Place = tuple[int, int]


def places(ranges: Mapping[TopicPartition, OffsetRange]) -> set[Place]:
    return {(place.partition, offset) for place, (first, end) in ranges.items() for offset in range(first, end)}


@given(st.dictionaries(st.integers(0, 5), st.tuples(st.integers(0, 30), st.integers(1, 300)), max_size=4), st.data())
def test_f21_exactly_the_fatal_records_are_found_in_few_runs(partitions: dict[int, tuple[int, int]], data: st.DataObject) -> None:
    ranges = {TopicPartition("t", number): OffsetRange(first, first + length) for number, (first, length) in partitions.items()}
    batch = places(ranges)
    fatal = data.draw(st.sets(st.sampled_from(sorted(batch)), max_size=3)) if batch else set()
    runs = 0

    def kills(chosen: Mapping[TopicPartition, OffsetRange]) -> bool:
        nonlocal runs
        runs += 1
        assert places(chosen) <= batch and all(first < end for first, end in chosen.values())
        return bool(places(chosen) & fatal)

    found = [place for each in fatal_offsets(ranges, kills) for place in places(each)]
    assert sorted(found) == sorted(fatal), "each once"
    assert runs <= 1 + 2 * len(fatal) * len(batch).bit_length()


def test_where_no_record_kills_alone_none_is_blamed() -> None:
    ranges = {TopicPartition("t", 0): OffsetRange(0, 8)}
    assert list(fatal_offsets(ranges, lambda chosen: len(places(chosen)) > 1)) == []


def test_a_search_without_end_ends_and_keeps_what_it_has_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers may die of many records together, as of what doesn't fit into their memory."""
    runs: list[object] = []
    monkeypatch.setattr(fatal_records, "time", SimpleNamespace(monotonic=lambda: float(len(runs))))
    found = []
    with pytest.raises(TimeoutError):
        for each in fatal_offsets({TopicPartition("t", 0): OffsetRange(0, 64)}, lambda chosen: not runs.append(chosen), until_s=10.0):
            found.append(each)
    assert found and len(runs) == 11
