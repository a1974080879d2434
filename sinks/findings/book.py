"""All findings: takes in what is wrong and what no longer is, and says which records that changes."""

from __future__ import annotations

import logging
import math
from collections import deque
from collections.abc import Iterable, Mapping
from typing import Any

from clientscope.errors import RecordError
from clientscope.findings.decisions import Decision
from clientscope.findings.record import Finding
from clientscope.severities import SEVERITIES
from clientscope.topic_values import parse
from sinks.findings.arrived import Push
from sinks.findings.clients import Clients, OneApplication
from sinks.findings.conditions import Condition
from sinks.findings.entry import Entry, Place, Where
from sinks.findings.fleet import Found
from sinks.findings.problems import Problem, Secrets, problems
from sinks.findings.told import Policy, finding, restored

log = logging.getLogger(__name__)

MOST_FINDINGS = 50_000
"""That are kept; further ones are left out, and told in the log."""

COUNTS_EVERY_MS = 30_000
"""How often a record is written again because only counts and times have changed."""

KEEP_MS = 30 * 24 * 60 * 60_000
"""For how long a finding stays on the topic after it was resolved or closed."""

_ROUND_MS = 30_000
"""In so long each finding is looked at once, though nothing was heard of it: its clients may have left."""

Changes = dict[str, Finding | None]


