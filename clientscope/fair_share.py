"""Eviction from a bounded table: the tenant with more than its fair share loses its least important entry.

A bound that forgets the oldest entry can be turned against others: a tenant that adds many entries evicts all others' entries. Here a
tenant loses entries only while it has more than its fair share.  Addresses cost less than principals, so tenants without a principal have
half of the room together where others want the rest.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping
from typing import NamedTuple, TypeVar

from clientscope.model.client_key import Tenant, is_anonymous

_AT_ONCE = 10
"""Room is made for one tenth of the table at once, so that going through all of it is worth it."""

_Key = TypeVar("_Key", bound=Hashable)


class HeldEntry(NamedTuple):
    """An entry of a table.

    Attributes:
        matters: the least goes first; a severity.
        at_ms: among equals of one tenant the oldest goes first.
        size: how much of the table it takes.
    """

    key: Hashable
    tenant: Tenant
    matters: int
    at_ms: int
    size: int = 1


def shares(used: Mapping[Tenant, int], room: int) -> dict[Tenant, int]:
    """How much each tenant may have.  A tenant above the share gets the share; one below it keeps what it uses."""
    anonymous = {tenant: size for tenant, size in used.items() if is_anonymous(tenant)}
    named = {tenant: size for tenant, size in used.items() if tenant not in anonymous}
    for_named = max(room - room // 2, room - sum(anonymous.values()))
    for_anonymous = max(room // 2, room - sum(named.values()))
    return {**_level(named, for_named), **_level(anonymous, for_anonymous)}


def beyond(entries: Iterable[HeldEntry], limit: int) -> list[HeldEntry]:
    """What has to go of a full table: `too_many`, with room for a tenth of what it may hold."""
    return too_many(entries, limit - limit // _AT_ONCE)


def too_many(entries: Iterable[HeldEntry], room: int) -> list[HeldEntry]:
    """What has to go so that the rest fits: of tenants above their share the least that matters, and of that the noisiest tenant's."""
    held = list(entries)
    used: Counter[Tenant] = Counter()
    for each in held:
        used[each.tenant] += each.size
    excess = used.total() - room
    if excess <= 0:
        return []
    share = shares(used, room)
    by_matter: dict[int, dict[Tenant, list[HeldEntry]]] = {}
    for each in held:
        if used[each.tenant] > share[each.tenant]:
            by_matter.setdefault(each.matters, {}).setdefault(each.tenant, []).append(each)
    gone: list[HeldEntry] = []
    for matters in sorted(by_matter):
        tenants = by_matter[matters]
        for of_one in tenants.values():
            of_one.sort(key=lambda each: -each.at_ms)
        noisiest = [(-used[tenant], tenant) for tenant in tenants]
        heapq.heapify(noisiest)
        while noisiest and excess > 0:
            _, tenant = heapq.heappop(noisiest)
            if used[tenant] <= share[tenant]:
                continue
            each = tenants[tenant].pop()
            gone.append(each)
            used[tenant] -= each.size
            excess -= each.size
            if tenants[tenant]:
                heapq.heappush(noisiest, (-used[tenant], tenant))
    return gone


def noisiest(entries: Iterable[HeldEntry]) -> Tenant:
    """The tenant that has the most of these; none of none."""
    used: Counter[Tenant] = Counter()
    for each in entries:
        used[each.tenant] += each.size
    return used.most_common(1)[0][0] if used else ""


def _level(used: Mapping[Tenant, int], room: int) -> dict[Tenant, int]:
    """Max-min fairness: what small ones leave is shared by the others."""
    share: dict[Tenant, int] = {}
    left = room
    for number, (tenant, size) in enumerate(sorted(used.items(), key=lambda item: item[1])):
        share[tenant] = min(size, left // (len(used) - number))
        left -= share[tenant]
    return share
