"""Alertmanager's API v2: the alerts that each peer is sent repeatedly.

Labels are identity: what never changes while the finding is what it is.  Grouping, silences and repeats are Alertmanager's.
"""

from __future__ import annotations

import json
import random
import threading
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial

from pydantic import Field

from clientscope.clock import now_ms
from clientscope.findings.record import Finding
from clientscope.findings.wording import unmarked
from sinks.alerts.inert import inert
from sinks.alerts.message import Texts, link
from sinks.alerts.peer import INTERVAL_MS, Peer, PostableAlert
from sinks.alerts.receiver_tables import ADDRESS, HttpTable, TableReader
from sinks.alerts.receivers import Attempted, Receiver, ReceiverKind
from sinks.alerts.sending import Route, SendResult, post
from sinks.alerts.times import iso

RESOLVED_MS = 5 * 60_000
"""For how long a resolved one is still sent."""

_EXPIRES_MS = 4 * INTERVAL_MS
"""An alert that isn't sent any more ends so much later: as Prometheus has it, four times the interval."""

Labels = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class AlertEntry:
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
        self._entries: dict[Labels, AlertEntry] = {}
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
                self._entries[wanted] = AlertEntry(finding, None, self._version)
            elif wanted not in self._entries and now_ms - (finding.ended_ms or 0) < RESOLVED_MS:
                self._version += 1  # it ended while no copy of deliver ran
                self._entries[wanted] = AlertEntry(finding, finding.ended_ms, self._version, finding.ended_ms or now_ms)

    def _end(self, key: Labels, finding: Finding | None, now_ms: int) -> None:
        entry = self._entries.get(key)
        if entry is None or entry.ended_ms is not None:
            return
        self._version += 1
        ended_ms = finding.ended_ms if finding is not None and finding.ended_ms else now_ms
        self._entries[key] = AlertEntry(entry.finding if finding is None else finding, min(ended_ms, now_ms), self._version, now_ms)

    def version(self) -> int:
        """Version of the newest change."""
        with self._lock:
            return self._version

    def firing(self) -> int:
        """How many fire."""
        with self._lock:
            return sum(entry.ended_ms is None for entry in self._entries.values())

    def to_send(self, now_ms: int, since: int = 0) -> list[PostableAlert]:
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
        "subject": inert(finding.subject, 200),
        "team": inert(finding.owner.team, 80) if finding.owner else "",
        "source": "clientscope",
    }
    return tuple((name, value) for name, value in given.items() if value)


def alert(key: Labels, entry: AlertEntry, now_ms: int, texts: Texts) -> PostableAlert:
    """One alert of ``POST /api/v2/alerts``."""
    finding = entry.finding
    annotations = {
        "summary": inert(unmarked(finding.message), 600),
        "description": inert(unmarked(finding.use_instead), 400),
        "state": finding.state,
        "clients": str(finding.client_count),
        "first_seen": texts.time(finding.first_seen_ms),
        "last_seen": texts.time(finding.last_seen_ms),
        "contact": inert(finding.owner.contact, 80) if finding.owner else "",
        "rule": link(finding),
        "runbook": "" if finding.kind == "operation" else f"clientscope rules {inert(finding.code, 16)}",
    }
    ended_ms = entry.ended_ms if entry.ended_ms is not None else now_ms + _EXPIRES_MS
    return {
        "labels": dict(key),
        "annotations": {name: value for name, value in annotations.items() if value},
        "startsAt": iso(min(finding.opened_ms, ended_ms)),
        "endsAt": iso(ended_ms),
        "generatorURL": texts.page(finding),
    }


def test_alert(now_ms: int) -> PostableAlert:
    """A test alert, marked as such, that ends after a minute."""
    return {
        "labels": {"alertname": "clientscope_test", "severity": "info", "source": "clientscope"},
        "annotations": {"summary": "A test by clientscope deliver --test; nothing is wrong."},
        "startsAt": iso(now_ms),
        "endsAt": iso(now_ms + 60_000),
    }


test_alert.__test__ = False  # type: ignore[attr-defined]


def send(receiver: Receiver, url: str, alerts: Iterable[PostableAlert]) -> SendResult:
    """Posts alerts to one peer."""
    return post(url.rstrip("/") + "/api/v2/alerts", json.dumps(list(alerts)).encode(), dict(receiver.headers), Route.of(receiver))


class AlertmanagerTable(HttpTable):
    """Its keys."""

    urls: tuple[str, ...] | None = Field(None, description=ADDRESS)


def _read(reader: TableReader[AlertmanagerTable]) -> Receiver:
    urls = reader.table.urls
    if not urls:
        raise reader.error("urls", "it is missing", 'urls = ["https://…", or "file:…" or "env:…"')
    return reader.receiver(tuple(reader.address("urls", url) for url in urls))


def _test(receiver: Receiver, url: str) -> SendResult:
    return send(receiver, url, [test_alert(now_ms())])


def _follow(receiver: Receiver, texts: Texts, attempted: Attempted) -> tuple[Alerts, list[Peer]]:
    alerts = Alerts(receiver, texts)
    urls = enumerate(receiver.urls)
    return alerts, [Peer(receiver.name, number, alerts, partial(send, receiver, url), attempted, random.random) for number, url in urls]


KIND = ReceiverKind(
    name="alertmanager",
    how="**Alertmanager** (API v2) receives every open finding once a minute and at each change, and a resolved one for five more "
    "minutes. Labels identify a finding: `alertname` (the rule's name), `code`, `severity`, `kind`, `fingerprint`, `principal`, "
    "`client_id`, `group`, `subject`, `team`. Texts, counts and times are annotations. Grouping, silences and repeats are "
    "Alertmanager's own. "
    "If deliver stops, Alertmanager resolves its alerts after four minutes.",
    table=AlertmanagerTable,
    read=_read,
    test=_test,
    follow=_follow,
    own_silences=("an Alertmanager, which has silences of its own", "amtool silence add"),
)