class Book:
    """Findings by fingerprint.  Times are ms since the epoch.

    Args:
        published: the topic's newest values by fingerprint.
    """

    def __init__(self, clients: Clients, policy: Policy, published: Mapping[str, bytes] | None = None) -> None:
        self.entries: dict[str, Entry] = {}
        self._clients = clients
        self._policy = policy
        self._secrets = Secrets()
        self._of_client: dict[str, list[tuple[str, Place]]] = {}
        self._dirty: set[str] = set()
        self._watched: set[str] = set()
        self._round: deque[str] = deque()
        self._decisions: dict[str, Decision] = {}
        self._refused = False
        self._looked_ms = 0
        for key, text in (published or {}).items():
            try:
                entry = restored(parse(Finding, text))
            except RecordError:
                log.warning("%.100s on the findings' topic is none of ours, and left alone", key)
                continue
            self._put(entry)

    def pushed(self, application: OneApplication, push: Push) -> None:
        """What a push has wrong, and what it has no longer; a client's earlier push counts no more."""
        found = problems(push, self._secrets)
        before = self._of_client.pop(push.client, [])
        now = [(problem.fingerprint, (push.application, problem.key if problem.kind == "leak" else "")) for problem in found]
        for fingerprint, place in before:
            if (fingerprint, place) not in now:
                self._without(fingerprint, place, push.client)
        kept = []
        for problem, (fingerprint, place) in zip(found, now, strict=True):
            entry = self._entry(problem.fingerprint, problem.code, problem.kind, problem.low_confidence)
            if entry is not None:
                self._has(entry, problem, place, push, application)
                kept.append((fingerprint, place))
        if kept:
            self._of_client[push.client] = kept
        self._passes(application, push, {fingerprint for fingerprint, _ in kept})

    def forgotten(self, clients: Iterable[Push], applications: Iterable[OneApplication], now_ms: int) -> None:
        """Nothing is known of these any more; what an application had is over, or, of a secret, has stopped."""
        for push in clients:
            for fingerprint, place in self._of_client.pop(push.client, []):
                self._without(fingerprint, place, push.client)
        for application in applications:
            self._secrets.forget(application.key)
            for fingerprint in application.findings:
                entry = self.entries.get(fingerprint)
                if entry is None:
                    continue
                for place, where in entry.places.items():
                    if place[0] == application.key:
                        where.passed_ms = max(where.passed_ms, now_ms)
                self._dirty.add(fingerprint)

    def compared(self, code: str, found: Mapping[str, Found]) -> None:
        """What comparing clients has found by one rule, by fingerprint; what is not among it is over."""
        for fingerprint, (problem, application, evidence, clients, at_ms) in found.items():
            entry = self._entry(fingerprint, code, "fleet", problem.low_confidence)
            if entry is None:
                continue
            entry.application, entry.compared = application, clients
            entry.severity, entry.message, entry.settings = problem.severity, problem.message, problem.settings
            entry.seen(at_ms)
            entry.present = True
            entry.evidence = evidence or entry.evidence
            self._dirty.add(fingerprint)
        for entry in self.entries.values():
            if entry.code == code and entry.present and entry.fingerprint not in found:
                entry.present, entry.compared = False, ()
                self._dirty.add(entry.fingerprint)

    def condition(self, fingerprint: str, condition: Condition) -> None:
        """What a part of ours tells of itself."""
        known = self.entries.get(fingerprint)
        if not condition.failing and (known is None or condition.at_ms <= known.last_seen_ms):
            return
        entry = self._entry(fingerprint, condition.code, "operation")
        if entry is None:
            return
        entry.present = condition.failing
        if condition.failing:
            entry.severity, entry.message = SEVERITIES.index(condition.severity), condition.message
            entry.seen(condition.at_ms)
        self._dirty.add(fingerprint)

    def decided(self, fingerprint: str, decision: Decision | None) -> None:
        """What a person has decided; None takes it back."""
        if decision is None:
            self._decisions.pop(fingerprint, None)
        else:
            self._decisions[fingerprint] = decision
        if fingerprint in self.entries:
            self.entries[fingerprint].decision = decision
            self._dirty.add(fingerprint)

    def changes(self, now_ms: int) -> Changes:
        """The records to write: a finding, or None for a tombstone."""
        share = (now_ms - self._looked_ms) / _ROUND_MS
        self._looked_ms = now_ms
        for _ in range(math.ceil(len(self._round) * min(1.0, share))):
            fingerprint = self._round.popleft()
            if fingerprint in self.entries:
                self._round.append(fingerprint)
                self._dirty.add(fingerprint)
        looked_at, self._dirty = self._dirty | self._watched, set()
        changes: Changes = {}
        for fingerprint in looked_at:
            entry = self.entries.get(fingerprint)
            if entry is not None:
                self._look(entry, now_ms, changes)
        return changes

    def written(self, changes: Changes, now_ms: int) -> None:
        """The topic has these now."""
        for fingerprint, record in changes.items():
            if record is None:
                self._remove(fingerprint)
            elif fingerprint in self.entries:
                self.entries[fingerprint].told, self.entries[fingerprint].told_at_ms = record, now_ms

    def _look(self, entry: Entry, now_ms: int, changes: Changes) -> None:
        live = self._live(entry, now_ms)
        count = sum(map(len, live.values()))
        entry.quieten(count, now_ms)
        made = finding(entry, live, self._policy, now_ms)
        if made.state == "open" and entry.passed:
            self._watched.add(entry.fingerprint)
        else:
            self._watched.discard(entry.fingerprint)
        before = entry.told
        ended_ms = max(made.ended_ms or now_ms, made.last_seen_ms)
        due = now_ms - entry.told_at_ms >= COUNTS_EVERY_MS
        over = made.state in ("resolved", "closed") and not count  # a secret that stopped waits for a person
        if before is not None and over and now_ms - ended_ms > KEEP_MS:
            changes[entry.fingerprint] = None
        elif before is None or _at_once(made) != _at_once(before) or (due and _counts(made) != _counts(before)):
            changes[entry.fingerprint] = made

    def _live(self, entry: Entry, now_ms: int) -> dict[Place, list[Push]]:
        if entry.kind == "fleet":
            return {(entry.application or "", ""): list(entry.compared)}
        live = {}
        for place, where in entry.places.items():
            known = [self._clients.known(place[0], client) for client in where.clients]
            live[place] = [push for push in known if push is not None and self._clients.is_live(push, now_ms)]
        return live

    def _has(self, entry: Entry, problem: Problem, place: Place, push: Push, application: OneApplication) -> None:
        where = entry.places.setdefault(place, Where())
        where.clients[push.client] = problem.severity
        where.last_seen_ms = max(where.last_seen_ms, push.appended_ms)
        if push.appended_ms >= entry.last_seen_ms:
            entry.message, entry.settings, entry.application = problem.message, problem.settings, push.application
            if problem.kind == "leak":
                entry.code = problem.code
        entry.seen(push.appended_ms)
        if problem.kind == "leak":
            written = problem.settings[0]["key"] in push.written
            entry.reached(push.gateway, f"clientscope.configs-{push.partition}@{push.offset}" if written else None)
            self._rotated(problem, push)
        application.findings.add(entry.fingerprint)
        self._dirty.add(entry.fingerprint)

    def _rotated(self, problem: Problem, push: Push) -> None:
        """Another secret under the same key says something of those before, and proves nothing."""
        if problem.digest is None:
            return
        for digest in self._secrets.earlier(push.application, problem.key, problem.digest):
            earlier = self.entries.get(self._secrets.fingerprint(problem.code, push.application, problem.key, digest))
            if earlier is not None and earlier.last_seen_ms < push.appended_ms:
                earlier.note(f"Another value is pushed under {problem.key} since: perhaps it was rotated, which its issuer can tell.")
                self._dirty.add(earlier.fingerprint)

    def _passes(self, application: OneApplication, push: Push, has: set[str]) -> None:
        """What the application had, and this push of it has not; where the rule couldn't judge, that says nothing."""
        for fingerprint in application.findings - has:
            entry = self.entries.get(fingerprint)
            if entry is None or entry.code in push.unjudged:
                continue
            for place, where in entry.places.items():
                if place[0] == application.key and push.appended_ms > where.passed_ms:
                    where.passed_ms = push.appended_ms
                    self._dirty.add(fingerprint)

    def _without(self, fingerprint: str, place: Place, client: str) -> None:
        entry = self.entries.get(fingerprint)
        if entry is not None and place in entry.places:
            entry.places[place].clients.pop(client, None)
            self._dirty.add(fingerprint)

    def _entry(self, fingerprint: str, code: str, kind: Any, low_confidence: bool = False) -> Entry | None:
        entry = self.entries.get(fingerprint)
        if entry is None:
            if len(self.entries) >= MOST_FINDINGS:
                if not self._refused:
                    log.error("more than %d findings: further ones, as of %s, are left out until others have ended", MOST_FINDINGS, code)
                self._refused = True
                return None
            entry = Entry(fingerprint, code, kind, low_confidence)
            entry.decision = self._decisions.get(fingerprint)
            self._put(entry)
        return entry

    def _put(self, entry: Entry) -> None:
        self.entries[entry.fingerprint] = entry
        self._round.append(entry.fingerprint)
        for (key, _), where in entry.places.items():
            application = self._clients.application(key)
            application.findings.add(entry.fingerprint)
            application.newest_ms = max(application.newest_ms, where.last_seen_ms)

    def _remove(self, fingerprint: str) -> None:
        entry = self.entries.pop(fingerprint, None)
        self._watched.discard(fingerprint)
        self._refused = False
        for key, _ in entry.places if entry else ():
            if (application := self._clients.applications.get(key)) is not None:
                application.findings.discard(fingerprint)


def _at_once(told: Finding) -> tuple[object, ...]:
    """What readers must know at once."""
    known = told.state, told.severity, told.code, told.message, told.settings, told.evidence
    return *known, told.alert, told.decided, told.suppressed, told.reopened


def _counts(told: Finding) -> tuple[object, ...]:
    """What may wait a little."""
    return told.client_count, told.last_seen_ms, told.places, told.reach, told.clients, told.owner
