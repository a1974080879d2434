"""All findings: takes in what is wrong and what no longer is, and says which records that changes."""

from __future__ import annotations

import logging
import math
from collections import Counter, deque
from collections.abc import Iterable, Mapping

from clientscope.errors import RecordError
from clientscope.fair_share import BATCH, HeldEntry, too_many
from clientscope.findings.conditions import Condition
from clientscope.findings.decisions import Decision
from clientscope.findings.fingerprints import key_of_0_1
from clientscope.findings.record import Finding
from clientscope.records.client_key import Tenant, tenant_of
from clientscope.severities import SEVERITIES
from clientscope.topic_values import parse
from streaming.findings.clients import OneApplication, PushedClients
from streaming.findings.entry import FindingEntry, Place
from streaming.findings.finding_records import Policy, identity, restored
from streaming.findings.fleet import Found
from streaming.findings.inputs import JudgedPush
from streaming.findings.lifecycle import advance
from streaming.findings.named_clients import Holders
from streaming.findings.overflow import Overflow
from streaming.findings.problems import Problem, Secrets, problems
from streaming.findings.publication import is_due, is_outdated

log = logging.getLogger(__name__)

MOST_FINDINGS = 50_000
"""That are kept, besides those on clientscope's own operation; see `clientscope.fair_share` for who makes room for further ones."""

FOR_LEAKS = 10_000
"""Of these so many are for secrets alone."""

_ROUND_MS = 30_000
"""In so long each finding is looked at once, though nothing was heard of it: its clients may have left."""

Changes = dict[str, Finding | None]


