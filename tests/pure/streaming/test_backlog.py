"""Slices of a backlog: every offset once, each partition from its beginning."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from kafka import TopicPartition

from clientscope.kafka.reader import OffsetRange
from streaming.backlog import cut

ranges = st.dictionaries(
    st.integers(0, 5).map(lambda number: TopicPartition("t", number)),
    st.tuples(st.integers(0, 100), st.integers(1, 500)).map(lambda each: OffsetRange(each[0], sum(each))),
    min_size=1,
)


@given(ranges, st.integers(1, 200))
def test_slices_are_bounded_and_have_every_offset_once(there: dict[TopicPartition, OffsetRange], size: int) -> None:
    read: dict[TopicPartition, list[int]] = {partition: [] for partition in there}
    left = dict(there)
    while left:
        part, left = cut(left, size)
        assert sum(end - first for first, end in part.values()) < size + len(part), "and at most one more of each partition"
        assert all(first < end for first, end in (*part.values(), *left.values()))
        for partition, (first, end) in part.items():
            read[partition] += range(first, end)
    assert read == {partition: list(range(first, end)) for partition, (first, end) in there.items()}
