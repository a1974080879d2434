"""Bytes that workers have counted, from one heartbeat to the next."""

from __future__ import annotations

import pytest

from clientscope.gateway import traffic as gateway_traffic
from clientscope.gateway.traffic import Traffic
from clientscope.records.traffic import unpack


def test_each_heartbeat_has_what_workers_said_since_the_last() -> None:
    counted = Traffic()
    assert counted.take() == b"", "no worker has answered"
    assert counted.measured(1_000, {1: (1_000, 2_000)}) == 0
    assert counted.measured(900, {5: (500, 0)}) == 0
    assert list(unpack(counted.take())) == [(1, 1_000, 2_000), (5, 500, 0)]
    assert counted.take() == b""


def test_connections_that_are_left_out_are_counted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gateway_traffic, "MOST_CONNECTIONS", 3)
    counted = Traffic()
    assert counted.measured(1_000, dict.fromkeys(range(2), (1, 1))) == 0
    assert counted.measured(1_000, dict.fromkeys(range(2, 5), (1, 1))) == 2
    assert counted.measured(1_000, {9: (1, 1)}) == 1
