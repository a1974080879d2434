"""records/telemetry: what clients push is unpacked within bounds, whatever they claim."""

from __future__ import annotations

import gzip
import tracemalloc
import zlib

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from clientscope.errors import RecordError
from clientscope.model.telemetry import ATTRIBUTES, MOST_UNPACKED_BYTES, is_taken, unpack
from clientscope.wire.telemetry import GZIP, LZ4, SNAPPY, UNCOMPRESSED, ZSTD

PACK = {UNCOMPRESSED: lambda data: data, GZIP: gzip.compress, ZSTD: zstandard.compress}


@pytest.mark.parametrize("compression", PACK)
@given(data=st.binary(max_size=2_000))
def test_what_was_packed_is_unpacked(compression: int, data: bytes) -> None:
    assert unpack(compression, PACK[compression](data)) == data


@pytest.mark.parametrize("compression", PACK)
def test_up_to_the_bound(compression: int) -> None:
    assert len(unpack(compression, PACK[compression](bytes(MOST_UNPACKED_BYTES)))) == MOST_UNPACKED_BYTES
    with pytest.raises(RecordError, match="too_large"):
        unpack(compression, PACK[compression](bytes(MOST_UNPACKED_BYTES + 1)))


@pytest.mark.parametrize("compression", [GZIP, ZSTD])
def test_a_bomb_is_never_unpacked(compression: int) -> None:
    bomb = PACK[compression](bytes(100_000_000))
    tracemalloc.start()
    try:
        with pytest.raises(RecordError, match="too_large"):
            unpack(compression, bomb)
        assert tracemalloc.get_traced_memory()[1] < 8 * MOST_UNPACKED_BYTES
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("compression", [SNAPPY, LZ4, 9, -1])
def test_other_types_are_not_read(compression: int) -> None:
    with pytest.raises(RecordError, match="compression"):
        unpack(compression, b"")


@pytest.mark.parametrize("compression", [GZIP, ZSTD])
@given(data=st.binary(max_size=200))
def test_any_bytes_are_data_or_a_reason(compression: int, data: bytes) -> None:
    try:
        unpack(compression, data)
    except RecordError as error:
        assert error.reason in ("unreadable", "too_large")


def test_cut_data_is_unreadable() -> None:
    with pytest.raises(RecordError, match="truncated"):
        unpack(GZIP, gzip.compress(b"some metrics")[:-3])
    with pytest.raises(RecordError, match="unreadable"):
        unpack(GZIP, zlib.compress(b"some metrics"))


@pytest.mark.parametrize(
    "label", [*ATTRIBUTES, "client-id", "Client.Id", "_client..id_", f"client{'_' * 300}id", "service_instance_id", "job", "instance"]
)
def test_names_of_the_gateways_attributes_are_taken_and_whatever_prometheus_writes_alike(label: str) -> None:
    assert is_taken(label)


@pytest.mark.parametrize("label", ["node_id", "topic", "partition", "group_id", "group_member_id", "client_rack", "transactional_id", ""])
def test_labels_of_real_clients_are_free(label: str) -> None:
    assert not is_taken(label)
