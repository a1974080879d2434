"""Bytes that workers have counted, from one heartbeat to the next."""

from __future__ import annotations

import pytest

from clientscope.gateway import connection_records as gateway_traffic
from clientscope.gateway.connection_records import Traffic
from clientscope.records import connection_record
from clientscope.records.connection_record import rates


def test_each_heartbeat_has_what_workers_said_since_the_last() -> None:
    counted = Traffic()
    assert counted.take() is None, "no worker has answered"
    assert counted.measured(1_000, {1: (1_000, 2_000)}) == 0
    assert counted.measured(900, {5: (500, 0)}) == 0
    taken = counted.take()
    assert taken is not None and rates(*taken) == ((1, 1_000, 2_000), (5, 500, 0))
    assert counted.take() is None


def test_connections_that_are_left_out_are_counted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gateway_traffic, "MOST_CONNECTIONS", 3)
    counted = Traffic()
    assert counted.measured(1_000, dict.fromkeys(range(2), (1, 1))) == 0
    assert counted.measured(1_000, dict.fromkeys(range(2, 5), (1, 1))) == 2
    assert counted.measured(1_000, {9: (1, 1)}) == 1


def test_rates_are_per_second_and_those_with_the_most_bytes_are_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    assert rates(2_000, {7: (3_001, 0), 8: (2**60, 1)}) == ((7, 1_500, 0), (8, 2**32 - 1, 0))
    assert rates(0, {1: (5, 5)}) == ((1, 5_000, 5_000),)
    monkeypatch.setattr(connection_record, "MOST_CONNECTIONS", 2)
    assert [number for number, *_ in rates(1_000, {1: (1, 0), 2: (9, 0), 3: (0, 5)})] == [2, 3]
