"""State of one finding: its clients and places, how far a secret got, and its state in its life (`streaming.findings.lifecycle`)."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from clientscope.fair_share import HeldEntry, beyond
from clientscope.findings.decisions import Decision
from clientscope.findings.record import MOST_CLIENTS, Alert, Client, Finding, Kind
from clientscope.records.client_key import Tenant, tenant_of
from streaming.findings import ordered
from streaming.findings.inputs import ClientNames, JudgedPush, LogPosition
from streaming.findings.live_clients import LiveClients
from streaming.limits import Limit, Overflow

Place = tuple[str, str]
"""An application's key, and a setting's."""

MOST_PLACES_KEPT = 1_000
"""Of one leak; the record names a tenth of them."""

PLACES = Limit(
    "places",
    MOST_PLACES_KEPT,
    "places of one secret",
    "of the application that has the most of them some are forgotten",
)
EVIDENCE = Limit("evidence", 20, "notes on one finding", "the finding has the newest", None)
REACHED = Limit("reached", 50, "records and gateways that one secret reached", "the finding names the newest", None)


@dataclass
class Where:
    """One place of a finding.  Times are ms since the epoch.

    Attributes:
        clients: those that have it there, each with its severity: an index in ``SEVERITIES``.
        live: how many of them are connected; one that several gateways have seen counts once.
        last_seen_ms: when a push last had it; passed_ms: when a push of that application last was without it. Of the two, the later one
            is of the newer push, even if Kafka's time went back between them.
        last_seen_at, passed_at: where these pushes are; None where that isn't known.
        had: the finding's fingerprint and this place, one object for all clients that have it here.
    """

    clients: dict[str, int] = field(default_factory=dict)
    last_seen_ms: int = 0
    passed_ms: int = 0
    last_seen_at: LogPosition | None = None
    passed_at: LogPosition | None = None
    live: int = 0
    had: tuple[str, Place] | None = None
    _seen: Counter[ClientNames] = field(default_factory=Counter)

    def seen(self, push: JudgedPush) -> None:
        """A push has it there."""
        at = push.position
        self.last_seen_ms = max(self.last_seen_ms, push.appended_ms)
        if self.last_seen_at is None or at.is_after(self.last_seen_at):
            self.last_seen_at = at
        self._order()

    def passes(self, push: JudgedPush) -> bool:
        """A push is without it; whether that is news."""
        at = push.position
        is_newest = self.passed_at is None or at.is_after(self.passed_at)
        if push.appended_ms <= self.passed_ms and (self.passed_at is None or not is_newest):
            return False
        self.passed_ms = max(self.passed_ms, push.appended_ms)
        if is_newest:
            self.passed_at = at
        self._order()
        return True

    def _order(self) -> None:
        if self.last_seen_at is None or self.passed_at is None:
            return
        if self.passed_at.is_after(self.last_seen_at):
            self.passed_ms = max(self.passed_ms, self.last_seen_ms + 1)
        else:
            self.last_seen_ms = max(self.last_seen_ms, self.passed_ms)

    def count(self, push: JudgedPush, by: int) -> None:
        """One that has it there is connected (1), or isn't any more (-1)."""
        if push.names is None:
            self.live += by
            return
        before = self._seen.pop(push.names, 0)
        if before + by:
            self._seen[push.names] = before + by
        self.live += bool(before + by) - bool(before)


@dataclass(frozen=True, slots=True)
class FindingStanding:
    """The state of a finding in its life, as of the last `streaming.findings.lifecycle.advance`.  Times are ms since the epoch.

    Attributes:
        is_open: whether it is open; a secret that was there again between two looks counts as opened and stopped.
        opened_ms: when it was last opened; 0 before the first time.
        ended_ms: when it then ended; 0 while it is open.
        reopened: how often it came back.
        quiet_since_ms: since when no connected client has it; of leaks.
        alert: the last notification that it asked for; None for none.
        worst_alerted: the worst severity of those since it was last opened; -1 for none.
    """

    is_open: bool = False
    opened_ms: int = 0
    ended_ms: int = 0
    reopened: int = 0
    quiet_since_ms: int | None = None
    alert: Alert | None = None
    worst_alerted: int = -1


