"""Alertmanager (API v2): it is sent every open finding once a minute and soon after each change, as Prometheus does.

Alertmanager keeps no alerts over a restart and ends those that aren't sent again, so this is its protocol rather than a repeat of ours.
Labels are identity: what never changes while the finding is what it is.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from clientscope.clock import now_ms
from clientscope.findings.wording import unmarked
from clientscope.model.finding import Finding
from sinks.alerts.message import Texts, inert, iso, link
from sinks.alerts.outbox import GIVE_UP_S, RETRIES, Place, Round, Waiting
from sinks.alerts.receivers import HttpReceiver
from sinks.alerts.sending import OK, SendResult, post

RESOLVED_MS = 5 * 60_000
"""For how long a resolved one is still sent."""

_INTERVAL_S = 60.0
_CHANGE_S = 5.0
"""The least time between two rounds, so that a storm of changes is a few of them."""

_EXPIRES_MS = 4 * 60_000
"""An alert that isn't sent any more ends so much later: as Prometheus has it, four times the interval."""

_AT_ONCE = 64
"""Alerts in a request."""

Labels = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class _Alert:
    """An alert; `known_ms` is when its end was learnt, None while it fires."""

    finding: Finding
    ended_ms: int | None = None
    known_ms: int | None = None


@dataclass
class _Peer:
    """One server, and how sending to it goes."""

    url: str
    due: float = 0.0
    failures: int = 0
    failing_since: float | None = None


class Alerts:
    """What the servers of one receiver have to know.  Times are seconds of any clock that never goes back, if they aren't ms."""

    def __init__(self, receiver: HttpReceiver, texts: Texts) -> None:
        self._receiver = receiver
        self._texts = texts
        self._alerts: dict[Labels, _Alert] = {}
        self._labels: dict[str, Labels] = {}
        self._unsent: dict[Labels, Waiting] = {}
        self._peers = [_Peer(url) for url in receiver.urls]
        self._last = -_CHANGE_S

    def take(self, fingerprint: str, finding: Finding | None, place: Place, committed: int | None, at_ms: int, now: float) -> None:
        """A record of ``clientscope.findings``, None for a tombstone."""
        before = self._labels.pop(fingerprint, None)
        wanted = labels(finding) if finding is not None and finding.alert is not None and self._receiver.wants(finding) else None
        fires = finding is not None and finding.is_firing
        if before is not None and (before != wanted or not fires):
            known = self._alerts[before]
            ended_ms = finding.ended_ms if finding is not None and finding.ended_ms else at_ms
            self._alerts[before] = _Alert(finding or known.finding, min(ended_ms, at_ms), at_ms)
            self._unsent.setdefault(before, Waiting(place, now))
        if finding is not None and wanted is not None and fires:
            self._labels[fingerprint] = wanted
            self._alerts[wanted] = _Alert(finding)
            if before != wanted:  # what else has changed can wait for the next round
                self._unsent.setdefault(wanted, Waiting(place, now))

    def send(self, at_ms: int, now: float) -> Round | None:
        """Sends what is due, all alerts to each server; returns None if nothing is."""
        if self._unsent and now >= self._last + _CHANGE_S:
            for peer in (peer for peer in self._peers if not peer.failures):
                peer.due = now
        due = [peer for peer in self._peers if peer.due <= now]
        if not due:
            return None
        alerts = self.to_send(at_ms)
        if not alerts:  # a server that is asked nothing isn't known to be well
            self._unsent.clear()  # what ended more than five minutes ago, while no server answered
            return None
        result = OK
        if not all(peer.failures for peer in due):  # another try of a server that is down holds no change up for the others
            self._last = now
        for peer in due:
            sent = self._send(peer.url, alerts)
            peer.failures = 0 if sent.ok else peer.failures + 1
            peer.failing_since = None if sent.ok else peer.failing_since or now
            peer.due = now + (_INTERVAL_S if sent.ok else min(_INTERVAL_S, RETRIES.seconds(peer.failures - 1)))
            result = result if sent.ok else sent
        given_up = 0
        failing = [peer.failing_since for peer in self._peers if peer.failing_since is not None]
        is_over = len(failing) == len(self._peers) and now - max(failing) >= GIVE_UP_S
        if is_over:
            given_up = len(self._unsent)
        if is_over or not all(peer.failures for peer in due):
            self._unsent.clear()  # what fires is sent again in any case
        return Round(result, given_up)

    def _send(self, url: str, alerts: list[dict[str, Any]]) -> SendResult:
        """In requests of bounded size; a part that is refused doesn't hold up the next."""
        result = OK
        for start in range(0, len(alerts), _AT_ONCE):
            part = post_alerts(self._receiver, url, alerts[start : start + _AT_ONCE])
            result = result if part.ok else part
            if not part.ok and not part.is_final:
                break
        return result

    def to_send(self, at_ms: int) -> list[dict[str, Any]]:
        """The alerts as the API has them."""
        self._alerts = {key: alert for key, alert in self._alerts.items() if alert.known_ms is None or at_ms - alert.known_ms < RESOLVED_MS}
        return [_alert(key, alert, at_ms, self._texts) for key, alert in self._alerts.items()]

    def waiting(self) -> list[Waiting]:
        """The changed alerts that no server has had yet."""
        return list(self._unsent.values())


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


def _alert(key: Labels, alert: _Alert, at_ms: int, texts: Texts) -> dict[str, Any]:
    """One alert of ``POST /api/v2/alerts``."""
    finding = alert.finding
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
    ended_ms = at_ms + _EXPIRES_MS if alert.ended_ms is None else alert.ended_ms
    return {
        "labels": dict(key),
        "annotations": {name: value for name, value in annotations.items() if value},
        "startsAt": iso(min(finding.opened_ms, ended_ms)),
        "endsAt": iso(ended_ms),
        "generatorURL": texts.page(finding),
    }


def send_test(receiver: HttpReceiver, url: str) -> SendResult:
    """Sends an alert that is marked as a test, and ends after a minute."""
    at_ms = now_ms()
    alert = {
        "labels": {"alertname": "clientscope_test", "severity": "info", "source": "clientscope"},
        "annotations": {"summary": "A test by clientscope deliver --test; nothing is wrong."},
        "startsAt": iso(at_ms),
        "endsAt": iso(at_ms + 60_000),
    }
    return post_alerts(receiver, url, [alert])


def post_alerts(receiver: HttpReceiver, url: str, alerts: Iterable[dict[str, Any]]) -> SendResult:
    """Posts alerts to one server."""
    return post(receiver, url.rstrip("/") + "/api/v2/alerts", json.dumps(list(alerts)).encode(), {})
