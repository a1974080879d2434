"""decode: each record by itself, whatever is in it and beside it; and one reader's records for another."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import MISSING, fields
from typing import Any
from uuid import UUID

import pyarrow as pa
import pytest
from golden import cases
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError
from record_bytes import binaries, config_record, connection_record, heartbeat, setting

from clientscope.catalog.configs import Type
from clientscope.catalog.value_states import ValueState
from clientscope.errors import RecordError
from clientscope.model.codec import MOST_BYTES, adapter, decode, encode, reasons
from clientscope.model.connection import MOST_CONNECTIONS, MOST_COUNTS, ClientConnectionRecord
from clientscope.model.enums import Kind
from clientscope.model.push import MOST_SETTINGS, Push
from udfs.decode import CONNECTION, PUSH, decode_connections, decode_pushes

PUSHED = config_record(
    setting("acks", "1"),
    setting("linger.ms", "5", Type.LONG, default=True),
    setting("sasl.password", None, Type.PASSWORD, state=ValueState.KEY_WORD, length=7, digest=b"d" * 32),
    setting("acks", "all"),
    instance_id=UUID(int=5),
)
COUNTED = heartbeat(7, [("java", "4", 2, 3, 1)])
TWO_MB = b'"' + b"x" * (2 << 20) + b'"'


def changed(value: bytes, **fields: Any) -> bytes:
    """A record with other fields, as JSON that some other program wrote."""
    return json.dumps(json.loads(value) | fields).encode()


def put(before: bytes, after: bytes, value: bytes = PUSHED) -> bytes:
    assert before in value
    return value.replace(before, after)


BROKER = b'"broker":1'
WHY = {"reason": "custom", "length": 3}
HOSTILE: dict[str, tuple[str, bytes | None]] = {
    "no value": ("no_value", None),
    "blank": ("not_json", b" \n"),
    "binary": ("not_json", bytes(range(256))),
    "an array": ("not_an_object", b"[" + PUSHED + b"]"),
    "two documents": ("not_json", PUSHED + PUSHED),
    "two lines": ("not_json", PUSHED + b"\n" + PUSHED),
    "cut off": ("not_json", PUSHED[:-1]),
    "400 digits": ("invalid_broker", put(BROKER, b'"broker":' + b"9" * 400)),
    "100,000 digits": ("not_json", put(BROKER, b'"broker":' + b"9" * 100_000)),
    "a long name": ("invalid_client_id", changed(PUSHED, client_id="x" * 1_025)),
    "depth 100,000": ("not_json", b"[" * 100_000),
    "depth 100,000 in a field nobody knows": ("not_json", put(BROKER, b'"broker":1,"new":' + b"[" * 100_000 + b"]" * 100_000)),
    "invalid UTF-8": ("not_json", put(b"orders-1", b"orders-\xff")),
    "invalid UTF-8 in a field nobody knows": ("not_json", put(BROKER, b'"broker":1,"new":"\xff"')),
    "UTF-16": ("not_json", PUSHED.decode().encode("utf-16")),
    "a byte order mark": ("not_json", b"\xef\xbb\xbf" + PUSHED),
    "2 MB": ("too_large", put(b'"orders-1"', TWO_MB)),
    "2 MB in a field nobody knows": ("too_large", put(BROKER, b'"broker":1,"new":' + TWO_MB)),
    "too many settings": ("invalid_settings", changed(PUSHED, settings=dict.fromkeys(map(str, range(MOST_SETTINGS + 1)), "1"))),
    "60,000 wrong settings": ("invalid_settings", changed(PUSHED, settings=dict.fromkeys(map(str, range(60_000)), 1))),
}
READERS: dict[str, tuple[bytes, Callable[[pa.Array], pa.StructArray], type]] = {
    "push": (PUSHED, decode_pushes, Push),
    "connection": (COUNTED, decode_connections, ClientConnectionRecord),
}


def is_refused(of: str, value: bytes | None, reason: str) -> None:
    """And its neighbours are as they were."""
    good, decode_all, record = READERS[of]
    before, row, after = decode_all(binaries(good, value, good)).to_pylist()
    assert row == {**dict.fromkeys(row), "decode_error": reason}
    assert reason in reasons(record)
    assert before == after == decode_all(binaries(good)).to_pylist()[0]
    assert before["decode_error"] is None


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_record_is_a_reason_and_its_neighbours_are_as_they_were(name: str) -> None:
    reason, value = HOSTILE[name]
    is_refused("push", value, reason)


@pytest.mark.parametrize(("reason", "before", "after"), cases(__file__, "hostile_texts.txt"))
def test_so_is_a_text_that_is_no_push(reason: str, before: str, after: str) -> None:
    is_refused("push", put(before.encode(), after.encode()) if before else after.encode(), reason)


@pytest.mark.parametrize(("of", "field", "text"), cases(__file__, "invalid_fields.txt"))
def test_a_field_that_is_wrong_is_the_reason(of: str, field: str, text: str) -> None:
    is_refused(of, changed(READERS[of][0], **{field: "HERE"}).replace(b'"HERE"', text.encode()), f"invalid_{field}")


def test_every_setting_is_a_row_and_of_one_that_is_there_twice_the_last_comes_last() -> None:
    (row,) = decode_pushes(binaries(PUSHED)).to_pylist()
    assert [tuple(each.values()) for each in row["configs"]] == [
        ("acks", "1", 0, Type.STRING, False, None, 1),
        ("linger.ms", "5", 0, Type.LONG, True, None, 1),
        ("sasl.password", None, ValueState.KEY_WORD, Type.PASSWORD, False, b"d" * 32, 7),
        ("acks", "all", 0, Type.STRING, False, None, 3),
    ]
    assert (row["instance_id"], row["client_id"]) == (str(UUID(int=5)), "orders-1")


def test_what_is_said_of_keys_that_are_not_there_means_nothing() -> None:
    more = {"types": {"x": "int"}, "defaults": ["x", "acks"], "redacted": {"x": WHY}, "repeated": []}
    (row,) = decode_pushes(binaries(changed(PUSHED, settings={"acks": "all"}, **more))).to_pylist()
    assert [tuple(each.values()) for each in row["configs"]] == [("acks", "all", 0, Type.STRING, True, None, 3)]


@pytest.mark.parametrize(
    ("twice", "read"),
    [
        (put(BROKER, b'"broker":7,"broker":1'), lambda record: record.broker == 1),
        (put(b'"settings":{', b'"settings":{"acks":"0",'), lambda record: record.settings["acks"] == "all"),
    ],
)
def test_of_a_name_that_is_twice_in_an_object_the_last_counts_for_every_reader(twice: bytes, read: Callable[[Any], bool]) -> None:
    record = decode(Push, twice)
    assert read(record)
    assert record == decode(Push, json.dumps(json.loads(twice)).encode())


def test_a_reader_takes_records_with_fields_that_it_does_not_know_and_without_those_that_may_be_missing() -> None:
    secret = "hunter2-canary"
    newer = changed(PUSHED, region=secret, redacted={"linger.ms": WHY | {"new": secret}})
    (row,) = decode_pushes(binaries(newer)).to_pylist()
    assert (row["decode_error"], row["client_id"]) == (None, "orders-1") and secret not in str(row)
    said = json.loads(PUSHED)
    missing = {field.name for field in fields(Push) if field.default is not MISSING or field.default_factory is not MISSING}
    older = json.dumps({name: value for name, value in said.items() if name not in missing}).encode()
    (row,) = decode_pushes(binaries(older)).to_pylist()
    assert (row["decode_error"], row["client_id"], len(row["configs"])) == (None, None, 3)
    assert decode(ClientConnectionRecord, changed(COUNTED, region=secret)) == decode(ClientConnectionRecord, COUNTED)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("counts", [json.loads(COUNTED)["counts"][0] | {"connections": -1}]),
        ("counts", json.loads(COUNTED)["counts"] * (MOST_COUNTS + 1)),
        ("requested_versions", [[0, 1]] * 65),
        ("traffic", [[1, 2, 3]] * (MOST_CONNECTIONS + 1)),
    ],
)
def test_a_list_of_a_connections_record_that_is_wrong_is_the_reason(field: str, value: Any) -> None:
    is_refused("connection", changed(COUNTED, **{field: value}), f"invalid_{field}")


@pytest.mark.parametrize(
    ("of", "field", "wrong"),
    [
        (ClientConnectionRecord, "counts", [{}] * 100_000),
        (Push, "settings", {str(number): number for number in range(100_000)}),
        (Push, "repeated", [{}] * 4_000),
    ],
)
def test_reading_ends_at_the_first_wrong_item(of: type, field: str, wrong: Any) -> None:
    """Each error takes a kilobyte of memory."""
    with pytest.raises(ValidationError) as found:
        adapter(of).validate_json(json.dumps({field: wrong}))
    assert len(found.value.errors()) < 100


def test_a_record_of_a_connection_has_its_lists() -> None:
    record = connection_record(3, [("java", "4", 2, 3, 1), ("go", "1", 0, 1, 1)], requested_versions=((0, 9), (18, 3)))
    traffic = connection_record(4, kind=Kind.TRAFFIC, connection=-1, measured_ms=5_000, traffic=((7, 100, 2**32 - 1),))
    row, of_traffic = decode_connections(binaries(record, traffic)).to_pylist()
    assert [tuple(each.values()) for each in row["counts"]] == [("CLIENT", "java", "4", 2, 3, 1), ("CLIENT", "go", "1", 0, 1, 1)]
    assert row["requested_versions"] == b"\0\0\0\x09\0\x12\0\x03"
    assert [tuple(each.values()) for each in of_traffic["traffic"]] == [(7, 100, 2**32 - 1)]


@given(st.lists(st.sampled_from([PUSHED, COUNTED, None, b"{}"]) | st.binary(max_size=40), max_size=5))
def test_any_bytes_are_a_row_or_a_reason_and_rows_stay_in_order(values: list[bytes | None]) -> None:
    for made, of, record_class in ((decode_pushes, PUSH, Push), (decode_connections, CONNECTION, ClientConnectionRecord)):
        rows = made(binaries(*values))
        rows.validate(full=True)
        assert (rows.type, len(rows)) == (of, len(values))
        for value, error in zip(values, rows.field("decode_error").to_pylist(), strict=True):
            try:
                record = decode(record_class, value)
            except RecordError as reason:
                assert reason.reason == error and error in reasons(record_class)
            else:
                assert error is None and decode(record_class, encode(record)) == record


def test_a_reason_never_quotes_what_was_read() -> None:
    canary = "hunter2-canary"
    wrong: list[dict[str, Any]] = [{"cluster": [canary]}, {"settings": {canary: 5}}, {"types": {canary: canary}}]
    for value in (canary.encode(), *(changed(PUSHED, **each) for each in wrong)):
        with pytest.raises(RecordError) as caught:
            decode(Push, value)
        assert canary not in f"{caught.value!r} {caught.value} {caught.value.__cause__} {caught.value.__suppress_context__}"


def test_the_longest_lists_fit_into_a_record() -> None:
    """20,000 connections of traffic, and 1,000 series with names of 256 characters, below what the topic takes."""
    traffic = connection_record(1, kind=Kind.TRAFFIC, traffic=((2**53, 2**32 - 1, 2**32 - 1),) * MOST_CONNECTIONS)
    series = connection_record(1, [("n" * 256, "v" * 256, 10**6, 10**9, 10**9)] * MOST_COUNTS, listener="l" * 64)
    assert max(len(traffic), len(series)) < MOST_BYTES - 10_000
    assert pa.compute.is_null(decode_connections(binaries(traffic, series)).field("decode_error")).to_pylist() == [True, True]
