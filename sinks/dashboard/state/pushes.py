"""Judged pushes, from ``clientscope.results``, and the rules that could not judge one."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable

from clientscope.api.clients import UnjudgedRule
from clientscope.api.findings import Overall, ResultRow, result_row
from clientscope.bounded import Recent
from clientscope.model.enums import Origin
from clientscope.model.result import PushResult
from udfs.rules.engine.rule import NOT_EVALUABLE
from udfs.rules.registry import EVERY_RULE

_WHY = {rule.code: (rule.name, rule.message(NOT_EVALUABLE)) for rule in EVERY_RULE}
_BIT = {rule.code: 1 << place for place, rule in enumerate(EVERY_RULE)}
_BYTES = (len(EVERY_RULE) + 7) // 8


def pack(codes: Iterable[str]) -> bytes:
    """The rules of these codes; one that only another release's job knows is left out."""
    return sum(_BIT.get(code, 0) for code in set(codes)).to_bytes(_BYTES, "big")


def unpack(rules: bytes) -> list[UnjudgedRule]:
    """By code, each with the reason."""
    bits = int.from_bytes(rules, "big")
    return [UnjudgedRule(code=code, name=name, why=why) for code, (name, why) in sorted(_WHY.items()) if bits & _BIT[code]]


DAY_MS = 24 * 60 * 60 * 1000
_MINUTE_MS = 60_000
_RULES_LIMIT = 500
OTHER = "other"

_Source = tuple[str, int, int]


class PushTable:
    """The newest results, and counts over the last day.

    Spark delivers at least once, so a result may come again: the source's offset tells, as far back as ``seen_limit`` results.

    Attributes:
        is_counting: whether what comes is counted in ``pushes`` and ``findings``; not while old results are read, which is no burst.
        pushes: results, by origin.
        findings: rules that fired, by (code, severity).
        day: of the last day: results by origin, those that a rule could judge (``judged``), and rules that fired (``fired``).
        minutes: the same by the minute's number, of each minute that has any.
    """

    def __init__(self, limit: int = 1_000, seen_limit: int = 100_000, is_counting: bool = True) -> None:
        self.is_counting = is_counting
        self.pushes: Counter[str] = Counter()
        self.findings: Counter[tuple[str, str]] = Counter()
        self._seen: Recent[_Source, None] = Recent(seen_limit)
        self._newest: deque[tuple[int, ResultRow]] = deque(maxlen=limit)
        self._pushed: deque[tuple[int, ResultRow]] = deque(maxlen=limit)
        self.minutes: dict[int, Counter[str]] = {}
        self.day: Counter[str] = Counter()

    def apply(self, value: PushResult, arrived_ms: int) -> bool:
        """Takes one result.  Returns whether anything changed.

        Args:
            arrived_ms: Kafka's time.
        """
        source = (value.topic, value.partition, value.offset)
        if source in self._seen:
            return False
        self._seen[source] = None
        result = result_row(value, _overall(value))
        for table in (self._newest, self._pushed) if value.origin == Origin.PUSHED else (self._newest,):
            table.append((arrived_ms, result))
        self._count(value, arrived_ms)
        return True

    def expire(self, now_ms: int) -> bool:
        """Lets what is older than a day go."""
        horizon = now_ms - DAY_MS
        changed = False
        for table in (self._newest, self._pushed):
            while table and table[0][0] < horizon:
                table.popleft()
                changed = True
        for minute in [minute for minute in self.minutes if (minute + 1) * _MINUTE_MS <= horizon]:
            self.day -= self.minutes.pop(minute)
            changed = True
        return changed

    def results(self, pushed_only: bool = False) -> list[ResultRow]:
        """Newest first."""
        return [result for _, result in reversed(self._pushed if pushed_only else self._newest)]

    def _count(self, value: PushResult, arrived_ms: int) -> None:
        counted = {value.origin: 1, "judged": bool(value.rules or value.passed), "fired": len(value.rules)}
        for counts in (self.minutes.setdefault(arrived_ms // _MINUTE_MS, Counter()), self.day):
            counts.update(counted)
        if not self.is_counting:
            return
        self.pushes[value.origin] += 1
        for rule in value.rules:
            known = (rule.code, rule.severity) in self.findings or len(self.findings) < _RULES_LIMIT
            self.findings[(rule.code, rule.severity) if known else (OTHER, OTHER)] += 1


def _overall(value: PushResult) -> Overall:
    if value.rules:
        return "findings"
    if not value.passed:
        return "not_judged"
    return "partly_judged" if value.not_evaluable else "clean"
