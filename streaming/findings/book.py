"""All findings: from pushes to entries, and from entries to what is written."""

from __future__ import annotations

import heapq
import logging
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from itertools import chain
from typing import cast

from clientscope.bounded import Present
from clientscope.errors import RecordError
from clientscope.fair_share import HeldEntry, beyond
from clientscope.findings.conditions import Condition
from clientscope.model.client_key import Tenant, tenant_of
from clientscope.model.codec import decode
from clientscope.model.decision import Decision
from clientscope.model.finding import MOST_CLIENTS, Finding
from clientscope.severities import SEVERITIES
from streaming.findings import ordered
from streaming.findings.clients import OneApplication, PushedClients
from streaming.findings.entry import PLACES, FindingEntry, Holders, Place, Policy, advance, identity, restored
from streaming.findings.fleet import Found
from streaming.findings.inputs import JudgedPush
from streaming.findings.problems import Problem, Secrets, problems
from streaming.limits import Limit, Overflow

MOST_FINDINGS = 50_000
"""Findings that are kept, besides those on clientscope's own operation; `clientscope.fair_share` chooses those that make room."""

FOR_LEAKS = 10_000
"""The part of these that is for secrets alone."""

FINDINGS = Limit(
    "findings",
    MOST_FINDINGS,
    "findings",
    f"of those who have more than their share the least severe leave the topic; {FOR_LEAKS:,} are for secrets alone,"
    " and clientscope's own come on top",
)


class Room:
    """Counts findings by tenant; those on clientscope's own operation count for no tenant."""

    def __init__(self) -> None:
        self._of_tenant = Present[Tenant]()
        self._total = self._leaks = 0

    def take(self, entry: FindingEntry) -> None:
        """One more."""
        if entry.kind != "operation":
            self._of_tenant[entry.tenant] += 1
            self._total += 1
            self._leaks += entry.is_leak

    def release(self, entry: FindingEntry) -> None:
        """It is no more."""
        if entry.kind != "operation":
            self._of_tenant.leave(entry.tenant)
            self._total -= 1
            self._leaks -= entry.is_leak

    def share(self, entry: FindingEntry, tenant: Tenant) -> None:
        """Notes that another tenant has it too: it counts for the tenant with fewer findings."""
        if entry.tenant != tenant and self._of_tenant[tenant] < self._of_tenant[entry.tenant]:
            self._of_tenant.leave(entry.tenant)
            self._of_tenant[tenant] += 1
            entry.tenant = tenant

    def excess(self, entries: Iterable[FindingEntry], for_leak: bool) -> list[HeldEntry]:
        """The findings to remove before another is added: the least important of the tenants that have the most."""
        others = MOST_FINDINGS - FOR_LEAKS
        if not for_leak and self._total - self._leaks >= others:
            return _excess([entry for entry in entries if not entry.is_leak], others)
        return _excess(entries, MOST_FINDINGS) if self._total >= MOST_FINDINGS else []


def _excess(entries: Iterable[FindingEntry], room: int) -> list[HeldEntry]:
    held = [HeldEntry(each.fingerprint, each.tenant, each.matters, each.last_seen_ms) for each in entries if each.kind != "operation"]
    return beyond(held, room)


_LOOK_EVERY_MS = 30_000
"""How often findings that wait for a time are looked at."""

_DAY_MS = 24 * 60 * 60_000

COUNTS_EVERY_MS = 30_000
"""How often a record is written again because only counts and times have changed."""

KEEP_MS = 30 * 24 * 60 * 60_000
"""For how long a finding stays on the topic after it was resolved or closed."""


def is_outdated(entry: FindingEntry, record: Finding, now_ms: int) -> bool:
    """Whether the topic is to lose it: it ended long ago, and no connected client has it.  A secret that stopped waits for a person."""
    ended_ms = max(record.ended_ms or now_ms, record.last_seen_ms)
    over = record.state in ("resolved", "closed") and not record.client_count
    return entry.published is not None and over and now_ms - ended_ms > KEEP_MS


