"""Bytes per second of connections in a heartbeat."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clientscope.records import traffic
from clientscope.records.traffic import measured, pack, unpack


def test_bytes_become_rates() -> None:
    value = pack(2_000, {7: (2_000, 100), 1 << 33: (0, 2**50)})
    assert measured(value)
    assert list(unpack(value)) == [(7, 1_000, 50), (1 << 33, 0, 2**32 - 1)]


def test_what_says_nothing_isnt_idle() -> None:
    assert not measured(None)
    assert not measured(b"")
    assert measured(pack(1_000, {}))
    assert list(unpack(pack(0, {}))) == list(unpack(None)) == []


def test_the_busiest_are_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(traffic, "MOST_CONNECTIONS", 2)
    assert [number for number, *_ in unpack(pack(1_000, {1: (5, 0), 2: (1, 1), 3: (0, 9)}))] == [3, 1]
    monkeypatch.undo()
    value = pack(1_000, dict.fromkeys(range(5), (1, 1)))
    monkeypatch.setattr(traffic, "MOST_CONNECTIONS", 2)
    assert [number for number, *_ in unpack(value)] == [0, 1], "of a record with more"


@given(st.binary(max_size=100))
def test_any_bytes_are_read(value: bytes) -> None:
    assert len(list(unpack(value))) == max(0, len(value) - 4) // 16
