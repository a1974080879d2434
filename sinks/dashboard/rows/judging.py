"""Problems of each client on its row, by findings and judged pushes, and the index of pushes.

A finding names up to ten clients; where it has more, or is of a leak that stopped, it is of its whole application.  A client counts as
judged where a rule could judge its last push: by the push's result, which is kept for a day; a push older than that counts as judged
where anything ever was, since the job judges all pushes that are there at each of its starts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from clientscope.fair_share import HeldEntry, beyond
from clientscope.model.client_key import client_key, tenant_of
from clientscope.model.finding import Finding
from clientscope.model.principals import ANONYMOUS, authenticated
from clientscope.report.findings import is_counted
from clientscope.risks import RISKS, Risk
from clientscope.severities import SEVERITIES
from sinks.dashboard.rows.sql import LISTED, NO_CLIENT_ID, Database, listed

RESULT_KEPT_MS = 24 * 60 * 60 * 1000

Subject = tuple[str, ...]
"""(principal, client.id, address) of a client, or (principal, application); empty for none, and without authentication."""


_Row = tuple[int, str | None, str, str, str, str | None, str, int | None, int, str, str]
"""A client: number, principal, client.id, address, application, instance, cluster; then ``worst``, ``found``, ``codes`` and ``risks``."""


class Of(NamedTuple):
    """The parts of a finding that rows need: code, severity, risks and the clients that it is about."""

    code: str
    severity: int
    risks: tuple[Risk, ...]
    subjects: frozenset[Subject]


_TENANT = f"ifnull(nullif(s.principal, '{ANONYMOUS}'), '')"
"""`tenant` in SQL."""


def tenant(principal: str | None) -> str:
    """A principal as subjects have it: without authentication there is none."""
    return authenticated(principal) or ""


def of_finding(finding: Finding) -> Of | None:
    """None for one that doesn't count: closed, resolved, suppressed, or of low confidence."""
    if not is_counted(finding):
        return None
    subjects: set[Subject] = {(tenant(each.principal), each.client_id or "", each.address) for each in finding.clients}
    if finding.client_count > len(finding.clients) or finding.state == "stopped":
        applications = [finding.application, *(place.application for place in finding.places)]
        subjects |= {(tenant(each.principal), each.client_id) for each in applications if each.client_id}
    return Of(finding.code, SEVERITIES.index(finding.severity), finding.risks, frozenset(subjects))


def key_of_client(cluster: str, principal: str | None, address: str, instance: str | None) -> str | None:
    """The key of a client's push; None without an instance id, so that the client's names are used."""
    return None if instance is None else client_key(cluster, principal, address, instance, "", 0, 0)


