"""Alertmanager's API v2: which alerts each peer is sent, again and again (as Prometheus does), and a thread for each peer.

Labels are identity: what never changes while the finding is what it is.  Grouping, silences and repeats are Alertmanager's.
"""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

from clientscope.findings.record import Finding
from sinks.alerts.inert import inert
from sinks.alerts.message import Texts, link
from sinks.alerts.receivers import Receiver
from sinks.alerts.retries import delay_s
from sinks.alerts.sending import Result, Route, post
from sinks.alerts.times import iso

INTERVAL_MS = 60_000
"""How often each open finding is sent again."""

RESOLVED_MS = 5 * 60_000
"""For how long a resolved one is still sent."""

_EXPIRES_MS = 4 * INTERVAL_MS
"""An alert that isn't sent any more ends so much later: as Prometheus has it, four times the interval."""

_AT_ONCE = 64
"""Alerts in a request."""

_log = logging.getLogger(__name__)

Labels = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Entry:
    """An alert.

    Attributes:
        ended_ms: when it ended; None while it fires.
        known_ms: when that was learnt, from which it is sent for `RESOLVED_MS`.
        version: grows with each change of any alert.
    """

    finding: Finding
    ended_ms: int | None
    version: int
    known_ms: int = 0


class Alerts:
    """What the peers of one receiver have to know.  From any thread."""

    def __init__(self, receiver: Receiver, texts: Texts) -> None:
        self._receiver = receiver
        self._texts = texts
        self._lock = threading.Lock()
        self._entries: dict[Labels, Entry] = {}
        self._labels: dict[str, Labels] = {}
        self._version = 0

    def take(self, finding: Finding | None, fingerprint: str, firing: bool, now_ms: int) -> None:
        """A finding as it is now; None for one that is gone."""
        wanted = labels(finding) if finding is not None and self._receiver.wants(finding) and finding.alert else None
        with self._lock:
            before = self._labels.get(fingerprint)
            if before is not None and (before != wanted or not firing):
                self._end(before, finding, now_ms)
            if finding is None or wanted is None:
                self._labels.pop(fingerprint, None)
                return
            self._labels[fingerprint] = wanted
            if firing:
                self._version += 1
                self._entries[wanted] = Entry(finding, None, self._version)
            elif wanted not in self._entries and now_ms - (finding.ended_ms or 0) < RESOLVED_MS:
                self._version += 1  # it ended while nobody was here to say so
                self._entries[wanted] = Entry(finding, finding.ended_ms, self._version, finding.ended_ms or now_ms)

    def _end(self, key: Labels, finding: Finding | None, now_ms: int) -> None:
        entry = self._entries.get(key)
        if entry is None or entry.ended_ms is not None:
            return
        self._version += 1
        ended_ms = finding.ended_ms if finding is not None and finding.ended_ms else now_ms
        self._entries[key] = Entry(entry.finding if finding is None else finding, min(ended_ms, now_ms), self._version, now_ms)

    def version(self) -> int:
        """Of the newest change."""
        with self._lock:
            return self._version

    def firing(self) -> int:
        """How many fire."""
        with self._lock:
            return sum(entry.ended_ms is None for entry in self._entries.values())

    def to_send(self, now_ms: int, since: int = 0) -> list[dict[str, Any]]:
        """The alerts as the API has them: all, or those that changed after a version."""
        with self._lock:
            over = [key for key, entry in self._entries.items() if entry.ended_ms is not None and now_ms - entry.known_ms >= RESOLVED_MS]
            for key in over:
                del self._entries[key]
            chosen = [(key, entry) for key, entry in self._entries.items() if entry.version > since]
        return [alert(key, entry, now_ms, self._texts) for key, entry in chosen]


