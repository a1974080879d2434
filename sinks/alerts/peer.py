"""Peer: a server that stores alerts itself and is sent them repeatedly, in a thread of its own (as Prometheus does)."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from typing import NotRequired, Protocol, TypedDict

from clientscope.clock import now_ms
from clientscope.findings.record import Finding
from sinks.alerts.receivers import Attempted
from sinks.alerts.retries import delay_s
from sinks.alerts.sending import SendResult

INTERVAL_MS = 60_000
"""How often each open finding is sent again."""

_AT_ONCE = 64
"""Alerts in a request."""

_log = logging.getLogger(__name__)


class PostableAlert(TypedDict):
    """One alert of Alertmanager's ``POST /api/v2/alerts``; times are RFC 3339."""

    labels: dict[str, str]
    annotations: dict[str, str]
    startsAt: str
    endsAt: str
    generatorURL: NotRequired[str]


class RepeatedAlerts(Protocol):
    """The alerts that the peers of one receiver must know.  From any thread."""

    def take(self, finding: Finding | None, fingerprint: str, firing: bool, now_ms: int) -> None:
        """A finding as it is now; None for one that is gone."""

    def version(self) -> int:
        """Version of the newest change."""

    def firing(self) -> int:
        """How many fire."""

    def to_send(self, now_ms: int, since: int = 0) -> list[PostableAlert]:
        """The alerts as the peers take them: all, or those that changed after a version."""


class Peer:
    """One Alertmanager, and the thread that keeps it informed.  What it misses, it is sent with the next round."""

    def __init__(
        self,
        name: str,
        number: int,
        alerts: RepeatedAlerts,
        send: Callable[[list[PostableAlert]], SendResult],
        attempted: Attempted,
        random: Callable[[], float],
    ) -> None:
        """
        Args:
            name: the receiver's.
            number: which of its peers.
            send: one request; it never raises, and ends in time.
            attempted: called with each request; its number is how many alerts it had.
        """
        self.name = name
        self._alerts = alerts
        self._send = send
        self._attempted = attempted
        self._random = random
        self._wake = threading.Condition()
        self._stopping = False
        self.failing_since: float | None = None
        self.reason = ""
        self._thread = threading.Thread(target=self._run, name=f"deliver-{name}-{number}", daemon=True)

    def start(self) -> None:
        """Begins to send."""
        self._thread.start()

    def stop(self) -> None:
        """Ends after the request that is under way, which has a deadline."""
        with self._wake:
            self._stopping = True
            self._wake.notify()

    def join(self, timeout_s: float) -> None:
        """Waits for the end, if it was ever started."""
        if self._thread.is_alive():
            self._thread.join(timeout_s)

    def is_alive(self) -> bool:
        """Whether its thread runs."""
        return self._thread.is_alive()

    def changed(self) -> None:
        """There is news."""
        with self._wake:
            self._wake.notify()

    def _run(self) -> None:
        known, round_due, not_before, failures = 0, 0.0, 0.0, 0
        while True:
            with self._wake:
                now = time.monotonic()
                news = self._alerts.version() > known
                due = max(not_before, now if news else round_due)
                if self._stopping:
                    return
                if due > now:
                    self._wake.wait(due - now)
                    continue
            whole = now >= round_due
            version = self._alerts.version()
            result = self._attempt(0 if whole else known)
            now = time.monotonic()
            if result.outcome == "ok":
                known, failures, not_before = version, 0, now + 0.2
                self.failing_since = None
                if whole:
                    round_due = now + INTERVAL_MS / 1000
                continue
            failures += 1
            self.failing_since = self.failing_since or now
            self.reason = result.reason
            round_due, not_before = now, now + min(INTERVAL_MS / 1000, delay_s(failures, result, self._random))

    def _attempt(self, since: int) -> SendResult:
        try:
            return self._round(since)
        except Exception as error:  # one finding must not end all that come
            _log.error("receiver %s: %s", self.name, type(error).__name__)
            return SendResult("failed", f"an error of clientscope's own: {type(error).__name__}")

    def _round(self, since: int) -> SendResult:
        """Everything that changed after a version, in requests of bounded size; a part that is refused doesn't hold up the next."""
        alerts = self._alerts.to_send(now_ms(), since)
        outcome = SendResult("ok")
        for start in range(0, len(alerts), _AT_ONCE):
            part = alerts[start : start + _AT_ONCE]
            begun = time.monotonic()
            result = self._send(part)
            self._attempted(self.name, result, len(part), time.monotonic() - begun)
            if result.outcome != "ok":
                outcome = replace(result, outcome="failed")
                if not result.reason.startswith("HTTP 4"):
                    break
        return outcome
