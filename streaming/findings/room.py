"""Bound of findings per tenant, and the choice of those to remove when there are too many."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from clientscope.fair_share import HeldEntry, beyond
from clientscope.records.client_key import Tenant
from streaming.findings.entry import FindingEntry
from streaming.limits import Limit

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
        self._of_tenant: Counter[Tenant] = Counter()
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
            self._less(entry.tenant)
            self._total -= 1
            self._leaks -= entry.is_leak

    def share(self, entry: FindingEntry, tenant: Tenant) -> None:
        """Notes that another tenant has it too: it counts for the tenant with fewer findings."""
        if entry.tenant != tenant and self._of_tenant[tenant] < self._of_tenant[entry.tenant]:
            self._less(entry.tenant)
            self._of_tenant[tenant] += 1
            entry.tenant = tenant

    def excess(self, entries: Iterable[FindingEntry], for_leak: bool) -> list[HeldEntry]:
        """The findings to remove before another is added: the least important of the tenants that have the most."""
        others = MOST_FINDINGS - FOR_LEAKS
        if not for_leak and self._total - self._leaks >= others:
            return _excess([entry for entry in entries if not entry.is_leak], others)
        return _excess(entries, MOST_FINDINGS) if self._total >= MOST_FINDINGS else []

    def _less(self, tenant: Tenant) -> None:
        self._of_tenant[tenant] -= 1
        if self._of_tenant[tenant] <= 0:
            del self._of_tenant[tenant]


def _excess(entries: Iterable[FindingEntry], room: int) -> list[HeldEntry]:
    held = [HeldEntry(each.fingerprint, each.tenant, each.matters, each.last_seen_ms) for each in entries if each.kind != "operation"]
    return beyond(held, room)
