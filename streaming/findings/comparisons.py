"""Comparisons of the fleet: rules about an application's clients together, every ten seconds.

They cost what the fleet is large, so they wait for their time; what follows from one push or one connection doesn't.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from clientscope.findings.fingerprints import application_key
from clientscope.profiles import Thresholds
from streaming.findings import fleet
from streaming.findings.book import Book
from streaming.findings.clients import OneApplication, PushedClients
from streaming.findings.contradictions import contradictions
from streaming.findings.fact_reports import REMEMBERED_MS, FactReports
from streaming.findings.inputs import ConnectionChange
from streaming.findings.isolation import uncommitted_reads
from streaming.findings.liveness import Liveness
from streaming.findings.members import shared_members
from streaming.findings.reported import JOINED, joined, risen_retries
from streaming.findings.upgrades import RequestedVersions
from streaming.limits import Overflow
from udfs.kernels.applications import of_client
from udfs.rules.groups import static_member_unfit
from udfs.rules.reading import isolation_level_unfit

_EVERY_MS = 10_000


class Comparisons:
    """Compares clients, and enters what it finds in the book."""

    def __init__(self, clients: PushedClients, liveness: Liveness, book: Book, thresholds: Thresholds, reports: FactReports) -> None:
        self._clients, self._liveness, self._book = clients, liveness, book
        self._judges = fleet.Judges(thresholds)
        self._requested = RequestedVersions()
        self._changes: dict[str, fleet.Change] = {}
        self._reports = reports
        self._first_ms: int | None = None
        self._compared_ms = 0

    @property
    def limits(self) -> tuple[Overflow, ...]:
        """What its bounds left out."""
        return self._judges.full, self._requested.full, self._reports.full, self._reports.topics_full

    def happened(self, event: ConnectionChange) -> None:
        """Takes in an event of a connection, in any order."""
        self._requested.happened(event)

    def started(self, application: OneApplication, change: fleet.Change) -> None:
        """Notes that a client of the application started with another configuration than the one before."""
        self._changes[application.key] = change

    def forgotten(self, applications: Iterable[OneApplication]) -> None:
        """Forgets applications that have no client any more."""
        for application in applications:
            self._changes.pop(application.key, None)

    def erased(self, application: str, client: str) -> None:
        """Forgets what a client had before its application's last change, or has since."""
        if (change := self._changes.get(application)) is not None and client in (change.before.client, change.now.client):
            del self._changes[application]

    def at(self, now_ms: int) -> None:
        """Compares, if it is time again."""
        if abs(now_ms - self._compared_ms) < _EVERY_MS:  # a clock may have been set back
            return
        self._compared_ms = now_ms
        self._first_ms = now_ms if self._first_ms is None else self._first_ms
        live = self._clients.live()
        storms, contradicted = (self._book.present(rule.code) for rule in (fleet.STORM, fleet.CONTRADICTION))
        for rule, found in (
            (fleet.UPGRADE, self._requested.found(live, self._judges, now_ms)),
            (fleet.DRIFT, fleet.drift(live, self._judges, now_ms)),
            (fleet.CHANGED, fleet.changed(self._changes, live, self._judges, now_ms)),
            (fleet.RARE, fleet.rare_values(live, self._judges)),
            (fleet.VERSION, fleet.old_versions(live, self._judges)),
            (fleet.STORM, fleet.storms(self._closings(now_ms), self._liveness.open_of, live, self._judges, storms, now_ms)),
            (static_member_unfit, shared_members(live, self._judges, now_ms)),
            (fleet.CONTRADICTION, contradictions(self._clients.declared(), live, self._judges, contradicted, now_ms)),
        ):
            self._book.compared(rule.code, found)
        # What clients said before the job's start isn't known any more, and counts for an hour.
        known = now_ms - self._first_ms >= REMEMBERED_MS
        for each in JOINED:
            self._book.compared(each.rule.code, joined(each, live, self._reports, self._judges, now_ms), ends=known)
        read = uncommitted_reads(live, self._reports, self._judges, now_ms)
        self._book.compared(isolation_level_unfit.code, read, ends=known)
        risen = risen_retries(self._changes, live, self._reports, self._judges, now_ms)
        self._book.compared(fleet.RETRIES.code, risen, ends=known)

    def _closings(self, now_ms: int) -> dict[str, fleet.Closings]:
        """What each application closed."""
        found: dict[str, fleet.Closings] = {}
        counts = self._liveness.closed(now_ms)
        key_of = {who: application_key(who[0], of_client(who[1]), None) for who in counts}
        for who, count in counts.items():
            found.setdefault(key_of[who], fleet.Closings(Counter(), Counter())).by[who] += count
        for who, where, count in self._liveness.closed_at(now_ms):
            found[key_of[who]].at[where] += count
        return found
