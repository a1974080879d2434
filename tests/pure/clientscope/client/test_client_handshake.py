"""One client instance's handshake, as questions and answers on a clock of the test's."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

import pytest
from scripted_broker import error

from clientscope.backoff import Backoff
from clientscope.catalog.configs import Type
from clientscope.client.handshake import Handshake, backoff
from clientscope.client.settings import ConfigEntry
from clientscope.wire.codes import CONFIG_MAX_BYTES

ENTRY = ConfigEntry("acks", "all", Type.STRING, True)
RETRIABLE = 7  # REQUEST_TIMED_OUT
UNSPREAD = Backoff(0.1, 1.0)


def handshake(*entries: ConfigEntry, timeout: float = 60.0, pauses: Backoff = UNSPREAD) -> Handshake:
    made = Handshake(timeout, pauses)
    made.configure(entries or (ENTRY,))
    return made


def test_retried_with_backoff() -> None:
    pushing = handshake()
    now, waits = 0.0, []
    for _ in range(6):
        assert pushing.request(now)
        wait = pushing.answered(error(RETRIABLE), now)
        assert wait is not None
        assert pushing.request(now + wait / 2) is None, "not before its time, on any connection"
        waits.append(wait)
        now += wait
    assert waits == [0.1, 0.2, 0.4, 0.8, 1.0, 1.0]
    assert pushing.request(now)
    assert pushing.answered(error(), now) is None


def test_timeout_between_connections() -> None:
    pushing = handshake(timeout=10.0)
    assert pushing.request(0.0)
    pushing.lost("KafkaConnectionError")
    assert pushing.request(10.0) is None


def test_payload_limit_to_the_byte() -> None:
    def body(length: int) -> Any:
        return handshake(ConfigEntry("client.id", "x" * length, Type.STRING, False)).request(0.0)

    room = CONFIG_MAX_BYTES - len(body(1000).encode()) + 1000
    assert len(body(room).encode()) == CONFIG_MAX_BYTES
    assert body(room + 1) is None


def test_backoff_is_spread_by_a_fifth_and_bounded() -> None:
    low, high = (replace(backoff(100, 1000), random=lambda value=value: value) for value in (0.0, 1.0))
    assert [low.seconds(0), high.seconds(0)] == pytest.approx([0.08, 0.12])
    assert [low.seconds(3), high.seconds(3)] == pytest.approx([0.64, 0.96])
    assert (low.seconds(50), high.seconds(50)) == (0.8, 1.0)
    assert backoff(0, 0).seconds(0) == 0.01, "no client asks a broker without end"


def test_a_forked_process_is_another_instance(monkeypatch: pytest.MonkeyPatch) -> None:
    pushing = handshake()
    before = pushing.client_instance_id
    assert pushing.client_instance_id == before
    assert before.version == 4
    assert pushing.request(0.0)
    assert pushing.answered(error(), 0.0) is None
    pid = os.getpid()
    monkeypatch.setattr(os, "getpid", lambda: pid + 1)
    assert pushing.client_instance_id != before
    assert pushing.request(1.0)
