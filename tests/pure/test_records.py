"""records: the reference codec takes exactly what it wrote, and anything else is a reason, never a crash."""

from __future__ import annotations

import uuid
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clientscope.errors import RecordError
from clientscope.records.codec import ClientConfigRecord, ClientConnectionRecord, decode, encode, schema


def config_record(**fields: Any) -> Any:
    values: dict[str, Any] = {
        "received_timestamp_ms": 1,
        "cluster_id": "c",
        "broker_id": 1,
        "gateway_id": "g",
        "gateway_epoch": 5,
        "connection_id": 7,
        "listener_name": "CLIENT",
        "security_protocol": "PLAINTEXT",
        "client_address": "10.0.0.1",
        "principal": None,
        "principal_source": 0,
        "client_id": "orders",
        "client_software_name": "kafka-python",
        "client_software_version": "3.0.12",
        "client_instance_id": uuid.UUID(int=5),
        "origin": 0,
        "digest_key_id": None,
        "configs": [
            ClientConfigRecord.Config(
                version=0, config_key="acks", config_value="0", value_state=0, config_type=1, is_default=False,
                value_digest=None, value_length=1,
            )
        ],
    }  # fmt: skip
    return ClientConfigRecord(version=0, **(values | fields))


WHOLE = encode(config_record())


def test_round_trip() -> None:
    assert decode(ClientConfigRecord, WHOLE) == config_record()
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


def test_every_field_of_a_schema_says_what_it_is() -> None:
    for name in ("ClientConfigRecord", "ClientConnectionRecord"):
        fields = list(schema(name)["fields"])
        while fields:
            field = fields.pop()
            assert field["about"].endswith("."), field["name"]
            fields += field.get("fields", [])