class Book:
    """Findings by fingerprint.  Times are ms since the epoch.

    Args:
        published: the topic's newest values by fingerprint.
    """

    def __init__(self, clients: PushedClients, policy: Policy, published: Mapping[str, bytes] | None = None) -> None:
        self.entries: dict[str, FindingEntry] = {}
        self._clients = clients
        self._policy = policy
        self._secrets = Secrets()
        self._of_client: dict[str, list[tuple[str, Place]]] = {}
        self._dirty: set[str] = set()
        self._watched: set[str] = set()
        self._round: deque[str] = deque()
        self._decisions: dict[str, Decision] = {}
        self._evicted: set[str] = set()
        self._of_tenant: Counter[Tenant] = Counter()
        self._leaks = 0
        self.full = Overflow()
        self._looked_ms = 0
        for key, text in (published or {}).items():
            try:
                entry = restored(parse(Finding, text))
            except RecordError:
                log.warning("%.100s on the findings' topic is not a finding's record, and is left alone", key)
                continue
            self._put(entry)

    def pushed(self, application: OneApplication, push: JudgedPush) -> None:
        """What a push has wrong, and what it has no longer; a client's earlier push counts no more."""
        self._adopt(application)
        found = problems(push, self._secrets)
        before = self._of_client.pop(push.client, [])
        now = [(problem.fingerprint, (push.application, problem.key if problem.kind == "leak" else "")) for problem in found]
        for fingerprint, place in before:
            if (fingerprint, place) not in now:
                self._without(fingerprint, place, push.client)
        kept = []
        for problem, (fingerprint, place) in zip(found, now, strict=True):
            entry = self._entry(problem, push.tenant)
            self._has(entry, problem, place, push, application)
            kept.append((fingerprint, place))
        if kept:
            self._of_client[push.client] = kept
        self._passes(application, push, {fingerprint for fingerprint, _ in kept})

    def forgotten(self, clients: Iterable[JudgedPush], applications: Iterable[OneApplication], now_ms: int) -> None:
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

    def erased(self, clients: Mapping[str, int]) -> None:
        """These are named no more, if what they were named for came before that time; what nobody else had is there no more."""
        for entry in list(self.entries.values()):
            gone = {key for key, client in entry.known.items() if client.pushed_ms <= clients.get(key, -1)}
            gone |= {key for key, push in entry.lately.items() if push.appended_ms <= clients.get(key, -1)}
            for key in gone:
                entry.known.pop(key, None)
                entry.lately.pop(key, None)
                self._dirty.add(entry.fingerprint)
            if gone and not (entry.known or entry.lately or any(where.clients for where in entry.places.values())):
                self._drop(entry)

    def compared(self, code: str, found: Mapping[str, Found]) -> None:
        """What comparing clients has found by one rule, by fingerprint; what is not among it is over."""
        for fingerprint, (problem, application, evidence, clients, at_ms) in found.items():
            entry = self._entry(problem, clients[0].tenant if clients else tenant_of(identity(application).principal, ""))
            entry.application, entry.compared = application, clients
            entry.severity, entry.message, entry.settings = problem.severity, problem.message, problem.settings
            entry.seen(at_ms)
            entry.present = True
            entry.evidence = evidence or entry.evidence
            self._dirty.add(fingerprint)
        for entry in list(self.entries.values()):
            if entry.code == code and entry.present and entry.fingerprint not in found:
                entry.present, entry.compared = False, ()
                self._dirty.add(entry.fingerprint)

    def condition(self, fingerprint: str, condition: Condition) -> None:
        """What a part of ours tells of itself."""
        known = self.entries.get(fingerprint)
        if not condition.failing and (known is None or condition.at_ms <= known.last_seen_ms):
            return
        entry = known or FindingEntry(fingerprint, condition.code, "operation")
        if known is None:
            self._put(entry)
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
        changes: Changes = {fingerprint: None for fingerprint in self._evicted if fingerprint not in self.entries}
        for fingerprint in looked_at:
            entry = self.entries.get(fingerprint)
            if entry is not None:
                self._look(entry, now_ms, changes)
        return changes

    def written(self, changes: Changes, now_ms: int) -> None:
        """The topic has these now."""
        for fingerprint, record in changes.items():
            self._evicted.discard(fingerprint)
            if record is None:
                self._remove(fingerprint)
            elif fingerprint in self.entries:
                self.entries[fingerprint].published, self.entries[fingerprint].published_at_ms = record, now_ms

    def _look(self, entry: FindingEntry, now_ms: int, changes: Changes) -> None:
        entry, record = advance(entry, self._holders(entry, now_ms), now_ms, self._policy)
        self.entries[entry.fingerprint] = entry
        if record.state == "open" and entry.passed:
            self._watched.add(entry.fingerprint)
        else:
            self._watched.discard(entry.fingerprint)
        if is_outdated(entry, record, now_ms):
            changes[entry.fingerprint] = None
        elif is_due(entry, record, now_ms):
            changes[entry.fingerprint] = record

    def _holders(self, entry: FindingEntry, now_ms: int) -> Holders:
        if entry.kind == "fleet":
            return Holders({(entry.application or "", ""): list(entry.compared)}, (), self._clients.left_ms)
        live: dict[Place, list[JudgedPush]] = {}
        gone: list[JudgedPush] = []
        for place, where in entry.places.items():
            here = live[place] = []
            for client in where.clients:
                push = self._clients.known(place[0], client)
                if push is not None:
                    (here if self._clients.is_live(push, now_ms) else gone).append(push)
        return Holders(live, gone, self._clients.left_ms)

    def _has(self, entry: FindingEntry, problem: Problem, place: Place, push: JudgedPush, application: OneApplication) -> None:
        where = entry.place(place)
        where.clients[push.client] = problem.severity
        where.last_seen_ms = max(where.last_seen_ms, push.appended_ms)
        if push.appended_ms >= entry.last_seen_ms:
            entry.message, entry.settings, entry.application = problem.message, problem.settings, push.application
            entry.had_by(push, problem.severity)
            if problem.kind == "leak":
                entry.code = problem.code
        entry.seen(push.appended_ms)
        if problem.kind == "leak":
            written = problem.settings[0]["key"] in push.written
            entry.reached(push.gateway, f"clientscope.configs-{push.partition}@{push.offset}" if written else None)
            self._rotated(problem, push)
        application.findings.add(entry.fingerprint)
        self._dirty.add(entry.fingerprint)

    def _rotated(self, problem: Problem, push: JudgedPush) -> None:
        """Another secret under the same key says something of those before, and proves nothing."""
        if problem.digest is None:
            return
        for digest in self._secrets.earlier(push.application, problem.key, problem.digest):
            earlier = self.entries.get(self._secrets.fingerprint(problem.code, push.application, problem.key, digest))
            if earlier is not None and earlier.last_seen_ms < push.appended_ms:
                earlier.note(f"Another value is pushed under {problem.key} since: perhaps it was rotated; its issuer knows.")
                self._dirty.add(earlier.fingerprint)

    def _passes(self, application: OneApplication, push: JudgedPush, has: set[str]) -> None:
        """What the application had, and this push of it has not; where the rule couldn't judge, that says nothing."""
        for fingerprint in application.findings - has:
            entry = self.entries.get(fingerprint)
            if entry is None or entry.code in push.unjudged:
                continue
            for place, where in entry.places.items():
                if place[0] == application.key and push.appended_ms > where.passed_ms:
                    where.passed_ms = push.appended_ms
                    self._dirty.add(fingerprint)

    def _adopt(self, application: OneApplication) -> None:
        """What was found of an application that doesn't authenticate, and stands on the topic as release 0.1.0 wrote it."""
        before = key_of_0_1(application.key)
        earlier = self._clients.applications.get(before)
        if earlier is None or earlier is application:
            return
        for fingerprint in list(earlier.findings):
            entry = self.entries[fingerprint]
            for place in [place for place, where in entry.places.items() if place[0] == before and not where.clients]:
                entry.places.setdefault((application.key, place[1]), entry.places.pop(place))
                application.findings.add(fingerprint)
                earlier.findings.discard(fingerprint)
            if entry.application == before:
                entry.application = application.key

    def _without(self, fingerprint: str, place: Place, client: str) -> None:
        entry = self.entries.get(fingerprint)
        if entry is not None and place in entry.places:
            entry.places[place].clients.pop(client, None)
            self._dirty.add(fingerprint)

    def _entry(self, problem: Problem, tenant: Tenant) -> FindingEntry:
        entry = self.entries.get(problem.fingerprint)
        if entry is None:
            entry = FindingEntry(problem.fingerprint, problem.code, problem.kind, problem.low_confidence, problem.severity, tenant=tenant)
            entry.decision = self._decisions.get(problem.fingerprint)
            self._make_room(entry.is_leak)
            self._put(entry)
        elif entry.tenant != tenant and self._of_tenant[tenant] < self._of_tenant[entry.tenant]:
            _less(self._of_tenant, entry.tenant)
            self._of_tenant[tenant] += 1
            entry.tenant = tenant
        return entry

    def _make_room(self, for_leak: bool) -> None:
        """Beyond the bound those who have most of the table lose what matters least of it."""
        others = MOST_FINDINGS - FOR_LEAKS
        if not for_leak and self._of_tenant.total() - self._leaks >= others:
            self._evict([entry for entry in self.entries.values() if not entry.is_leak], others)
        elif self._of_tenant.total() >= MOST_FINDINGS:
            self._evict(list(self.entries.values()), MOST_FINDINGS)

    def _evict(self, entries: Iterable[FindingEntry], room: int) -> None:
        held = [HeldEntry(each.fingerprint, each.tenant, each.matters, each.last_seen_ms) for each in entries if each.kind != "operation"]
        gone = too_many(held, room - room // BATCH)
        self.full.dropped(gone)
        for each in gone:
            self._drop(self.entries[str(each.key)])

    def _drop(self, entry: FindingEntry) -> None:
        """The topic loses it, too."""
        self._remove(entry.fingerprint)
        if entry.published is not None:
            self._evicted.add(entry.fingerprint)

    def _put(self, entry: FindingEntry) -> None:
        self.entries[entry.fingerprint] = entry
        if entry.kind != "operation":
            self._of_tenant[entry.tenant] += 1
            self._leaks += entry.is_leak
        self._round.append(entry.fingerprint)
        for (key, _), where in entry.places.items():
            application = self._clients.application(key)
            application.findings.add(entry.fingerprint)
            application.newest_ms = max(application.newest_ms, where.last_seen_ms)

    def _remove(self, fingerprint: str) -> None:
        entry = self.entries.pop(fingerprint, None)
        self._watched.discard(fingerprint)
        if entry is None:
            return
        if entry.kind != "operation":
            _less(self._of_tenant, entry.tenant)
            self._leaks -= entry.is_leak
        for key, _ in entry.places:
            if (application := self._clients.applications.get(key)) is not None:
                application.findings.discard(fingerprint)


def _less(counter: Counter[Tenant], tenant: Tenant) -> None:
    counter[tenant] -= 1
    if counter[tenant] <= 0:
        del counter[tenant]
