"""wire/metadata: brokers have other addresses however an answer is cut, and the topics behind them pass."""

from __future__ import annotations

import struct

import address_answers as answers
import pytest
from address_answers import BROKERS, translate, translated
from hypothesis import given
from hypothesis import strategies as st
from mutated_bytes import mutated

from clientscope.errors import WireError
from clientscope.wire.metadata import MOST_HELD_BYTES, MetadataWalk


def walked(frame: bytes, version: int, cuts: list[int]) -> bytes:
    walk = MetadataWalk(version, translate)
    out = b""
    for start, end in zip([0, *cuts], [*cuts, len(frame)], strict=True):
        out += b"".join(walk.feed(frame[start:end], end == len(frame)))
    assert walk.held_bytes == 0
    return out


@given(st.integers(0, 13), st.data())
def test_only_addresses_change_however_it_is_cut(version: int, data: st.DataObject) -> None:
    frame = answers.metadata(version)
    cuts = sorted(data.draw(st.lists(st.integers(8, len(frame) - 1), max_size=6)))
    assert walked(frame, version, cuts) == answers.metadata(version, translated(BROKERS))


@pytest.mark.parametrize("version", range(14))
def test_a_broker_without_a_port_is_left_out(version: int) -> None:
    frame = answers.metadata(version, [*BROKERS, (9, "b-9.cluster.example", 9092)])
    assert walked(frame, version, []) == answers.metadata(version, translated(BROKERS))


def test_topics_are_not_held() -> None:
    walk = MetadataWalk(12, translate)
    frame = answers.metadata(12, topics=1)
    assert b"".join(walk.feed(frame[:-10], False)) and walk.held_bytes == 0
    assert b"".join(walk.feed(frame[-10:], True)) == frame[-10:]


def test_a_list_of_brokers_without_end_is_refused() -> None:
    walk = MetadataWalk(1, translate)
    assert not list(walk.feed(struct.pack(">iii", 2**31 - 1, 5, 2**30), False))
    broker = struct.pack(">ih", 1, 10_000) + b"h" * 10_000 + struct.pack(">ih", 9092, -1)
    with pytest.raises(WireError, match="long_answer"):
        for _ in range(MOST_HELD_BYTES // len(broker) + 1):
            list(walk.feed(broker, False))


@given(st.integers(0, 13), st.data())
def test_hostile_answers_are_read_or_refused_and_nothing_else(version: int, data: st.DataObject) -> None:
    frame = data.draw(mutated(st.just(answers.metadata(version)))).ljust(9, b"\0")
    try:
        walked(frame, version, [])
    except WireError:
        return