class Judging:
    """Keeps ``worst``, ``found``, ``codes`` and ``risks`` of the clients as they should be.

    Attributes:
        has_clients: whether any is in the tables; before that there is none to judge.
    """

    def __init__(self, database: Database) -> None:
        self.has_clients = False
        self._database = database
        self._findings: dict[str, Of] = {}
        self._of: dict[Subject, set[str]] = {}
        self._fresh_from_ms = 0

    def put(self, fingerprint: str, now: Of | None) -> None:
        """A finding as it is now; None where it is gone, or doesn't count."""
        before = self._findings.pop(fingerprint, None)
        if now is not None:
            self._findings[fingerprint] = now
        if before == now:
            return
        old, new = (of.subjects if of else frozenset() for of in (before, now))
        for subject in old - new:
            left = self._of[subject]
            left.discard(fingerprint)
            if not left:
                del self._of[subject]
        for subject in new - old:
            self._of.setdefault(subject, set()).add(fingerprint)
        self._judge_again(old | new)

    def codes(self) -> set[str]:
        """Codes of all findings that count."""
        return {of.code for of in self._findings.values()}

    def fingerprints(self, principal: str, client_id: str, address: str, application: str) -> set[str]:
        """The findings of a client."""
        return self._of.get((principal, client_id, address), set()) | self._of.get((principal, application), set())

    def set_now(self, now_ms: int) -> bool:
        """Lets results older than a day count as there no more; returns whether that changed anything."""
        before, self._fresh_from_ms = self._fresh_from_ms, now_ms - RESULT_KEPT_MS
        unjudged = self._database.rows(
            "SELECT DISTINCT p.client_id, p.address FROM pushes p"
            " JOIN clients c ON c.label = iif(p.client_id = '', ?, p.client_id) AND c.address = p.address"
            " WHERE p.pushed_ms >= ? AND p.pushed_ms < ? AND p.judged IS NULL AND c.worst IS NULL",
            NO_CLIENT_ID,
            before,
            self._fresh_from_ms,
        )
        return sum(self.pushed(*names) for names in unjudged) > 0

    def of_client(
        self, principal: str | None, client_id: str, address: str, application: str, instance: str | None, cluster: str
    ) -> tuple[int | None, int, str, str]:
        """``worst``, ``found``, ``codes`` and ``risks``."""
        found = [self._findings[each] for each in self.fingerprints(tenant(principal), client_id, address, application)]
        if not found:
            key = key_of_client(cluster, principal, address, instance)
            return (-1 if self._is_judged(tenant(principal), client_id, address, key) else None), 0, "", ""
        risks = {risk for of in found for risk in of.risks}
        named = sorted({of.code for of in found}), [risk for risk in RISKS if risk in risks]
        codes, at_risk = (" ".join(["", *each, ""]) for each in named)
        return max(of.severity for of in found), len(found), codes, at_risk.rstrip() and at_risk

    def pushed(self, client_id: str, address: str) -> bool:
        """Something was pushed, or judged, there; returns whether that changed anything."""
        return self._write(self._rows("c.label = ? AND c.address = ?", client_id or NO_CLIENT_ID, address))

    def _is_judged(self, principal: str, client_id: str, address: str, key: str | None) -> bool:
        row = self._database.row("SELECT judged, pushed_ms FROM pushes WHERE key = ?", key) if key else None
        if row is None:
            row = self._database.row(
                "SELECT judged, pushed_ms FROM pushes WHERE client_id = ? AND address = ? AND principal = ?"
                " ORDER BY pushed_ms DESC LIMIT 1",
                client_id,
                address,
                principal,
            )
        if row is None:
            return False
        judged, pushed_ms = row
        return bool(judged) if judged is not None else pushed_ms < self._fresh_from_ms and bool(self._findings)

    def _judge_again(self, subjects: Iterable[Subject]) -> None:
        for subject in subjects:
            if len(subject) == 2:
                principal, application = subject
                self._write(self._rows(f"c.application = ? AND {_TENANT} = ?", application, principal))
            else:
                principal, client_id, address = subject
                self._write(self._rows(f"c.label = ? AND c.address = ? AND {_TENANT} = ?", client_id or NO_CLIENT_ID, address, principal))

    def _rows(self, condition: str, *parameters: str | int) -> list[_Row]:
        if not self.has_clients:
            return []
        return self._database.rows(
            "SELECT c.id, s.principal, ifnull(c.client_id, ''), c.address, ifnull(c.application, ''), c.instance, s.cluster,"
            f" c.worst, c.found, c.codes, c.risks FROM clients c JOIN shapes s ON s.id = c.shape WHERE {condition}",
            *parameters,
        )

    def _write(self, rows: Iterable[_Row]) -> bool:
        changed = False
        for client, principal, client_id, address, application, instance, cluster, *before in rows:
            now = self.of_client(principal, client_id, address, application, instance, cluster)
            if now != tuple(before):
                self._database.run("UPDATE clients SET worst = ?, found = ?, codes = ?, risks = ? WHERE id = ?", *now, client)
                changed = True
        return changed


class IndexedPush(NamedTuple):
    """One client's newest push; texts are empty for none.

    Attributes:
        key: `clientscope.model.client_key.client_key` of the client.
        pushed_ms: Kafka's time.
        instance: its instance id; None where it has none.
        judged: whether a rule could judge it; None where its result was not read.
        not_judged_by: the rules that could not (`sinks.dashboard.state.pushes`); None likewise.
        rank: `clientscope.model.enums.rank_of` its origin: what a client pushes counts before what was seen of it.
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
    """

    def __init__(self, database: Database, judging: Judging, limit: int) -> None:
        self.dropped: Counter[str] = Counter()
        self._database = database
        self._judging = judging
        self._limit = limit
        self._count = 0

    def put(self, push: IndexedPush) -> None:
        """A push, or its result, whichever comes first makes the row; its client is judged again."""
        row = self._database.row("SELECT * FROM pushes WHERE key = ?", push.key)
        self._database.run(_INSERT, *(push if row is None else _newer(IndexedPush(*row), push)))
        self._count += row is None
        if self._count > self._limit:
            self._trim()
        self._judging.pushed(push.client_id, push.address)

    def remove(self, key: str) -> None:
        """A tombstone, under its record's key: that client is gone for long."""
        for client_id, address in self._database.rows("DELETE FROM pushes WHERE key = ? RETURNING client_id, address", key):
            self._count -= 1
            self._judging.pushed(client_id, address)

    def of_client(self, principal: str, client_id: str, address: str, key: str | None) -> IndexedPush | None:
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
        rows = self._database.rows("SELECT key, principal, address, pushed_ms FROM pushes")
        held = (HeldEntry(key, tenant_of(principal or None, address), 0, pushed_ms) for key, principal, address, pushed_ms in rows)
        gone = [each.key for each in beyond(held, self._limit)]
        self._database.run(f"DELETE FROM pushes WHERE key IN {LISTED}", listed(gone))
        self._count -= len(gone)
        self.dropped["pushes"] += len(gone)


def _newer(before: IndexedPush, push: IndexedPush) -> IndexedPush:
    """Which of two under one key is the newer one."""
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
