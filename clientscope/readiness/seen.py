"""Clients that gateways have seen, with the versions that they requested, from ``clientscope.connections``. No I/O; time is passed in.

A record lists what was requested on its connection in a period of at most six hours, so a version counts as last used when the last record
with it was written: up to six hours too late, never too early.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from clientscope.bounded import Shared
from clientscope.fair_share import HeldEntry, beyond
from clientscope.model.client import Client
from clientscope.model.client_key import tenant_of
from clientscope.model.connection import ClientConnectionRecord
from clientscope.model.enums import Kind
from clientscope.model.fields import clean
from clientscope.model.requested_versions import unpack
from clientscope.readiness.observed import UNKNOWN_SOFTWARE, ApiUse

MOST_CLIENTS = 20_000
MOST_LISTS = 16
"""Different lists of versions of one client; the one that was last seen the longest ago is forgotten."""
MOST_UNREAD = 1_000
"""Addresses of clients of which nothing was read."""
KEPT_MS = 7 * 24 * 3600 * 1000
"""For how long a version counts after it was last seen: as long as the topic keeps records."""
_EXPIRE_MS = 60_000


@dataclass(slots=True)
class SeenRequests:
    """What one client requested.

    Attributes:
        lists: versions, as a record has them → when such a record was first and last written, in ms since the epoch.
        last_ms: when its last record was written.
    """

    lists: dict[bytes, tuple[int, int]] = field(default_factory=dict)
    last_ms: int = 0

    @property
    def first_ms(self) -> int:
        """When the first record with a version was written; without one, the last record."""
        return min((first_ms for first_ms, _ in self.lists.values()), default=self.last_ms)

    def add(self, versions: bytes, at_ms: int) -> bool:
        """Takes a record's versions; whether there was room."""
        self.last_ms = max(self.last_ms, at_ms)
        if not versions:
            return True
        first_ms, last_ms = self.lists.get(versions, (at_ms, at_ms))
        self.lists[versions] = min(first_ms, at_ms), max(last_ms, at_ms)
        if len(self.lists) <= MOST_LISTS:
            return True
        del self.lists[min(self.lists, key=lambda each: self.lists[each][1])]
        return False


