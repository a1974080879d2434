"""records: the reference codec takes exactly what it wrote, and anything else is a reason, never a crash."""

from __future__ import annotations

import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st
from record_bytes import config_record, setting

from clientscope.errors import RecordError
from clientscope.records.codec import ClientConfigRecord, ClientConnectionRecord, decode, encode

WHOLE = config_record(setting("acks", "0"), client_id="orders", client_instance_id=uuid.UUID(int=5))


def test_round_trip() -> None:
    record = decode(ClientConfigRecord, WHOLE)
    assert (record.client_id, record.client_instance_id, record.principal) == ("orders", uuid.UUID(int=5), None)
    assert [(c.config_key, c.config_value) for c in record.configs] == [("acks", "0")]
    assert encode(record) == WHOLE == record.encode(version=0), "by the compiled function and by the plain one"
    assert WHOLE[:2] == b"\0\0"


def test_every_prefix_and_every_suffix_is_refused() -> None:
    for end in range(len(WHOLE)):
        with pytest.raises(RecordError):
            decode(ClientConfigRecord, WHOLE[:end])
    with pytest.raises(RecordError, match="trailing_bytes"):
        decode(ClientConfigRecord, WHOLE + b"\0")


@pytest.mark.parametrize(
    ("value", "reason"),
    [(b"", "truncated"), (b"\0", "truncated"), (b"\0\x01" + WHOLE[2:], "unknown_version"), (b"\xff\xff" + WHOLE[2:], "unknown_version")],
)
def test_reasons(value: bytes, reason: str) -> None:
    with pytest.raises(RecordError) as caught:
        decode(ClientConfigRecord, value)
    assert caught.value.reason == reason


def test_unknown_tagged_fields_are_skipped() -> None:
    with_tag = WHOLE[:-1] + b"\x01\x07\x03abc"
    assert decode(ClientConfigRecord, with_tag).client_id == "orders"


def test_an_unknown_tagged_field_that_is_cut_off_is_truncated() -> None:
    with pytest.raises(RecordError, match="truncated"):
        decode(ClientConfigRecord, WHOLE[:-1] + b"\x01\x07\x05abc")


def test_null_is_refused_where_the_schema_has_none() -> None:
    bytes_of_cluster = WHOLE.index(b"\x02c")
    with pytest.raises(RecordError, match="null"):
        decode(ClientConfigRecord, WHOLE[:bytes_of_cluster] + b"\0" + WHOLE[bytes_of_cluster + 2 :])


@given(st.binary(max_size=300))
def test_any_bytes_are_a_record_or_a_reason(value: bytes) -> None:
    for record_class in (ClientConfigRecord, ClientConnectionRecord):
        try:
            record = decode(record_class, value)
        except RecordError as error:
            assert error.reason
        else:
            assert decode(record_class, encode(record)) == record