@dataclass
class FindingEntry:
    """One finding.

    Attributes:
        severity: an index in ``SEVERITIES``; the worst of those that have it.
        message: what the rule says.
        subject: of our own operation, which part it is about.
        said_by: the newest push that had it, by `streaming.findings.ordered.order`: its message, settings and application are the entry's.
        present: of what is found by comparing, and of our own operation: whether it is so now.
        severities: how many of those that have it have it how badly.
        live: the newest pushes of those that have it and are connected, gone: of the others, in the order of `streaming.findings.ordered`.
        compared: the clients that the comparison was about, by application.
        standing: its life so far.
        back_ms: when it was there again after it had ended; 0 if it wasn't.
        lately: the newest pushes that had it since it was last looked at, by client; worst_lately: the worst severity among them, or -1.
        known: the clients that its record names, by key.
        tenant: whose room it takes; of what several tenants have, the one with the fewest findings.
        published: its record on the topic, and published_at_ms when it was written.
    """

    fingerprint: str
    code: str
    kind: Kind
    low_confidence: bool = False
    severity: int = 0
    message: str = ""
    subject: str = ""
    said_by: tuple[int, int, str] = (0, -1, "")
    settings: tuple[Mapping[str, Any], ...] = ()
    application: str | None = None
    places: dict[Place, Where] = field(default_factory=dict)
    severities: Counter[int] = field(default_factory=Counter)
    live: list[JudgedPush] = field(default_factory=list)
    gone: list[JudgedPush] = field(default_factory=list)
    first_seen_ms: int = 0
    last_seen_ms: int = 0
    present: bool = False
    compared: Sequence[LiveClients] = ()
    standing: FindingStanding = FindingStanding()
    back_ms: int = 0
    redacted_at: list[str] = field(default_factory=list)
    written_to: list[str] = field(default_factory=list)
    evidence: list[str] = field(default_factory=list)
    decision: Decision | None = None
    published: Finding | None = None
    published_at_ms: int = 0
    tenant: Tenant = ""
    lately: dict[str, JudgedPush] = field(default_factory=dict)
    worst_lately: int = -1
    known: dict[str, Client] = field(default_factory=dict)

    def make_room(self, place: Place) -> list[HeldEntry]:
        """Makes room before `add`: beyond `MOST_PLACES_KEPT` places, those of the tenant with the most go first; returns those removed."""
        if place in self.places or len(self.places) < MOST_PLACES_KEPT:
            return []
        held = [HeldEntry(key, tenant_of(json.loads(key[0])[0], ""), 0, at.last_seen_ms) for key, at in self.places.items()]
        gone = beyond(held, MOST_PLACES_KEPT)
        for each in gone:
            self._lose(self.places.pop(cast(Place, each.key)))
        return gone

    def add(self, place: Place, push: JudgedPush, severity: int, is_live: bool) -> Where:
        """A client has it, and had it nowhere before."""
        where = self.places.setdefault(place, Where())
        if where.had is None or where.had[1] != place:
            where.had = self.fingerprint, place
        where.clients[push.client] = severity
        if is_live:
            where.count(push, 1)
        self.severities[severity] += 1
        ordered.add(self.live if is_live else self.gone, push)
        return where

    def discard(self, place: Place, push: JudgedPush) -> bool:
        """A client has it no more, has pushed again, or is forgotten; whether it was known to have it."""
        where = self.places.get(place)
        severity = where.clients.pop(push.client, None) if where is not None else None
        if where is None or severity is None:  # the place had to make room
            return False
        self._less(severity)
        if ordered.discard(self.live, push):
            where.count(push, -1)
        else:
            ordered.discard(self.gone, push)
        return True

    def moved(self, place: Place, push: JudgedPush, is_live: bool) -> bool:
        """A client that has it is connected now, or no more; whether it was known to have it."""
        where = self.places.get(place)
        if where is None or push.client not in where.clients:
            return False
        before, after = (self.gone, self.live) if is_live else (self.live, self.gone)
        if ordered.discard(before, push):
            ordered.add(after, push)
            where.count(push, 1 if is_live else -1)
        return True

    def found_in(self, application: str, keys: Iterable[str]) -> Iterator[Where]:
        """Its places in one application, under these settings."""
        for key in keys:
            if (where := self.places.get((application, key))) is not None:
                yield where

    def is_over(self, where: Where) -> bool:
        """Whether it has ended, and another push without it changes nothing in this place."""
        return self.standing.ended_ms > 0 and where.passed_ms > where.last_seen_ms

    def _lose(self, where: Where) -> None:
        for severity in where.clients.values():
            self._less(severity)
        self.live[:] = [push for push in self.live if push.client not in where.clients]
        self.gone[:] = [push for push in self.gone if push.client not in where.clients]

    def _less(self, severity: int) -> None:
        self.severities[severity] -= 1
        if not self.severities[severity]:
            del self.severities[severity]

    @property
    def matters(self) -> int:
        """How much it matters that it is kept: its severity; least of all once it has ended."""
        return -1 if self.published is not None and self.published.state in ("resolved", "closed") else self.severity

    @property
    def is_leak(self) -> bool:
        """Whether it is a secret for sure."""
        return self.kind == "leak" and not self.low_confidence

    def seen(self, at_ms: int) -> None:
        """It was there at this time."""
        if not self.standing.is_open and 0 < self.standing.ended_ms < at_ms:
            self.back_ms = min(self.back_ms or at_ms, at_ms)
        self.first_seen_ms = min(self.first_seen_ms or at_ms, at_ms)
        self.last_seen_ms = max(self.last_seen_ms, at_ms)

    def had_by(self, push: JudgedPush, severity: int) -> None:
        """A push has it; perhaps the next one of that client hasn't, before anything is looked at."""
        self.worst_lately = max(self.worst_lately, severity)
        known = self.lately.pop(push.client, push)
        self.lately[push.client] = max(known, push, key=ordered.order)
        if len(self.lately) > MOST_CLIENTS:
            del self.lately[next(iter(self.lately))]

    @property
    def is_unheard(self) -> bool:
        """Whether it was there, however briefly, without a check that opened it."""
        return not self.standing.is_open and (self.back_ms > 0 or not self.standing.opened_ms)

    def reached(self, gateway: str, written_to: str | None) -> bool:
        """How far a secret got; whether that is named in place of an earlier one."""
        known, new = (self.redacted_at, gateway) if written_to is None else (self.written_to, written_to)
        if new in known:
            return False
        known.append(new)
        is_full = len(known) > REACHED.most
        del known[: -REACHED.most]
        return is_full

    def note(self, sentence: str, full: Overflow) -> bool:
        """Something else that is known of it; whether that is new.  The oldest makes room, and counts in ``full``."""
        if sentence in self.evidence:
            return False
        self.evidence.append(sentence)
        if len(self.evidence) > EVIDENCE.most:
            del self.evidence[0]
            full.exceeded()
        return True

    @property
    def passed(self) -> bool:
        """Whether newer pushes are without it everywhere, so that it ends once no connected client has it."""
        return bool(self.places) and all(where.last_seen_ms < where.passed_ms for where in self.places.values())
