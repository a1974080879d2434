"""wire/share_fetch: endpoints have other addresses and the answer its length, however it is cut, and no record is held."""

from __future__ import annotations

import struct

import address_answers as answers
import pytest
from address_answers import BROKERS, Address, translate, translated
from hypothesis import given
from hypothesis import strategies as st
from mutated_bytes import mutated

from clientscope.errors import WireError
from clientscope.wire.cursor import Cursor
from clientscope.wire.share_fetch import MOST_HELD_BYTES, ShareFetchWalk

LEFT_OUT: list[str] = []


def walked(frame: bytes, cuts: list[int]) -> bytes:
    LEFT_OUT.clear()
    walk = ShareFetchWalk(translate, lambda: LEFT_OUT.append("left out"))
    out = b""
    for start, end in zip([0, *cuts], [*cuts, len(frame)], strict=True):
        out += b"".join(walk.feed(frame[start:end], end == len(frame)))
    return out


def split(frame: bytes, brokers: list[Address]) -> tuple[bytes, bytes, list[tuple[int, bytes]]]:
    """What is before the endpoints, the endpoints, and the tagged fields behind them."""
    expected = answers.endpoints(brokers)
    for at in range(len(frame) - len(expected), -1, -1):
        if frame[at : at + len(expected)] == expected:
            cursor = Cursor(frame, at + len(expected))
            try:
                tags = cursor.tags()
            except WireError:
                continue
            if cursor.position == len(frame):
                return frame[:at], expected, tags
    raise AssertionError("no such endpoints")


@given(st.lists(st.none() | st.binary(max_size=300), max_size=4), st.data())
def test_addresses_change_and_a_tag_fills_the_rest(records: list[bytes | None], data: st.DataObject) -> None:
    frame = answers.share_fetch(records, tags=[(3, b"kept")])
    cuts = sorted(data.draw(st.lists(st.integers(8, len(frame) - 1), max_size=6)))
    out = walked(frame, cuts)
    assert len(out) == len(frame) and not LEFT_OUT
    before, _, tags = split(out, translated(BROKERS))
    assert frame.startswith(before)
    assert tags[0] == (3, b"kept") and tags[1][0] > 16_000 and len(tags) == 2


@given(st.integers(1, 300))
def test_every_length_of_a_host_fits_or_leaves_the_list_empty(length: int) -> None:
    brokers = [(1, "h" * length, 9092)]
    out = walked(answers.share_fetch(brokers=brokers), [])
    assert len(out) == len(answers.share_fetch(brokers=brokers))
    split(out, [] if LEFT_OUT else translated(brokers))
    assert bool(LEFT_OUT) == (length < len("gateway") or 0 < length - len("gateway") < 3)


def test_without_endpoints_nothing_changes() -> None:
    frame = answers.share_fetch(brokers=[])
    assert walked(frame, [20, 21, 400]) == frame


def test_records_are_not_held() -> None:
    frame = answers.share_fetch([b"r" * 3 * MOST_HELD_BYTES])
    walk = ShareFetchWalk(translate, lambda: None)
    most = 0
    for at in range(0, len(frame), 100_000):
        list(walk.feed(frame[at : at + 100_000], at + 100_000 >= len(frame)))
        most = max(most, walk.held_bytes)
    assert most < 200


def test_a_list_without_end_is_refused() -> None:
    frame = answers.share_fetch([b""])
    walk = ShareFetchWalk(translate, lambda: None)
    at = frame.index(b"\x03" + struct.pack(">qqh", 0, 9, 1))  # the count of acquired records
    list(walk.feed(frame[:at] + b"\xff\xff\xff\xff\x0f", False))
    acquired = struct.pack(">qqh", 0, 9, 1) + b"\0"
    with pytest.raises(WireError, match="long_answer"):
        for _ in range(4):
            list(walk.feed(acquired * 15_000, False))


@given(st.data())
def test_hostile_answers_are_read_or_refused_and_nothing_else(data: st.DataObject) -> None:
    frame = data.draw(mutated(st.just(answers.share_fetch([b"abc"], tags=[(0, b"x")])))).ljust(9, b"\0")
    try:
        assert len(walked(frame, [])) == len(frame)
    except WireError:
        return