def labels(finding: Finding) -> Labels:
    """Whose and what it is; what clients chose is made inert, since templates of Alertmanager's don't escape.  Empty ones are left out."""
    application = finding.application
    given = {
        "alertname": inert(finding.name or finding.code, 80),
        "code": inert(finding.code, 16),
        "severity": finding.severity,
        "kind": finding.kind,
        "fingerprint": inert(finding.fingerprint, 64),
        "principal": inert(application.principal, 200),
        "client_id": inert(application.client_id, 200),
        "group": inert(application.group, 200),
        "team": inert(finding.owner.team, 80) if finding.owner else "",
        "source": "clientscope",
    }
    return tuple((name, value) for name, value in given.items() if value)


def alert(key: Labels, entry: Entry, now_ms: int, texts: Texts) -> dict[str, Any]:
    """One alert of ``POST /api/v2/alerts``."""
    finding = entry.finding
    annotations = {
        "summary": inert(finding.message, 600),
        "description": inert(finding.use_instead, 400),
        "state": finding.state,
        "clients": str(finding.client_count),
        "first_seen": texts.time(finding.first_seen_ms),
        "last_seen": texts.time(finding.last_seen_ms),
        "contact": inert(finding.owner.contact, 80) if finding.owner else "",
        "rule": link(finding),
        "runbook": f"clientscope rules {inert(finding.code, 16)}",
    }
    ended_ms = entry.ended_ms if entry.ended_ms is not None else now_ms + _EXPIRES_MS
    return {
        "labels": dict(key),
        "annotations": {name: value for name, value in annotations.items() if value},
        "startsAt": iso(min(finding.opened_ms, ended_ms)),
        "endsAt": iso(ended_ms),
        "generatorURL": texts.page(finding),
    }


def test_alert(now_ms: int) -> dict[str, Any]:
    """One that says of itself that it is none, and ends after a minute."""
    return {
        "labels": {"alertname": "clientscope_test", "severity": "info", "source": "clientscope"},
        "annotations": {"summary": "A test by clientscope deliver --test; nothing is wrong."},
        "startsAt": iso(now_ms),
        "endsAt": iso(now_ms + 60_000),
    }


test_alert.__test__ = False  # type: ignore[attr-defined]


def send(url: str, alerts: Iterable[dict[str, Any]], receiver: Receiver, route: Route) -> Result:
    """Posts alerts to one peer."""
    return post(url.rstrip("/") + "/api/v2/alerts", json.dumps(list(alerts)).encode(), dict(receiver.headers), route)


class Peer:
    """One Alertmanager, and the thread that keeps it informed.  What it misses, it is told with the next round."""

    def __init__(
        self,
        number: int,
        receiver: Receiver,
        alerts: Alerts,
        route: Route,
        told: Callable[[str, Result, int, float], None],
        random: Callable[[], float],
    ) -> None:
        """
        Args:
            told: is told of each request, from this thread: the receiver, what became of it, how many alerts it had, and its seconds.
        """
        self.name = receiver.name
        self._url = receiver.urls[number]
        self._receiver = receiver
        self._alerts = alerts
        self._route = route
        self._told = told
        self._random = random
        self._wake = threading.Condition()
        self._stopping = False
        self.failing_since: float | None = None
        self.reason = ""
        self._thread = threading.Thread(target=self._run, name=f"deliver-{receiver.name}-{number}", daemon=True)

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

    def _attempt(self, since: int) -> Result:
        try:
            return self._round(since)
        except Exception as error:  # one finding must not end all that come
            _log.error("receiver %s: %s", self.name, type(error).__name__)
            return Result("failed", f"an error of clientscope's own: {type(error).__name__}")

    def _round(self, since: int) -> Result:
        """Everything that changed after a version, in requests of bounded size; a part that is refused doesn't hold up the next."""
        alerts = self._alerts.to_send(int(time.time() * 1000), since)
        outcome = Result("ok")
        for start in range(0, len(alerts), _AT_ONCE):
            part = alerts[start : start + _AT_ONCE]
            begun = time.monotonic()
            result = send(self._url, part, self._receiver, self._route)
            self._told(self.name, result, len(part), time.monotonic() - begun)
            if result.outcome != "ok":
                outcome = replace(result, outcome="failed")
                if not result.reason.startswith("HTTP 4"):
                    break
        return outcome
