"""records/requested_versions: the field's bytes, and whatever else may be there in their place."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from record_bytes import connection_record

from clientscope.records.codec import ClientConnectionRecord, decode
from clientscope.records.requested_versions import MOST_VERSIONS, bounded, pack, pair, unpack

INT16 = st.integers(-(2**15), 2**15 - 1)


@given(st.sets(st.tuples(INT16, INT16), max_size=MOST_VERSIONS))
def test_what_was_packed_is_found(versions: set[tuple[int, int]]) -> None:
    assert set(unpack(pack({pair(*each) for each in versions}))) == versions


@given(st.binary(max_size=600))
def test_any_bytes_are_a_bounded_list(value: bytes) -> None:
    assert len(list(unpack(value))) == min(len(value) // 4, MOST_VERSIONS)
    assert value.startswith(bounded(value)) and list(unpack(bounded(value))) == list(unpack(value))


def test_a_record_has_the_versions() -> None:
    value = connection_record(1, requested_versions=pack({pair(1, 3), pair(0, 2)}))
    assert list(unpack(decode(ClientConnectionRecord, value).requested_versions)) == [(0, 2), (1, 3)]
    assert list(unpack(decode(ClientConnectionRecord, connection_record(1)).requested_versions)) == []
