"""A clock for kafka-python's event loop that jumps to the next timer as soon as no connection has anything to send."""

from __future__ import annotations

import selectors
import threading
import time
from collections.abc import Mapping
from typing import Any

import kafka.net.connection
import kafka.net.inet
import kafka.net.manager
import kafka.net.selector
import kafka.net.transport
import pytest
from kafka.protocol.parser import KafkaProtocol
from scripted_broker import ScriptedBroker, error

import clientscope.client.connection

_MODULES = (
    kafka.net.connection, kafka.net.inet, kafka.net.manager, kafka.net.selector, kafka.net.transport,
    clientscope.client.connection,
)  # fmt: skip
_QUIET_S = 0.1
"""Nothing has come for so long in real time: then the clock jumps, once the brokers have read all that was sent."""
_UNREAD_S = 5.0
"""What no broker reads for so long in real time is left unread: its connection is gone."""


class FakeClock:
    """Seconds from 0.  It stops at ``limit``, so that what would take longer is seen not to have happened."""

    def __init__(self, limit: float) -> None:
        self.limit = limit
        self._now = 0.0
        self._alarms: list[float] = []
        self.sent = self.read = 0
        """Requests of the clients', and those that brokers have read."""
        self._changed = threading.Condition()

    def monotonic(self) -> float:
        return self._now

    def __getattr__(self, name: str) -> Any:
        return getattr(time, name)  # stands for the module `time`

    def jump(self, seconds: float) -> None:
        """Advances by so many seconds, or to the first alarm before that, or to the limit."""
        with self._changed:
            target = min(self._now + seconds, self.limit, *self._alarms)
            self._now = max(self._now, target)
            self._alarms = [alarm for alarm in self._alarms if alarm > self._now]
            self._changed.notify_all()

    def wait(self, seconds: float) -> None:
        """Blocks until it has gone on by so much."""
        with self._changed:
            until = self._now + seconds
            self._alarms.append(until)
            self._changed.wait_for(lambda: self._now >= until, timeout=30)

    def install(self, monkeypatch: pytest.MonkeyPatch) -> Mapping[str, Any]:
        """Puts it in the place of kafka-python's and ours; a setting for kafka-python's clients."""
        for module in _MODULES:
            monkeypatch.setattr(module, "time", self)
        clock = self
        send_request = KafkaProtocol.send_request

        def counted(*arguments: Any) -> Any:
            clock.sent += 1
            return send_request(*arguments)

        monkeypatch.setattr(KafkaProtocol, "send_request", counted)

        class Selector(selectors.DefaultSelector):
            unread_s = 0.0

            def select(self, timeout: float | None = None) -> Any:
                ready = super().select(_QUIET_S if timeout is None else min(timeout, _QUIET_S))
                if ready or clock.sent == clock.read:
                    self.unread_s = 0.0
                else:
                    self.unread_s += _QUIET_S
                if not ready and timeout and not 0 < self.unread_s < _UNREAD_S:
                    clock.jump(timeout)
                return ready

        return {"selector": Selector}


class BrokerOnTheClock(ScriptedBroker):
    """A number in its script is seconds of the fake clock."""

    def __init__(self, clock: FakeClock, **settings: Any) -> None:
        self.clock = clock
        self.push_at: list[float] = []
        super().__init__(**settings)

    def answer(self, request: Any) -> Any:
        self.clock.read += 1
        before = len(self.push_times)
        answer = super().answer(request)
        if len(self.push_times) > before:
            self.push_at.append(self.clock.monotonic())
        if isinstance(answer, float):
            self.clock.wait(answer)
            return error()
        return answer
