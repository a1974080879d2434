"""The vectorised decoder against the reference codec."""

from __future__ import annotations

import json
import uuid
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mutated_bytes import mutated
from record_bytes import binaries, config_record, setting

from clientscope.errors import RecordError
from clientscope.records.codec import ClientConfigRecord, ClientConnectionRecord, decode, encode
from clientscope.records.layouts import MOST_SETTINGS, schema
from udfs.decoding.decode import Decoder, decoder
from udfs.decoding.layout import Struct, compile_schema
from udfs.decoding.record_reader import REASONS

RECORDS = {"ClientConfigRecord": ClientConfigRecord, "ClientConnectionRecord": ClientConnectionRecord}
DECODERS = {name: Decoder(schema(name)) for name in RECORDS}
INNER = {"configs": ClientConfigRecord.Config, "counts": ClientConnectionRecord.Count}

_BITS = {"int8": 8, "int16": 16, "int32": 32, "int64": 64}


def fields_of(struct: Struct) -> st.SearchStrategy[dict[str, Any]]:
    """Values for every field of a layout, as the reference codec's classes take them."""
    strategies: dict[str, st.SearchStrategy[Any]] = {}
    for field in struct.fields:
        if field.element is not None:
            inner = INNER[field.name]
            one = st.lists(fields_of(field.element).map(lambda values, inner=inner: inner(version=0, **values)), max_size=4)
        elif field.type in _BITS:
            bits = _BITS[field.type]
            one = st.integers(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
        elif field.type == "bool":
            one = st.booleans()
        elif field.type == "uuid":
            one = st.none() | st.uuids()
        elif field.type == "bytes":
            one = st.binary(max_size=40)
        else:
            one = st.text(max_size=12) | st.just("x" * 200)
        strategies[field.name] = st.none() | one if field.nullable else one
    return st.fixed_dictionaries(strategies)


def values_of(name: str) -> st.SearchStrategy[bytes]:
    layout = compile_schema(schema(name))
    return fields_of(layout).map(lambda values: bytes(encode(RECORDS[name](version=0, **values))))


def plain(value: Any) -> Any:
    """The reference's record as the columns have it."""
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, uuid.UUID):
        return str(value)
    if isinstance(value, (ClientConfigRecord, ClientConnectionRecord, *INNER.values())):
        return {name: plain(getattr(value, name)) for name in value._struct.fields}
    return value


def expected(name: str, value: bytes | None) -> dict[str, Any] | None:
    if value is None:
        return None
    try:
        return plain(decode(RECORDS[name], value))
    except RecordError:
        return None


def test_a_record_of_more_settings_than_anybody_has_is_not_read() -> None:
    """Every element is a step for the whole batch: 80,000 took three seconds."""
    whole, beyond = (config_record(*[setting("a", "b")] * number) for number in (MOST_SETTINGS, MOST_SETTINGS + 1))
    rows = decoder("ClientConfigRecord")(pa.array([GOOD, beyond, whole])).to_pylist()
    assert [row["decode_error"] for row in rows] == [None, "too_many_settings", None]
    assert (len(rows[0]["configs"]), rows[1]["configs"], len(rows[2]["configs"])) == (1, None, MOST_SETTINGS)
    with pytest.raises(RecordError, match="too_many_settings"):
        decode(RECORDS["ClientConfigRecord"], beyond)


@pytest.mark.parametrize("name", RECORDS)
@settings(deadline=None)
@given(st.data())
def test_agrees_with_the_reference(name: str, data: st.DataObject) -> None:
    values = data.draw(st.lists(st.none() | mutated(values_of(name)), max_size=6))
    skip = data.draw(st.integers(0, len(values)))
    got = DECODERS[name](binaries(*values).slice(skip)).to_pylist()
    for value, row in zip(values[skip:], got, strict=True):
        reason = row.pop("decode_error")
        want = expected(name, value)
        assert (reason is None) == (want is not None), reason
        assert row == (want or dict.fromkeys(row))
        assert reason is None or reason in REASONS