def is_due(entry: FindingEntry, record: Finding, now_ms: int) -> bool:
    """Whether the record is to be written in place of the one that was published."""
    before = entry.published
    if before is None or _at_once(record) != _at_once(before):
        return True
    return now_ms - entry.published_at_ms >= COUNTS_EVERY_MS and _counts(record) != _counts(before)


def is_behind(entry: FindingEntry, record: Finding) -> bool:
    """Whether the topic has other counts or times than the record."""
    return entry.published is None or _counts(record) != _counts(entry.published)


def _at_once(record: Finding) -> tuple[object, ...]:
    known = record.state, record.severity, record.code, record.message, record.settings, record.evidence
    return *known, record.alert, record.decided, record.suppressed, record.reopened


def _counts(record: Finding) -> tuple[object, ...]:
    return record.client_count, record.last_seen_ms, record.places, record.reach, record.clients, record.owner


log = logging.getLogger(__name__)

Changes = dict[str, Finding | None]


class Book:
    """Findings by fingerprint.  Times are ms since the epoch.

    Args:
        published: the topic's newest values by fingerprint.

    Attributes:
        old_ms: Kafka's time of the newest record that was there at the job's start; 0 until all of these have been read.
        failed: called with a finding whose next state can't be computed; its record stays as it is.
    """

    def __init__(self, clients: PushedClients, policy: Policy, published: Mapping[str, bytes] | None = None) -> None:
        self.entries: dict[str, FindingEntry] = {}
        self.old_ms = 0
        self.failed: Callable[[FindingEntry, Exception], None] | None = None
        self._clients = clients
        clients.moved = self._moved
        self._policy = policy
        self._secrets = Secrets()
        self._of_client: dict[str, tuple[tuple[str, Place], ...]] = {}
        self._dirty: set[str] = set()
        self._compared: dict[str, set[str]] = {}
        self._early: set[str] = set()
        self._waiting: set[str] = set()
        self._looked_ms, self._day = 0, -1
        self._decisions: dict[str, Decision] = {}
        self._evicted: set[str] = set()
        self._room = Room()
        self._full = {limit.name: Overflow(limit) for limit in (FINDINGS, PLACES)}
        for key, text in (published or {}).items():
            try:
                entry = restored(decode(Finding, text))
            except RecordError:
                log.warning("%.100s on the findings' topic is not a finding's record, and is left alone", key)
                continue
            self._put(entry)

    @property
    def limits(self) -> tuple[Overflow, ...]:
        """What its bounds left out."""
        return *self._full.values(), self._secrets.full

    def pushed(self, application: OneApplication, push: JudgedPush, earlier: JudgedPush | None, leaks_only: bool = False) -> None:
        """What a push has wrong, and what it has no longer; what its client pushed earlier counts no more.

        Of what was only seen of a client that declares its configuration, no more than a secret counts.
        """
        if earlier is not None:
            self._without(earlier)
        kept = []
        is_declared = leaks_only or self._clients.presence.is_declared(push)
        for problem in problems(push, self._secrets):
            if is_declared and problem.kind != "leak":
                continue
            place = push.application, problem.key if problem.kind == "leak" else ""
            kept.append(self._has(self._entry(problem, push.tenant), problem, place, push, application))
        if kept:
            self._of_client[push.client] = tuple(kept)
        if not is_declared:
            self._passes(application, push, {fingerprint for fingerprint, _ in kept})

    def passes(self, application: OneApplication, push: JudgedPush) -> None:
        """What the application had before a push that has it no longer, whichever was read first."""
        self._passes(application, push, {problem.fingerprint for problem in problems(push, self._secrets)})

    def forgotten(self, clients: Iterable[JudgedPush], applications: Iterable[OneApplication], now_ms: int) -> None:
        """Nothing is known of these any more; what an application had is over, or, of a secret, has stopped."""
        for push in clients:
            self._without(push)
        for application in applications:
            self._secrets.forget(application.key)
            for fingerprint, keys in application.findings.items():
                entry = self.entries.get(fingerprint)
                if entry is None:
                    continue
                for where in entry.found_in(application.key, keys):
                    where.ended(now_ms)
                self._dirty.add(fingerprint)

    def erased(self, clients: Mapping[str, int]) -> None:
        """Removes erased clients' names from findings, as far as their pushes came before that time; findings of no other client are
        removed.
        """
        for entry in list(self.entries.values()):
            gone = {key for key, client in entry.known.items() if client.pushed_ms <= clients.get(key, -1)}
            gone |= {key for key, push in entry.lately.items() if push.appended_ms <= clients.get(key, -1)}
            for key in gone:
                entry.known.pop(key, None)
                entry.lately.pop(key, None)
                self._dirty.add(entry.fingerprint)
            if gone and not (entry.known or entry.lately or any(where.clients for where in entry.places.values())):
                self._drop(entry)

    def compared(self, code: str, found: Iterable[Found], ends: bool = True) -> None:
        """What comparing clients has found by one rule; what is not among it is over.

        Args:
            ends: False where what is not among it may still be so.
        """
        there = set()
        for problem, application, evidence, clients, at_ms in found:
            there.add(problem.fingerprint)
            entry = self._entry(problem, clients[0].pushes[-1].tenant if clients else tenant_of(identity(application).principal, ""))
            before = entry.present, entry.severity, entry.message, entry.settings, entry.evidence, entry.last_seen_ms, entry.newest
            entry.application, entry.compared = application, clients
            entry.newest = max((ordered.order(each.pushes[-1]) for each in clients if each.pushes), default=(0, 0, ""))
            entry.severity, entry.message, entry.settings = problem.severity, problem.message, problem.settings
            entry.seen(at_ms)
            entry.present = True
            entry.evidence = evidence or entry.evidence
            now = True, entry.severity, entry.message, entry.settings, entry.evidence, entry.last_seen_ms, entry.newest
            if before != now or entry.published is None or entry.published.client_count != sum(map(len, clients)):
                self._dirty.add(problem.fingerprint)
        for fingerprint in self.present(code) if ends else ():
            if fingerprint not in there:
                entry = self.entries[fingerprint]
                entry.present, entry.compared = False, ()
                self._dirty.add(fingerprint)

    def present(self, code: str) -> list[str]:
        """Fingerprints of what comparing has found by one rule."""
        return [fingerprint for fingerprint in self._compared.get(code, ()) if self.entries[fingerprint].present]

    def condition(self, fingerprint: str, condition: Condition) -> None:
        """Takes in a problem, or its end, that a part of clientscope reports about itself."""
        known = self.entries.get(fingerprint)
        if not condition.failing and (known is None or condition.at_ms <= known.last_seen_ms):
            return
        entry = known or FindingEntry(fingerprint, condition.code, "operation")
        if known is None:
            self._put(entry)
        entry.present = condition.failing
        if condition.failing:
            entry.severity, entry.message = SEVERITIES.index(condition.severity), condition.message
            entry.subject = condition.subject
            entry.seen(condition.at_ms)
        self._dirty.add(fingerprint)
        self._early.add(fingerprint)

    def decided(self, fingerprint: str, decision: Decision | None) -> None:
        """What a person has decided; None takes it back."""
        if decision is None:
            self._decisions.pop(fingerprint, None)
        else:
            self._decisions[fingerprint] = decision
        if fingerprint in self.entries:
            self.entries[fingerprint].decision = decision
            self._dirty.add(fingerprint)

    def early(self, now_ms: int) -> Changes:
        """The records that are right before all pushes and connections have been read: new secrets, and problems of our own."""
        changes: Changes = {}
        for fingerprint in self._early:
            if (entry := self.entries.get(fingerprint)) is not None:
                self._look(entry, now_ms, changes)
        return changes

    def changes(self, now_ms: int) -> Changes:
        """The records to write: a finding, or None for a tombstone."""
        self._early.clear()
        looked_at, self._dirty = self._dirty.union(self._due(now_ms)), set()
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
            self._early.discard(fingerprint)
            if record is None:
                self._remove(fingerprint)
            elif fingerprint in self.entries:
                self.entries[fingerprint].published, self.entries[fingerprint].published_at_ms = record, now_ms

    def holders(self, entry: FindingEntry) -> Holders:
        """The clients that have it."""
        if entry.kind != "fleet":
            counts = {place: where.live for place, where in entry.places.items()}
            live, gone = ordered.newest(entry.live, MOST_CLIENTS), ordered.newest(entry.gone, MOST_CLIENTS)
            return Holders(counts, live, gone, partial(self._has_now, entry), self._clients.liveness.left_ms)
        of_each = [ordered.newest(clients.pushes, MOST_CLIENTS) for clients in entry.compared]
        newest = heapq.nlargest(MOST_CLIENTS, chain.from_iterable(of_each), key=ordered.order)
        counts = {(entry.application or "", ""): sum(map(len, entry.compared))}
        return Holders(counts, newest, (), partial(self._is_compared, entry), self._clients.liveness.left_ms)

    def advanced(self, entry: FindingEntry, now_ms: int) -> tuple[FindingEntry, Finding]:
        """The next state of a finding, and its record."""
        holders = self.holders(entry)
        return advance(entry, holders, now_ms, self._policy, holders.number > 0 or not self._is_of_clients_that_left(entry))

    def _due(self, now_ms: int) -> Iterable[str]:
        """Findings to look at though nothing was read of them: twice a minute those that wait, and all with each day (UTC).

        With a day suppressions and decisions end, and findings that ended long ago leave the topic.
        """
        if now_ms // _DAY_MS != self._day:
            self._day = now_ms // _DAY_MS
            return self.entries
        if abs(now_ms - self._looked_ms) < _LOOK_EVERY_MS:  # a clock may have been set back
            return ()
        self._looked_ms = now_ms
        return self._waiting

    def _look(self, entry: FindingEntry, now_ms: int, changes: Changes) -> None:
        try:
            entry, record = self.advanced(entry, now_ms)
        except Exception as error:
            if self.failed is None:
                raise
            self.failed(entry, error)
            return
        self.entries[entry.fingerprint] = entry
        if is_outdated(entry, record, now_ms):
            changes[entry.fingerprint] = None
        elif is_due(entry, record, now_ms):
            changes[entry.fingerprint] = record
        # What may fail to be written, is written later, or ends without a push that says so.
        waits = entry.fingerprint in changes or is_behind(entry, record) or entry.ends_by_itself
        (self._waiting.add if waits else self._waiting.discard)(entry.fingerprint)

    def _is_of_clients_that_left(self, entry: FindingEntry) -> bool:
        """Whether only clients had it that left before the job's start: nobody need hear of them."""
        if entry.kind not in ("setting", "fleet") or entry.last_seen_ms > self.old_ms:
            return False
        was_suppressed = entry.published is not None and entry.published.suppressed is not None
        # A client whose connections nobody recorded, as of a log, isn't known to have left.
        left_ms = (self._clients.liveness.left_ms(push.there, push) for push in entry.gone)
        return not was_suppressed and all(at_ms is not None and at_ms <= self.old_ms for at_ms in left_ms)

    def _has_now(self, entry: FindingEntry, client: str) -> bool:
        return self._clients.is_live(client) and any(
            fingerprint == entry.fingerprint and place in entry.places and client in entry.places[place].clients
            for fingerprint, place in self._of_client.get(client, ())
        )

    def _is_compared(self, entry: FindingEntry, client: str) -> bool:
        push = self._clients.of(client) if self._clients.is_live(client) else None
        if push is None:
            return False
        live = self._clients.applications[push.application].live
        return any(clients is live for clients in entry.compared)

    def _moved(self, push: JudgedPush, is_live: bool) -> None:
        """A client is connected, or isn't any more."""
        for fingerprint, place in self._of_client.get(push.client, ()):
            entry = self.entries.get(fingerprint)
            if entry is not None and entry.moved(place, push, is_live):
                self._dirty.add(fingerprint)

    def _has(self, entry: FindingEntry, problem: Problem, place: Place, push: JudgedPush, application: OneApplication) -> tuple[str, Place]:
        """A client has it; returns `Where.had`."""
        self._full[PLACES.name].dropped(entry.make_room(place))
        where = entry.add(place, push, problem.severity, self._clients.is_live(push.client))
        where.seen(push)
        if (at := ordered.order(push)) >= entry.said_by:
            entry.said_by = at
            entry.message, entry.settings, entry.application = problem.message, problem.settings, push.application
            if problem.kind == "leak":
                entry.code = problem.code
        entry.had_by(push, problem.severity)
        entry.seen(push.appended_ms)
        if problem.kind == "leak":
            written = problem.settings[0].key in push.written
            entry.reached(push.gateway, f"clientscope.configs-{push.partition}@{push.offset}" if written else None)
            self._rotated(problem, push)
        application.found(entry.fingerprint, place[1])
        self._dirty.add(entry.fingerprint)
        return cast(tuple[str, Place], where.had)

    def _rotated(self, problem: Problem, push: JudgedPush) -> None:
        """Another secret under the same key says something of those before, and proves nothing."""
        if problem.digest is None:
            return
        for digest in self._secrets.earlier(push.application, problem.key, problem.digest):
            earlier = self.entries.get(self._secrets.fingerprint(problem.code, push.application, problem.key, digest))
            if earlier is None or earlier.last_seen_ms >= push.appended_ms:
                continue
            sentence = f"Another value is pushed under {problem.key} since: perhaps it was rotated; its issuer knows."
            if earlier.note(sentence):
                self._dirty.add(earlier.fingerprint)

    def _passes(self, application: OneApplication, push: JudgedPush, has: set[str]) -> None:
        """What the application had, and this push of it has not; where the rule couldn't judge, that says nothing."""
        for fingerprint, keys in application.findings.items():
            entry = None if fingerprint in has else self.entries.get(fingerprint)
            if entry is None or entry.code in push.unjudged:
                continue
            for where in entry.found_in(application.key, keys):
                if not (entry.standing.ended_ms and where.is_over) and where.passes(push):
                    self._dirty.add(fingerprint)

    def _without(self, push: JudgedPush) -> None:
        """A push is its client's newest no more."""
        for fingerprint, place in self._of_client.pop(push.client, ()):
            entry = self.entries.get(fingerprint)
            if entry is not None and entry.discard(place, push):
                self._dirty.add(fingerprint)

    def _entry(self, problem: Problem, tenant: Tenant) -> FindingEntry:
        entry = self.entries.get(problem.fingerprint)
        if entry is None:
            entry = FindingEntry(problem.fingerprint, problem.code, problem.kind, problem.low_confidence, problem.severity, tenant=tenant)
            entry.decision = self._decisions.get(problem.fingerprint)
            gone = self._room.excess(self.entries.values(), entry.is_leak)
            self._full[FINDINGS.name].dropped(gone)
            for each in gone:
                self._drop(self.entries[str(each.key)])
            self._put(entry)
            if entry.is_leak:
                self._early.add(entry.fingerprint)
        else:
            self._room.share(entry, tenant)
        return entry

    def _drop(self, entry: FindingEntry) -> None:
        """The topic loses it, too."""
        self._remove(entry.fingerprint)
        if entry.published is not None:
            self._evicted.add(entry.fingerprint)

    def _put(self, entry: FindingEntry) -> None:
        self.entries[entry.fingerprint] = entry
        self._room.take(entry)
        if entry.kind == "fleet":
            self._compared.setdefault(entry.code, set()).add(entry.fingerprint)
        for (key, setting), where in entry.places.items():
            application = self._clients.application(key)
            application.found(entry.fingerprint, setting)
            application.newest_ms = max(application.newest_ms, where.last.appended_ms)

    def _remove(self, fingerprint: str) -> None:
        entry = self.entries.pop(fingerprint, None)
        if entry is None:
            return
        self._room.release(entry)
        self._waiting.discard(fingerprint)
        self._early.discard(fingerprint)
        self._compared.get(entry.code, set()).discard(fingerprint)
        for key, _ in entry.places:
            if (application := self._clients.applications.get(key)) is not None:
                application.findings.pop(fingerprint, None)
