"""records/requested_versions: as processes hold them, and as a record has them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from record_bytes import connection_record

from clientscope.records.codec import decode
from clientscope.records.connection_record import ClientConnectionRecord
from clientscope.records.requested_versions import MOST_VERSIONS, pack, pair, unpack

INT16 = st.integers(-(2**15), 2**15 - 1)


@given(st.sets(st.tuples(INT16, INT16), max_size=MOST_VERSIONS))
def test_what_was_packed_is_found(versions: set[tuple[int, int]]) -> None:
    assert set(unpack(pack({pair(*each) for each in versions}))) == versions


def test_a_record_has_the_versions_as_pairs() -> None:
    versions = ((0, 2), (1, 3))
    value = connection_record(1, requested_versions=versions)
    assert b'"requested_versions":[[0,2],[1,3]]' in value
    record = decode(ClientConnectionRecord, value)
    assert (record.requested_versions, record.requested) == (versions, pack({pair(*each) for each in versions}))
    assert decode(ClientConnectionRecord, connection_record(1)).requested == b""
