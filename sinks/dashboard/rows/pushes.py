"""Index of pushes: the client, the time and the place on ``clientscope.configs`` of each, never a configuration."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from clientscope.fair_share import shares
from clientscope.records.client_key import Tenant, is_anonymous, tenant_of
from sinks.dashboard.rows.judging import Judging
from sinks.dashboard.rows.schema import LISTED, Database, listed


class IndexedPush(NamedTuple):
    """One client's newest push; texts are empty for none.

    Attributes:
        key: `clientscope.records.client_key.client_key` of the client.
        pushed_ms: Kafka's time.
        instance: its instance id; None where it has none.
        judged: whether a rule could judge it; None where its result was not read.
        not_judged_by: the rules that could not (`sinks.dashboard.state.unjudged`); None likewise.
        rank: `clientscope.records.enums.rank_of` its origin: what a client pushes counts before what was seen of it.
    """

    key: str
    partition: int
    offset: int
    pushed_ms: int
    client_id: str
    address: str
    principal: str
    application: str
    instance: str | None
    software: str
    version: str
    judged: bool | None = None
    not_judged_by: bytes | None = None
    rank: int = 0


_INSERT = f"INSERT OR REPLACE INTO pushes VALUES ({', '.join('?' * len(IndexedPush._fields))})"

_NEAR = 50
_LATEST = "max(pushed_ms) OVER (PARTITION BY partition ORDER BY offset)"


def _newest_first(where: str) -> str:
    """SQL of pushes. Within a partition the offset decides, as the next leader's clock may be behind; unless the topic was made again.

    It takes the condition's parameters, and how many pushes are wanted; those further away in time are not looked at.
    """
    near = f"SELECT * FROM pushes WHERE {where} ORDER BY rank, pushed_ms DESC LIMIT {_NEAR}"
    return f"SELECT * FROM ({near}) ORDER BY rank, iif({_LATEST} - pushed_ms < 3600000, {_LATEST}, pushed_ms) DESC, offset DESC LIMIT ?"


class PushIndex:
    """The newest push of each client, at most ``limit``.

    Beyond it, entries of tenants above their share go first, counted in ``dropped``.
    What `put` and `remove` take in comes into the table by `flush`.
    """

    def __init__(self, database: Database, judging: Judging, limit: int = 200_000) -> None:
        self.dropped: Counter[str] = Counter()
        self._database = database
        self._judging = judging
        self._limit = limit
        self._count = 0
        self._noted: list[tuple[str, IndexedPush | None]] = []

    def put(self, push: IndexedPush) -> None:
        """A push, or its result; whichever comes first makes the row."""
        self._noted.append((push.key, push))

    def remove(self, key: str) -> None:
        """A tombstone, under its record's key: that client is gone for long."""
        self._noted.append((key, None))

    def flush(self) -> None:
        """Writes everything noted since the last call into the table, in order, and judges those clients again."""
        noted, self._noted = self._noted, []
        if not noted:
            return
        keys = {key for key, _ in noted}
        rows = self._database.rows(f"SELECT * FROM pushes WHERE key IN {LISTED}", listed(keys))
        before = {push.key: push for push in (IndexedPush(*row) for row in rows)}
        now = before.copy()
        for key, push in noted:
            if push is None:
                now.pop(key, None)
            else:
                now[key] = _newer(now.get(key), push)
        gone = [push for key, push in before.items() if key not in now]
        new = [push for key, push in now.items() if push is not before.get(key)]
        self._database.run(f"DELETE FROM pushes WHERE key IN {LISTED}", listed(push.key for push in gone))
        self._database.many(_INSERT, new)
        self._count += len(now) - len(before)
        if self._count > self._limit + self._limit // 20:
            self._trim()
        for client_id, address in {(push.client_id, push.address): None for push in (*gone, *new)}:
            self._judging.pushed(client_id, address)

    def of_client(self, client_id: str, address: str, principal: str, key: str | None) -> IndexedPush | None:
        """The push of a client: of this key where it has an instance id, or else under its names, what it pushed before what was seen."""
        row = self._database.row("SELECT * FROM pushes WHERE key = ?", key) if key else None
        if row is None:
            row = self._database.row(_newest_first("client_id = ? AND address = ? AND principal = ?"), client_id, address, principal, 1)
        return None if row is None else IndexedPush(*row)

    def has_any(self, from_ms: int) -> bool:
        """Whether a client's newest push is of that time or later."""
        return self._database.row("SELECT 1 FROM pushes WHERE pushed_ms >= ? LIMIT 1", from_ms) is not None

    def starts(self, push: IndexedPush, limit: int) -> tuple[list[IndexedPush], bool]:
        """The newest pushes of a client, from its address; or where there is but one, of its application; and whether it is the latter."""
        own = self._database.rows(
            _newest_first("client_id = ? AND address = ? AND principal = ? AND rank = ?"),
            push.client_id,
            push.address,
            push.principal,
            push.rank,
            limit,
        )
        if len(own) > 1 or not push.application:
            return [IndexedPush(*row) for row in own], False
        rows = self._database.rows(
            _newest_first("application = ? AND principal = ? AND rank = ?"),
            push.application,
            push.principal,
            push.rank,
            limit,
        )
        return [IndexedPush(*row) for row in rows], len(rows) > len(own)

    def _trim(self) -> None:
        """The oldest entries of tenants above their share (`clientscope.fair_share`) go."""
        counts = self._database.rows("SELECT principal, address, count(*) FROM pushes GROUP BY principal, iif(principal = '', address, '')")
        used: Counter[Tenant] = Counter()
        networks: dict[Tenant, list[str]] = {}
        for principal, address, count in counts:
            tenant = tenant_of(principal or None, address)
            used[tenant] += count
            networks.setdefault(tenant, []).append(address)
        gone = 0
        for tenant, share in shares(used, self._limit).items():
            if used[tenant] <= share:
                continue
            of = "principal = ''" if is_anonymous(tenant) else "principal = ?"
            of, named = (f"{of} AND address IN {LISTED}", listed(networks[tenant])) if is_anonymous(tenant) else (of, tenant[1:])
            which = f"SELECT key FROM pushes WHERE {of} ORDER BY pushed_ms LIMIT ?"
            self._database.run(f"DELETE FROM pushes WHERE key IN ({which})", named, used[tenant] - share)
            gone += used[tenant] - share
        self._count -= gone
        self.dropped["pushes"] += gone


def _newer(before: IndexedPush | None, push: IndexedPush) -> IndexedPush:
    """Which of two under one key is the newer one."""
    if before is None:
        return push
    if (before.partition, before.offset) == (push.partition, push.offset):  # of push and result, the push is the older one
        result = before if push.judged is None else push
        return push._replace(
            pushed_ms=min(before.pushed_ms, push.pushed_ms),
            judged=result.judged,
            not_judged_by=result.not_judged_by,
        )
    if before.offset > push.offset and before.pushed_ms >= push.pushed_ms:  # a topic that is made again begins with low offsets
        return before
    return push