class SeenClients:
    """All clients of all gateways; at most ``limit`` of them, of which those of tenants above their share make room.

    Args:
        kept_ms: for how long a record counts.

    Attributes:
        dropped: clients that were forgotten for want of room, and lists of versions; by what it was.
        first_ms: when the first record was written that was taken; None before it.
    """

    def __init__(self, limit: int = MOST_CLIENTS, kept_ms: int = KEPT_MS) -> None:
        self.dropped: Counter[str] = Counter()
        self.first_ms: int | None = None
        self._limit = limit
        self._kept_ms = kept_ms
        self._clients: dict[Client, SeenRequests] = {}
        self._unread: dict[str, int] = {}
        self._lists: Shared[bytes] = Shared(MOST_CLIENTS)
        self._expired_ms = 0

    def __len__(self) -> int:
        return len(self._clients)

    def apply(self, record: ClientConnectionRecord, at_ms: int) -> bool:
        """Takes a record, in any order, also repeatedly. Returns whether anything is new besides a time.

        Only records of connections that are settled (`Kind.PRESENT`, `Kind.CLOSED`) count, since a connection has another identity before.

        Args:
            at_ms: when it was written, Kafka's time.
        """
        if self.first_ms is None or at_ms < self.first_ms:
            self.first_ms = at_ms
        if record.kind not in (Kind.PRESENT, Kind.CLOSED):
            return False
        key, versions = _key(record), record.requested
        if not versions and not key.client_id and key.software_name == UNKNOWN_SOFTWARE:
            return self._note_unread(key.address, at_ms)
        client = self._clients.get(key)
        changed = client is None or versions not in client.lists
        if client is None:
            if len(self._clients) >= self._limit:
                self._make_room()
            client = self._clients[key] = SeenRequests()
        if not client.add(self._lists.same(versions), at_ms):
            self.dropped["seen_versions"] += 1
        return changed

    def copy(self) -> SeenClients:
        """The same as it is now, for another thread."""
        made = SeenClients(self._limit, self._kept_ms)
        made.dropped, made.first_ms = self.dropped.copy(), self.first_ms
        made._clients = {key: SeenRequests(seen.lists.copy(), seen.last_ms) for key, seen in self._clients.items()}
        made._unread = self._unread.copy()
        return made

    def clients(self, now_ms: int) -> Iterator[tuple[Client, SeenRequests]]:
        """Those whose last record still counts.

        A connection without a software name is counted with the client's other connections, where those have one name: some libraries send
        theirs on their first connection alone. One that ended before is an earlier client's.
        """
        present = {key: seen for key, seen in self._clients.items() if seen.last_ms >= now_ms - self._kept_ms}
        named: dict[_Names, list[Client]] = {}
        for key in present:
            if key.software_name != UNKNOWN_SOFTWARE and key.client_id:
                named.setdefault(_names(key), []).append(key)
        merged: dict[Client, SeenRequests] = {}
        for key, seen in present.items():
            same = named.get(_names(key), []) if key.software_name == UNKNOWN_SOFTWARE else []
            same = [each for each in same if seen.last_ms >= present[each].first_ms]
            together = merged.setdefault(same[0] if len(same) == 1 else key, SeenRequests())
            for versions, (first_ms, last_ms) in seen.lists.items():
                before = together.lists.get(versions, (first_ms, last_ms))
                together.lists[versions] = min(before[0], first_ms), max(before[1], last_ms)
            together.last_ms = max(together.last_ms, seen.last_ms)
        yield from merged.items()

    def unread(self, now_ms: int) -> int:
        """Addresses of connections of which nothing is known: nothing was read of them, or they sent nothing."""
        return sum(at_ms >= now_ms - self._kept_ms for at_ms in self._unread.values())

    def expire(self, now_ms: int) -> None:
        """Forgets what no longer counts; about once a minute, however often it is called."""
        if now_ms - self._expired_ms < _EXPIRE_MS:
            return
        self._expired_ms = now_ms
        old = now_ms - self._kept_ms
        self._clients = {key: seen for key, seen in self._clients.items() if seen.last_ms >= old}
        self._unread = {address: at_ms for address, at_ms in self._unread.items() if at_ms >= old}
        if self.first_ms is not None:
            self.first_ms = max(self.first_ms, old)

    def _note_unread(self, address: str, at_ms: int) -> bool:
        known = self._unread.get(address)
        if known is None and len(self._unread) >= MOST_UNREAD:
            self.dropped["unread_addresses"] += 1
            return False
        self._unread[address] = max(known or 0, at_ms)
        return known is None

    def _make_room(self) -> None:
        held = [HeldEntry(key, tenant_of(key.principal, key.address), 0, seen.last_ms) for key, seen in self._clients.items()]
        gone = beyond(held, self._limit - 1)
        for each in gone:
            del self._clients[each.key]  # type: ignore[arg-type]  # a key of ours
        self.dropped["seen_clients"] += len(gone)


def uses(seen: SeenRequests, now_ms: int, kept_ms: int = KEPT_MS) -> dict[ApiUse, int]:
    """What a client used lately, as `SeenClients` keeps it, and when last."""
    found: dict[ApiUse, int] = {}
    for versions, (_, last_ms) in seen.lists.items():
        if last_ms >= now_ms - kept_ms:
            for use in (ApiUse(*each) for each in unpack(versions)):
                found[use] = max(last_ms, found.get(use, 0))
    return found


_Names = tuple[str, str | None, str | None, str]


def _names(client: Client) -> _Names:
    """What all connections of a client share, with a software name or without."""
    return client.cluster, client.principal, client.client_id, client.address


def _key(record: ClientConnectionRecord) -> Client:
    """What distinguishes clients here."""
    return Client(
        cluster=clean(record.cluster),
        principal=clean(record.principal) if record.principal else None,
        client_id=clean(record.client_id) if record.client_id else None,
        address=clean(record.address),
        software_name=clean(record.software_name),
        software_version=clean(record.software_version),
    )
