"""Retention of ``clientscope.configs``: its clients, when each was last seen, and whose records are deleted.

A client is seen whenever it pushes and whenever a connection record names it: as it connects and leaves, and each six hours between.  Its
record goes 30 days after that; one without an instance id goes after a day, since no other connection will ever have its key.  Of an
application's clients that have been gone for a day those stay that were seen last: a fleet that is deployed anew each day has new clients
each day, and the earlier ones never come back (F50).  A principal (or, without one, an address) has a bounded number of records; beyond it
those go first that were seen longest ago, of clients that aren't connected.

Both Kafka's clock and the job's have to say that the time is over, so neither alone ends anything early when it jumps ahead.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from clientscope.bounded import Present
from clientscope.fair_share import HeldEntry, beyond
from clientscope.model.client_key import Tenant, instance_of
from clientscope.model.input import InputRecord
from streaming.findings.inputs import JudgedPush
from streaming.limits import Limit, Overflow

DAY_MS = 24 * 60 * 60_000
KEEP_DAYS = 30.0
"""For so long after it was last seen the record of a client with an instance id is kept."""

KEEP_CONNECTION_MS = DAY_MS
"""For so long that of a client without one."""

MOST_OF_ONE = 20_000
"""Records of one tenant, besides those of clients that are connected."""

MOST_KEPT = 500_000
"""Of all tenants, in the same way."""

MOST_GONE = 100
"""Records of clients of one application that have been gone for a day."""

RECORDS = Limit(
    "records",
    MOST_KEPT,
    "records",
    "of clients that are gone those seen longest ago leave clientscope.configs early;"
    f" the same above {MOST_OF_ONE:,} of one principal or address. Not counted: those above {MOST_GONE} of one application, after a day",
)

AT_ONCE = 1_000
"""Records that are ended in one writing."""

_ROUND_MS, _HOUR_MS = 60_000, 60 * 60_000


class Record(NamedTuple):
    """One record of the topic.

    Attributes:
        tenant: whose it is.
        application: of its client.
        seen_ms: when its client was last seen.
        pushed_ms: when it last pushed.
    """

    tenant: Tenant
    application: str
    seen_ms: int
    pushed_ms: int


@dataclass(frozen=True)
class LastSeen:
    """What an earlier process of the job has noted: the topics can't say any more when each client was last seen.

    Attributes:
        times: client → ms since the epoch, where that isn't just when it pushed.
        floor_ms: no client counts as seen before this, since nothing earlier is known.
    """

    times: Mapping[str, int] = field(default_factory=dict)
    floor_ms: int = 0


class Kept:
    """Without I/O; times are ms since the epoch, those of records by Kafka's clock.

    Attributes:
        full: records that were ended before their time because there were too many.
    """

    def __init__(self, seen: LastSeen = LastSeen(), keep_days: float = KEEP_DAYS) -> None:
        self.full = Overflow(RECORDS)
        self._records: dict[str, Record] = {}
        self._of_tenant = Present[Tenant]()
        self._before = seen
        self._keep_ms = int(keep_days * DAY_MS)
        self._round_ms = min(_ROUND_MS, self._keep_ms // 4)
        self._newest_ms = self._looked_ms = 0
        self._due: list[str] = []

    def __len__(self) -> int:
        return len(self._records)

    def pushed(self, push: JudgedPush) -> None:
        """A push was read."""
        self._newest_ms = max(self._newest_ms, push.appended_ms)
        known = self._records.get(push.client)
        if known is None:
            seen_ms = max(push.appended_ms, self._before.times.get(push.client, 0), self._before.floor_ms)
            self._records[push.client] = Record(push.tenant, push.application, seen_ms, push.appended_ms)
        else:
            self._of_tenant.leave(known.tenant)
            seen_ms, pushed_ms = max(push.appended_ms, known.seen_ms), max(push.appended_ms, known.pushed_ms)
            self._records[push.client] = Record(push.tenant, push.application, seen_ms, pushed_ms)
        self._of_tenant[push.tenant] += 1

    def happened(self, event: InputRecord) -> None:
        """A connection record was read."""
        self._newest_ms = max(self._newest_ms, event.appended_ms)
        if (known := self._records.get(event.client)) is not None and event.appended_ms > known.seen_ms:
            self._records[event.client] = known._replace(seen_ms=event.appended_ms)

    def ended(self, key: str) -> None:
        """The topic has a tombstone under this key."""
        known = self._records.pop(key, None)
        if known is not None:
            self._of_tenant.leave(known.tenant)

    def due(self, now_ms: int, is_live: Callable[[str], bool]) -> list[str]:
        """Keys whose records are to be ended now, at most `AT_ONCE`; `ended` says that they are.

        They are looked for once a minute.

        Args:
            is_live: whether the client of this key is connected.
        """
        if not self._due and abs(now_ms - self._looked_ms) >= self._round_ms:  # a clock may have been set back
            self._looked_ms = now_ms
            self._due = self._look(min(now_ms, self._newest_ms), is_live)
        found, self._due = self._due[:AT_ONCE], self._due[AT_ONCE:]
        return [key for key in found if key in self._records and not is_live(key)]

    def pushed_ms(self, key: str) -> int:
        """When the client of this key last pushed; 0 where that isn't known."""
        return self._records[key].pushed_ms if key in self._records else 0

    def application(self, key: str) -> str | None:
        """Of which application a record's client is; None without a record."""
        record = self._records.get(key)
        return None if record is None else record.application

    def seen(self) -> dict[str, int]:
        """When clients were last seen, where that is more than an hour after their push."""
        return {key: record.seen_ms for key, record in self._records.items() if record.seen_ms - record.pushed_ms > _HOUR_MS}

    def _look(self, at_ms: int, is_live: Callable[[str], bool]) -> list[str]:
        soonest_ms = min(self._keep_ms, KEEP_CONNECTION_MS)
        long_ago = [key for key, record in self._records.items() if at_ms - record.seen_ms > soonest_ms]
        due = {key: None for key in long_ago if self._is_over(key, at_ms)}
        due |= self._replaced([key for key in long_ago if key not in due], is_live)
        crowds = {tenant for tenant, count in self._of_tenant.items() if count > MOST_OF_ONE}
        if crowds:
            gone = self._gone(lambda key, record: record.tenant in crowds and key not in due, is_live)
            for tenant in crowds:
                theirs = [each for each in gone if each.tenant == tenant]
                due |= self._excess(theirs, MOST_OF_ONE)
        if len(self._records) - len(due) > MOST_KEPT:
            due |= self._excess(self._gone(lambda key, record: key not in due, is_live), MOST_KEPT)
        return list(due)

    def _replaced(self, long_ago: Iterable[str], is_live: Callable[[str], bool]) -> dict[str, None]:
        """Of each application's clients that have been gone for long enough, all but those seen last."""
        of: dict[str, list[str]] = defaultdict(list)
        for key in long_ago:
            of[self._records[key].application].append(key)
        due: dict[str, None] = {}
        for keys in of.values():
            if len(keys) > MOST_GONE:
                gone = sorted((key for key in keys if not is_live(key)), key=lambda key: self._records[key].seen_ms)
                due |= dict.fromkeys(gone[:-MOST_GONE])
        return due

    def _excess(self, held: list[HeldEntry], room: int) -> dict[str, None]:
        gone = beyond(held, room) if len(held) > room else []
        self.full.dropped(gone)
        return dict.fromkeys(str(each.key) for each in gone)

    def _gone(self, which: Callable[[str, Record], bool], is_live: Callable[[str], bool]) -> list[HeldEntry]:
        candidates = ((key, record) for key, record in self._records.items() if which(key, record))
        return [HeldEntry(key, record.tenant, 0, record.seen_ms) for key, record in candidates if not is_live(key)]

    def _is_over(self, key: str, at_ms: int) -> bool:
        keep_ms = self._keep_ms if instance_of(key) is not None else min(self._keep_ms, KEEP_CONNECTION_MS)
        return at_ms - self._records[key].seen_ms > keep_ms