GOOD = config_record(setting("acks", "0"))


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (GOOD, None),
        (None, "no_value"),
        (b"", "truncated"),
        (GOOD[:-1], "truncated"),
        (b"\x00\x07" + GOOD[2:], "unknown_version"),
        (GOOD + b"\x00", "trailing_bytes"),
        (GOOD[:10] + b"\xff\xff\xff\xff\xff" + GOOD[11:], "bad_varint"),
        (GOOD[:10] + b"\x00" + GOOD[12:], "null"),
        (GOOD[:11] + b"\xff" + GOOD[12:], "bad_utf8"),
        (config_record()[:-2] + b"\xff\x7f\x00", "count_beyond_bytes"),
    ],
)
def test_says_why_and_spares_the_neighbours(value: bytes | None, reason: str | None) -> None:
    before, row, after = DECODERS["ClientConfigRecord"](binaries(GOOD, value, GOOD)).to_pylist()
    assert row["decode_error"] == reason
    assert before == after == {**expected("ClientConfigRecord", GOOD), "decode_error": None}


def test_unknown_tagged_fields_are_skipped() -> None:
    value = GOOD[:-1] + b"\x02" + b"\x05\x03abc" + b"\x86\x0a\x00"
    (row,) = DECODERS["ClientConfigRecord"](pa.array([value])).to_pylist()
    assert row == {**expected("ClientConfigRecord", GOOD), "decode_error": None}


def test_takes_chunks_large_arrays_and_nothing() -> None:
    decoder = DECODERS["ClientConfigRecord"]
    chunks = pa.chunked_array([pa.array([GOOD]), binaries(None, GOOD)])
    assert decoder(chunks).to_pylist() == decoder(pa.array([GOOD, None, GOOD], pa.large_binary())).to_pylist()
    assert len(decoder(binaries())) == 0
    assert decoder(binaries()).type == decoder.arrow_type


@settings(deadline=None, max_examples=60)
@given(st.lists(st.none() | mutated(values_of("ClientConnectionRecord")), max_size=6), st.data())
def test_fields_that_are_not_asked_for_are_read_past(values: list[bytes | None], data: st.DataObject) -> None:
    layout = compile_schema(schema("ClientConnectionRecord"))
    names = [field.name for field in layout.fields] + ["counts.open_connections", "counts.count_software_name"]
    only = data.draw(st.sets(st.sampled_from(names)))
    array = binaries(*values)
    some, whole = Decoder(schema("ClientConnectionRecord"), only)(array).to_pylist(), DECODERS["ClientConnectionRecord"](array).to_pylist()
    for part, row in zip(some, whole, strict=True):
        reason = part.pop("decode_error")
        assert reason == row["decode_error"] or row["decode_error"] == "bad_utf8"
        if row["decode_error"] is None:
            assert set(part) == {name.partition(".")[0] for name in only}
            for name, value in part.items():
                within = [inner.partition(".")[2] for inner in only if inner.startswith(f"{name}.")]
                wanted = row[name] if name in only else [{inner: entry[inner] for inner in within} for entry in row[name]]
                assert json.dumps(value, sort_keys=True, default=str) == json.dumps(wanted, sort_keys=True, default=str)


def test_a_field_that_is_not_there_can_not_be_asked_for() -> None:
    with pytest.raises(ValueError, match=r"no such fields: configs\.color"):
        Decoder(schema("ClientConfigRecord"), {"configs.config_key", "configs.color"})


@pytest.mark.parametrize("change", [{"type": "float64"}, {"type": "[]Leaf", "fields": [], "tag": 1, "taggedVersions": "0+"}])
def test_refuses_a_schema_it_can_not_decode(change: dict[str, Any]) -> None:
    field = {"name": "Field", "type": "int32", "versions": "0+", **change}
    with pytest.raises(ValueError, match="field"):
        Decoder({"name": "Bad", "validVersions": "0", "flexibleVersions": "0+", "fields": [field]})


@pytest.mark.parametrize("change", [{"validVersions": "0-1"}, {"validVersions": "1"}, {"flexibleVersions": "1+"}])
def test_refuses_any_version_but_0(change: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="only version 0"):
        Decoder({**schema("ClientConfigRecord"), **change})  # type: ignore[typeddict-item]
