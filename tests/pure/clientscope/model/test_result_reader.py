"""Results read together are what each is by itself, and share what clients with the same configuration have in common."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mutated_bytes import mutated
from record_bytes import config_record, setting

from clientscope.errors import RecordError
from clientscope.model import result as module
from clientscope.model.codec import decode, encode
from clientscope.model.result import PushResult, ResultReader
from udfs.decode import judged_pushes
from udfs.kernels.results import Place
from udfs.kernels.results import result as judged
from udfs.rules.engine.pushed_config import PushedConfig


def value(client_id: str, acks: str, offset: int = 7) -> bytes:
    (record,), _ = judged_pushes(pa.array([config_record(setting("acks", acks), client_id=client_id)]), None)
    assert record is not None
    _, text = judged(PushedConfig(record), record.written, Place("clientscope.configs", 0, offset, 1))
    return text


def read(reader: ResultReader, text: bytes) -> PushResult | str:
    try:
        return reader.read(text)
    except RecordError as error:
        return error.reason


def alone(text: bytes) -> PushResult | str:
    try:
        return decode(PushResult, text)
    except RecordError as error:
        return error.reason


def test_same_configuration_is_the_same_objects(monkeypatch: pytest.MonkeyPatch) -> None:
    reader = ResultReader()
    texts = [value(client_id, acks) for client_id in ("a", 'b","setting_count":9,"', "ü") for acks in ("0", "all")]
    found = [reader.read(text) for text in texts]
    assert found == [decode(PushResult, text) for text in texts]
    assert len({id(each.rules) for each in found}) == len({id(each.configuration) for each in found}) == 2
    monkeypatch.setattr(module, "_MOST_ALIKE_BYTES", 1)
    reader = ResultReader()
    again = [reader.read(text) for text in texts]
    assert again == found
    assert len({id(each.rules) for each in again}) > 2, "beyond the bound it begins anew"


@settings(deadline=None)
@given(texts=st.lists(mutated(st.sampled_from([value("a", "0"), value("b", "0"), value("b", "1")])), max_size=6))
def test_bytes_are_what_they_are_alone_whatever_was_read_before(texts: list[bytes]) -> None:
    reader = ResultReader()
    for text in (value("a", "0"), *texts, *texts):
        assert read(reader, text) == alone(text)


def test_what_stands_before_the_common_part_counts_for_its_record_alone() -> None:
    reader, honest = ResultReader(), value("a", "0")
    begin = honest.index(b',"setting_count":')
    foreign = honest[:begin] + b',"unsearched":true' + honest[begin:]
    for _ in range(2):
        assert read(reader, foreign) == alone(foreign)
        assert read(reader, honest) == alone(honest)
    assert read(reader, honest[:begin]) == "not_json"


def test_other_spelling_of_the_same_json_is_read_too() -> None:
    text = value("a", "0")
    spaced, turned = text.replace(b',"setting_count":', b', "setting_count": '), json.dumps(dict(reversed(json.loads(text).items())))
    assert [encode(ResultReader().read(each)) for each in (spaced, turned.encode())] == [text, text]
