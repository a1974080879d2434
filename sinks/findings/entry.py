"""One finding as it is kept: who has it, where, and what that makes its state.  The state is worked out anew from these each time."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from clientscope.findings.decisions import Decision
from clientscope.findings.record import MOST_CLIENTS, Alert, Client, Finding, Kind, State
from clientscope.records.client_key import Tenant, tenant_of
from sinks.fair_share import BATCH, Held, too_many
from sinks.findings.arrived import Push

Place = tuple[str, str]
"""An application's key, and a setting's."""

QUIET_MS = 10 * 60_000
"""A secret that nobody who is connected has any more counts as stopped after this, though no newer push says so."""

MOST_PLACES_KEPT = 1_000
"""Of one leak; the record names a tenth of them."""

MOST_EVIDENCE = 20
_MOST_REACHED = 50


@dataclass
class Where:
    """One place of a finding.  Times are ms since the epoch.

    Attributes:
        clients: who has it there, and how bad it is with each: an index in ``SEVERITIES``.
        last_seen_ms: when a push last had it; passed_ms: when a push of that application last was without it.
    """

    clients: dict[str, int] = field(default_factory=dict)
    last_seen_ms: int = 0
    passed_ms: int = 0


@dataclass
class Entry:
    """One finding.

    Attributes:
        severity: an index in ``SEVERITIES``; the worst of those that have it.
        message: what the rule says.
        present: of what is found by comparing, and of our own operation: whether it is so now.
        compared: whom the comparison was about.
        quiet_since_ms: since when nobody connected has it; of leaks.
        is_open, opened_ms, ended_ms, reopened: how it was when it was last looked at.
        back_ms: when it was there again after it had ended; 0 if it wasn't.
        lately: the newest pushes that had it since it was last looked at, by client; worst_lately: the worst severity among them, or -1.
        known: the clients that its record names, by key.
        tenant: whose room it takes; of what several tenants have, the one with the fewest findings.
        worst_told: the worst severity that somebody was told since it was last opened; -1 for none.
        told: what the topic says of it, and when it was written.
    """

    fingerprint: str
    code: str
    kind: Kind
    low_confidence: bool = False
    severity: int = 0
    message: str = ""
    settings: tuple[Mapping[str, Any], ...] = ()
    application: str | None = None
    places: dict[Place, Where] = field(default_factory=dict)
    first_seen_ms: int = 0
    last_seen_ms: int = 0
    present: bool = False
    compared: Sequence[Push] = ()
    is_open: bool = False
    ended_ms: int = 0
    back_ms: int = 0
    quiet_since_ms: int | None = None
    redacted_at: list[str] = field(default_factory=list)
    written_to: list[str] = field(default_factory=list)
    evidence: list[str] = field(default_factory=list)
    opened_ms: int = 0
    reopened: int = 0
    alert: Alert | None = None
    worst_told: int = -1
    decision: Decision | None = None
    told: Finding | None = None
    told_at_ms: int = 0
    tenant: Tenant = ""
    lately: dict[str, Push] = field(default_factory=dict)
    worst_lately: int = -1
    known: dict[str, Client] = field(default_factory=dict)

    def place(self, place: Place) -> Where:
        """Where it is found; beyond `MOST_PLACES_KEPT` places, those go first of whoever has the most of them."""
        where = self.places.get(place)
        if where is None:
            if len(self.places) >= MOST_PLACES_KEPT:
                held = [Held(key, tenant_of(json.loads(key[0])[0], ""), 0, at.last_seen_ms) for key, at in self.places.items()]
                for one in too_many(held, MOST_PLACES_KEPT - MOST_PLACES_KEPT // BATCH):
                    del self.places[cast(Place, one.key)]
            where = self.places[place] = Where()
        return where

    @property
    def matters(self) -> int:
        """How much it matters that it is kept: its severity; least of all once it has ended."""
        return -1 if self.told is not None and self.told.state in ("resolved", "closed") else self.severity

    @property
    def is_leak(self) -> bool:
        """Whether it is a secret for sure."""
        return self.kind == "leak" and not self.low_confidence

    def seen(self, at_ms: int) -> None:
        """It was there at this time."""
        if not self.is_open and at_ms > self.ended_ms and self.ended_ms:
            self.back_ms = min(self.back_ms or at_ms, at_ms)
        self.first_seen_ms = min(self.first_seen_ms or at_ms, at_ms)
        self.last_seen_ms = max(self.last_seen_ms, at_ms)

    def had_by(self, push: Push, severity: int) -> None:
        """A push has it; perhaps the next one of that client hasn't, before anything is looked at."""
        self.worst_lately = max(self.worst_lately, severity)
        self.lately.pop(push.client, None)
        self.lately[push.client] = push
        if len(self.lately) > MOST_CLIENTS:
            del self.lately[next(iter(self.lately))]

    @property
    def is_unheard(self) -> bool:
        """Whether it was there, for however short a time, since somebody could last hear of it."""
        return not self.is_open and (self.back_ms > 0 or not self.opened_ms)

    def reached(self, gateway: str, written_to: str | None) -> None:
        """How far a secret got."""
        known, new = (self.redacted_at, gateway) if written_to is None else (self.written_to, written_to)
        if new not in known:
            known.append(new)
            del known[:-_MOST_REACHED]

    def note(self, sentence: str) -> None:
        """Something else that is known of it."""
        if sentence not in self.evidence:
            self.evidence.append(sentence)
            del self.evidence[:-MOST_EVIDENCE]

    def state(self, live: int, now_ms: int) -> State:
        """What is to be done about it.

        Args:
            live: how many clients have it that are connected.
        """
        if self.decision is not None and self.decision.holds(self.last_seen_ms, now_ms):
            return "closed"
        if self.kind in ("fleet", "operation"):
            return "open" if self.present else "resolved"
        if live or not self.passed:
            return "open"
        return "stopped" if self.kind == "leak" else "resolved"

    def quieten(self, live: int, now_ms: int) -> None:
        """Notes since when nobody who is connected has the secret; long enough is as good as a push without it."""
        if self.kind != "leak":
            return
        if live:
            self.quiet_since_ms = None
        elif self.quiet_since_ms is None:
            self.quiet_since_ms = now_ms
        elif now_ms - self.quiet_since_ms >= QUIET_MS:
            for where in self.places.values():
                where.passed_ms = max(where.passed_ms, where.last_seen_ms + 1)

    @property
    def passed(self) -> bool:
        """Whether newer pushes are without it everywhere, so that it ends once nobody who is connected has it."""
        return bool(self.places) and all(where.last_seen_ms < where.passed_ms for where in self.places.values())
