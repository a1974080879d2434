"""What is wrong, from ``clientscope.findings``: the newest record of each fingerprint."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from fnmatch import fnmatchcase
from typing import Literal, NamedTuple

from clientscope.errors import RecordError
from clientscope.findings.record import Finding, State
from clientscope.severities import SEVERITIES
from clientscope.topic_values import parse
from sinks.dashboard.models import OpenFindings

MAX_KEY_BYTES = 256
TO_DO: tuple[State, ...] = ("open", "stopped")

Suppressed = Literal["no", "only", "all"]
Confidence = Literal["high", "low", "all"]


class Choice(NamedTuple):
    """Which findings are asked for.

    Attributes:
        severity: this one or worse.
        code: a rule's, or a pattern.
    """

    states: frozenset[str] = frozenset(TO_DO)
    severity: str = SEVERITIES[0]
    code: str = ""
    confidence: Confidence = "all"
    suppressed: Suppressed = "no"


class _Kept(NamedTuple):
    """A finding as bytes, which take a seventh of the memory, and what it is chosen and ordered by."""

    urgency: tuple[int, int, int, int, int, str]
    state: State
    severity: str
    code: str
    confidence: str
    suppressed: bool
    text: bytes

    @classmethod
    def of(cls, finding: Finding) -> _Kept:
        text = finding.model_dump_json(exclude_defaults=True).encode()
        suppressed = finding.suppressed is not None
        return cls(finding.urgency, finding.state, finding.severity, finding.code, finding.confidence, suppressed, text)

    @property
    def kind(self) -> tuple[str, State, str, bool]:
        """What is counted: severity, state, confidence, and whether it is suppressed."""
        return self.severity, self.state, self.confidence, self.suppressed

    def chosen(self, choice: Choice) -> bool:
        return (
            self.state in choice.states
            and SEVERITIES.index(self.severity) >= SEVERITIES.index(choice.severity)
            and (not choice.code or fnmatchcase(self.code, choice.code))
            and choice.confidence in (self.confidence, "all")
            and (choice.suppressed == "all" or self.suppressed == (choice.suppressed == "only"))
        )


class FindingTable:
    """The findings, at most ``limit`` and ``limit_bytes`` of them: beyond that the least urgent go, and are counted in ``dropped``.

    What was dropped comes back only with its next record, or a new start.
    """

    def __init__(self, limit: int = 10_000, limit_bytes: int = 128 * 1024 * 1024) -> None:
        self.dropped: Counter[str] = Counter()
        self._limit = limit
        self._limit_bytes = limit_bytes
        self._kept: dict[bytes, _Kept] = {}
        self._counts: Counter[tuple[str, State, str, bool]] = Counter()
        self._bytes = 0
        self._ordered: list[_Kept] | None = None

    def __len__(self) -> int:
        return len(self._kept)

    def apply(self, key: bytes | None, value: bytes | None) -> bool:
        """Takes a record; a tombstone has no value.  Returns whether anything changed.

        Raises:
            RecordError: it is none of the job's.
        """
        if key is None or len(key) > MAX_KEY_BYTES:
            raise RecordError("key")
        kept = None if value is None else _Kept.of(parse(Finding, value))
        known = self._kept.get(key)
        if kept == known:
            return False
        self._ordered = None
        if known is not None:
            self._remove(key)
        if kept is not None:
            self._kept[key] = kept
            self._counts[kept.kind] += 1
            self._bytes += len(kept.text)
            # A tenth more than the limit, so that they are sorted once for many records.
            if len(self._kept) > self._limit + self._limit // 10 or self._bytes > self._limit_bytes:
                self._trim()
        return True

    def find(self, choice: Choice, offset: int, limit: int) -> tuple[list[Finding], int]:
        """A page of the findings chosen, what to fix first first; and how many are chosen."""
        chosen = [kept for kept in self._in_order() if kept.chosen(choice)]
        return [Finding.model_validate_json(kept.text) for kept in chosen[offset : offset + limit]], len(chosen)

    def counts(self) -> dict[tuple[str, State], int]:
        """How many there are by severity and state; none that is suppressed or of low confidence."""
        return {kind[:2]: count for kind, count in self._counts.items() if kind[2:] == ("high", False)}

    def overview(self) -> OpenFindings:
        """What is to be done, in a few numbers."""
        by_severity: Counter[str] = Counter()
        low_confidence = suppressed = 0
        for (severity, state, confidence, is_suppressed), count in self._counts.items():
            if state not in TO_DO or not count:
                continue
            if is_suppressed:
                suppressed += count
            elif confidence == "low":
                low_confidence += count
            else:
                by_severity[severity] += count
        return OpenFindings(total=by_severity.total(), by_severity=by_severity, low_confidence=low_confidence, suppressed=suppressed)

    def _remove(self, key: bytes) -> None:
        kept = self._kept.pop(key)
        self._counts[kept.kind] -= 1
        self._bytes -= len(kept.text)

    def _in_order(self) -> Iterable[_Kept]:
        if self._ordered is None:
            self._ordered = sorted(self._kept.values(), key=lambda kept: kept.urgency)
        return self._ordered

    def _trim(self) -> None:
        """The least urgent go until a tenth of the room is free again."""
        before = len(self._kept)
        for key, _ in sorted(self._kept.items(), key=lambda item: item[1].urgency, reverse=True):
            if len(self._kept) <= self._limit and self._bytes <= self._limit_bytes * 9 // 10:
                break
            self._remove(key)
        self.dropped["findings"] += before - len(self._kept)
