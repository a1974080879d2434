"""Records of several versions and known tagged fields: the vectorised decoder against kafka-python's."""

from __future__ import annotations

import json
import re
import uuid
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kafka.protocol.api_data import ApiData
from mutated_bytes import mutated
from places import TESTS

from clientscope.errors import RecordError
from clientscope.records.codec import decode
from udfs.decoding.decode import Decoder


class EvolvedRecord(ApiData, load_json="evolved_schemas"):  # type: ignore[call-arg]
    """See ``evolved_schemas/EvolvedRecord.json``."""


SCHEMA = json.loads(re.sub(r"(?m)^\s*//.*$", "", (TESTS / "pure" / "evolved_schemas" / "EvolvedRecord.json").read_text()))
DECODER = Decoder(SCHEMA)
WORDS = st.text(max_size=8)


@st.composite
def encoded(draw: st.DrawFn) -> bytes:
    """A record of any version; what that version lacks isn't set, and tagged fields may be missing."""
    version = draw(st.integers(0, 2))
    fields: dict[str, Any] = {"name": draw(WORDS)}
    item: dict[str, st.SearchStrategy[Any]] = {"word": WORDS}
    if version < 2:
        fields["dropped"] = draw(st.integers(-(2**31), 2**31 - 1))
    if version >= 1:
        fields["added"] = draw(st.none() | WORDS if version == 2 else WORDS)
        fields["flag"] = draw(st.booleans())
    if version == 2:
        fields["last"] = draw(st.uuids())
        item["weight"] = st.integers(-(2**15), 2**15 - 1)
    tagged: dict[str, st.SearchStrategy[Any]] = {"size": st.integers(-(2**63), 2**63 - 1), "owner": st.uuids()}
    tagged |= {"color": WORDS} if version else {}
    tagged |= {"blob": st.binary(min_size=1, max_size=20)} if version == 2 else {}
    fields |= draw(st.fixed_dictionaries({}, optional=tagged))
    one = st.fixed_dictionaries(item, optional={"note": WORDS} if version else {})
    fields["items"] = [EvolvedRecord.Item(version=version, **values) for values in draw(st.lists(one, max_size=4))]
    return bytes(EvolvedRecord(version=version, **fields).encode(version=version))


def expected(value: bytes | None) -> dict[str, Any] | None:
    if value is None:
        return None
    try:
        record = decode(EvolvedRecord, value)
    except RecordError:
        return None
    row = {name: getattr(record, name) for name in EvolvedRecord._struct.fields}
    row["items"] = [{name: getattr(item, name) for name in EvolvedRecord.Item._struct.fields} for item in record.items]
    return row | {name: str(row[name]) if isinstance(row[name], uuid.UUID) and row[name].int else None for name in ("last", "owner")}


@settings(deadline=None, max_examples=250)
@given(st.lists(st.none() | mutated(encoded()), max_size=8))
def test_agrees_with_the_reference_whatever_the_version(values: list[bytes | None]) -> None:
    for value, row in zip(values, DECODER(pa.array(values, pa.binary())).to_pylist(), strict=True):
        reason = row.pop("decode_error")
        want = expected(value)
        assert (reason is None) == (want is not None), reason
        assert row == (want or dict.fromkeys(row))


def test_what_a_version_lacks_is_at_its_default() -> None:
    old = EvolvedRecord(version=0, name="a", dropped=1, items=[EvolvedRecord.Item(version=0, word="w")]).encode(version=0)
    new = EvolvedRecord(version=2, name="b", added=None, flag=False, color="blue", last=None, items=[]).encode(version=2)
    first, unknown, second = DECODER(pa.array([old, b"\x00\x03" + new[2:], new])).to_pylist()
    assert first == {
        "name": "a", "dropped": 1, "added": "none yet", "flag": True, "color": "red", "size": 5, "blob": None, "owner": None,
        "items": [{"word": "w", "weight": 3, "note": None}], "last": None, "decode_error": None,
    }  # fmt: skip
    assert unknown["decode_error"] == "unknown_version"
    assert (second["dropped"], second["added"], second["color"], second["size"]) == (-7, None, "blue", 5)


def test_some_fields_of_several_versions() -> None:
    values = [EvolvedRecord(version=version, name=str(version), items=[]).encode(version=version) for version in (2, 0, 1, 0)]
    rows = Decoder(SCHEMA, {"name", "items.weight"})(pa.array(values)).to_pylist()
    assert rows == [{"name": name, "items": [], "decode_error": None} for name in ("2", "0", "1", "0")]


@pytest.mark.parametrize(
    ("change", "message"),
    [({"validVersions": "1-2"}, "versions from 0 on"), ({"flexibleVersions": "1+"}, "all of them flexible")],
)
def test_refuses_a_schema_it_can_not_decode(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Decoder({**SCHEMA, **change})
