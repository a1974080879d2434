"""Fast path through a run of fields: the same result as the slow path, or none."""

from __future__ import annotations

from unittest import mock

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import settings as profile
from hypothesis import strategies as st
from record_bytes import binaries, config_record, setting

from clientscope.records.layouts import schema
from udfs.decoding import record_reader as reading
from udfs.decoding import trusted_runs as runs
from udfs.decoding.decode import Decoder
from udfs.decoding.layout import compile_schema

DECODER = Decoder(schema("ClientConfigRecord"))
LAYOUT = compile_schema(schema("ClientConfigRecord"))
LENGTHS = (0, 1, 125, 126, 127, 128, 300, 16_382, 16_383, 20_000)
"""A length is written one greater: from 127 on in two bytes, from 16,383 on in three."""


def both(values: list[bytes]) -> tuple[pa.Array, pa.Array]:
    array = binaries(*values)
    with mock.patch.object(reading, "read_run", lambda *_: None):
        slow = DECODER(array)
    return DECODER(array), slow


@st.composite
def batches(draw: st.DrawFn) -> list[bytes]:
    values = []
    for _ in range(draw(st.integers(1, 4))):
        settings = [
            setting("k" * draw(st.sampled_from(LENGTHS)), draw(st.sampled_from([None, *("v" * length for length in LENGTHS[:-2])])))
            for _ in range(draw(st.integers(0, 3)))
        ]
        value = bytearray(config_record(*settings, client_id="c" * draw(st.sampled_from(LENGTHS[:7]))))
        for _ in range(draw(st.integers(0, 2))):
            at = draw(st.integers(0, len(value) - 1))
            value[at] = draw(st.sampled_from([0, 1, 0x7F, 0x80, 0x81, 0xFF]))
        values.append(bytes(value[: draw(st.sampled_from([len(value), len(value), draw(st.integers(0, len(value)))]))]))
    return values


@profile(deadline=None)
@given(batches())
def test_both_ways_say_the_same(values: list[bytes]) -> None:
    quick, slow = both(values)
    assert quick.equals(slow)


@pytest.mark.parametrize("tail", [b"", b"\xff" * 40_000, b"\x80" * 40_000])
def test_a_record_that_is_cut_anywhere_reads_nothing_of_its_neighbour(tail: bytes) -> None:
    whole = config_record(setting("acks", "all"), setting("linger.ms", "v" * 200), client_id="c" * 126)
    quick, slow = both([each for end in range(len(whole)) for each in (whole[:end], tail)] + [whole])
    assert quick.equals(slow)
    assert quick[-1].as_py()["configs"][1]["config_value"] == "v" * 200


@pytest.mark.parametrize(
    ("value", "taken"),
    [
        (config_record(setting("acks", "all")), True),
        (config_record(setting("acks", "v" * 126)), True),
        (config_record(setting("acks", "v" * 16_382)), True),
        (config_record(setting("acks", "v" * 16_383)), False),
    ],
)
def test_lengths_of_one_byte_and_two_go_the_short_way(value: bytes, taken: bool) -> None:
    went: list[bool] = []

    def watched(*arguments: object) -> object:
        found = runs.read_run(*arguments)  # type: ignore[arg-type]
        went.append(found is not None)
        return found

    with mock.patch.object(reading, "read_run", watched):
        decoded = DECODER(pa.array([value]))
    assert decoded[0].as_py()["decode_error"] is None
    assert went == [True, taken], "the record's own fields, and its setting's"


@pytest.mark.parametrize("length", [125, 127, 16_382, 16_383, 16_384, 20_000, 40_000])
@pytest.mark.parametrize("field", ["config_key", "config_value", "client_software_name"])
def test_does_not_read_length_of_three_bytes_as_two(field: str, length: int) -> None:
    """Zeros may be anything: numbers, nulls, and no tagged fields. So what is read too short ends well among them."""
    text = "\0" * length
    if field == "client_software_name":
        value = config_record(setting("acks", "all"), client_software_name=text)
    else:
        value = config_record(setting("acks", "all", **{field: text}))
    quick, slow = both([value])
    assert quick.equals(slow)
    decoded = quick[0].as_py()
    assert decoded["decode_error"] is None
    assert (decoded if field == "client_software_name" else decoded["configs"][0])[field] == text


def test_it_looks_no_further_than_it_says() -> None:
    (fields,) = next(field.element for field in LAYOUT.fields if field.name == "configs").runs
    data = np.full(runs.most_ahead(fields), 0xFF, np.uint8)
    for filling in (0xFF, 0x7F, 0x80):
        data[:] = filling
        views = {code: np.ndarray((data.size - np.dtype(code).itemsize + 1,), code, data, strides=(1,)) for code in (">i1", ">i4", ">u1")}
        zero = np.zeros(1, np.int64)
        assert runs.read_run(data, views, fields, zero, zero + 10, tags=True) is None
