"""Current findings, from ``clientscope.findings``: the newest record of each fingerprint."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple, cast

from clientscope.api.findings import FindingGroup
from clientscope.api.overview import OpenFindings
from clientscope.fair_share import HeldEntry, beyond
from clientscope.model.client_key import Tenant, tenant_of
from clientscope.model.codec import decode, encode
from clientscope.model.finding import TO_DO, Finding, State
from clientscope.query import Key, Query, term_text
from clientscope.report.findings import FindingChoice, Searched, searched, sort_findings
from clientscope.severities import SEVERITIES
from sinks.dashboard.rows.judging import Judging, of_finding

FindingGroupBy = Literal["code", "principal", "owner", "severity", "risk"]


class _Kept(NamedTuple):
    """A finding as bytes, which take a seventh of the memory, and what it is searched and ordered by."""

    searched: Searched
    urgency: tuple[int, int, int, int, int, str]
    tenant: Tenant
    text: bytes

    @classmethod
    def of(cls, finding: Finding) -> _Kept:
        return cls(
            searched(finding),
            finding.urgency,
            tenant_of(finding.application.principal, finding.clients[0].address if finding.clients else ""),
            encode(finding),
        )

    def finding(self) -> Finding:
        return decode(Finding, self.text)

    def groups(self, group: FindingGroupBy) -> tuple[str | None, ...]:
        """The groups that it is in; one at least."""
        found = self.searched[group]
        return (found or (None,)) if isinstance(found, tuple) else (found,)


class FindingTable:
    """The findings, at most ``limit`` and ``limit_bytes`` of them; beyond that some are left out, and counted in ``dropped``.

    Both are one bound: of bytes, of which each finding takes as many as there are for it if there are ``limit``, or more if it is larger.

    The least urgent findings of tenants above their share go (`clientscope.fair_share`); ``clientscope``'s own stay.
    What was dropped comes back only with its next record, or a new start.

    Attributes:
        held_bytes: of all records, as they count.
    """

    def __init__(self, judging: Judging, limit: int, limit_bytes: int = 128 * 1024 * 1024) -> None:
        self.dropped: Counter[str] = Counter()
        self._judging = judging
        self._limit_bytes = limit_bytes
        self._least_bytes = limit_bytes // limit
        self._kept: dict[str, _Kept] = {}
        """By fingerprint."""
        self.held_bytes = 0
        self._ordered: list[_Kept] | None = None

    def __len__(self) -> int:
        return len(self._kept)

    def apply(self, fingerprint: str, value: bytes | None) -> bool:
        """Takes a record under its key; a tombstone has no value.  Returns whether anything changed.

        Raises:
            RecordError: the job didn't write it.
        """
        finding = None if value is None else decode(Finding, value)
        kept = None if finding is None else _Kept.of(finding)
        known = self._kept.get(fingerprint)
        if kept == known:
            return False
        self._ordered = None
        self._judging.put(fingerprint, None if finding is None else of_finding(finding))
        if known is not None:
            self._remove(fingerprint)
        if kept is not None:
            self._kept[fingerprint] = kept
            self.held_bytes += self._bytes(kept)
            if self.held_bytes > self._limit_bytes:
                self._trim()
        return True

    def find(self, choice: FindingChoice, query: Query, sort: Sequence[Key], offset: int, limit: int) -> tuple[list[Finding], int]:
        """A page of the findings chosen, what to fix first first unless ``sort`` says otherwise; and how many are chosen."""
        chosen = self._chosen(choice, query)
        sort_findings(chosen, sort, lambda kept: kept.searched)
        return [kept.finding() for kept in chosen[offset:][:limit]], len(chosen)

    def grouped(self, choice: FindingChoice, query: Query, group: FindingGroupBy) -> list[FindingGroup]:
        """The findings chosen, put together; worst first."""
        of: dict[str | None, list[_Kept]] = {}
        for kept in self._chosen(choice, query):
            for label in kept.groups(group):
                of.setdefault(label, []).append(kept)
        made = [_group(group, label, members) for label, members in of.items()]
        return sorted(made, key=lambda each: (-SEVERITIES.index(each.worst), -each.to_do, -each.findings, each.label))

    def one(self, fingerprint: str) -> Finding | None:
        """The finding of this fingerprint."""
        kept = self._kept.get(fingerprint)
        return None if kept is None else kept.finding()

    def _chosen(self, choice: FindingChoice, query: Query) -> list[_Kept]:
        return [kept for kept in self._in_order() if choice.takes(query, kept.searched)]

    def counts(self) -> dict[tuple[str, State], int]:
        """How many there are by severity and state; none that is suppressed or of low confidence."""
        of_each = (kept.searched for kept in self._kept.values())
        return Counter((of["severity"], of["state"]) for of in of_each if of["confidence"] == "high" and not of["suppressed"])

    def overview(self) -> OpenFindings:
        """What is to be done, in a few numbers."""
        to_do = [kept.searched for kept in self._kept.values() if kept.searched["state"] in TO_DO]
        shown = [of for of in to_do if not of["suppressed"]]
        sure = [of for of in shown if of["confidence"] == "high"]
        return OpenFindings(
            total=len(sure),
            by_severity=dict(Counter(of["severity"] for of in sure)),
            low_confidence=len(shown) - len(sure),
            suppressed=len(to_do) - len(shown),
            to_rotate=sum(of["kind"] == "leak" for of in sure),
        )

    def _remove(self, fingerprint: str) -> None:
        self.held_bytes -= self._bytes(self._kept.pop(fingerprint))

    def _in_order(self) -> Iterable[_Kept]:
        if self._ordered is None:
            self._ordered = sorted(self._kept.values(), key=lambda kept: kept.urgency)
        return self._ordered

    def _bytes(self, kept: _Kept) -> int:
        return max(len(kept.text), self._least_bytes)

    def _trim(self) -> None:
        # What has ended goes first, then by severity; of equals the one that the fewest clients have.
        held = [
            HeldEntry(key, kept.tenant, -_rank(kept), kept.searched["clients"], self._bytes(kept))
            for key, kept in self._kept.items()
            if kept.searched["kind"] != "operation"
        ]
        gone = beyond(held, self._limit_bytes)
        for each in gone:
            fingerprint = cast(str, each.key)
            self._remove(fingerprint)
            self._judging.put(fingerprint, None)
        self.dropped["findings"] += len(gone)


def _rank(kept: _Kept) -> int:
    """The smaller, the more urgent."""
    sure, state, severity, *_ = kept.urgency
    return (sure * 10 + state) * 10 + severity


def _group(group: FindingGroupBy, label: str | None, members: list[_Kept]) -> FindingGroup:
    worst = max(members, key=lambda kept: SEVERITIES.index(kept.searched["severity"]))
    of_rule = worst.finding() if group == "code" else None
    return FindingGroup(
        label="–" if label is None else label,
        q=term_text(group, label),
        findings=len(members),
        worst=worst.searched["severity"],
        clients=sum(kept.searched["clients"] for kept in members),
        to_do=sum(kept.searched["state"] in TO_DO for kept in members),
        name=of_rule.name if of_rule else None,
        use_instead=of_rule.use_instead if of_rule else None,
    )
