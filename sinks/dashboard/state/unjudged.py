"""Rules that could not judge a push, by the push's place on its topic."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence

from clientscope.api.clients import UnjudgedRule
from udfs.rules.engine.rule import NOT_EVALUABLE
from udfs.rules.registry import EVERY_RULE

_WHY = {rule.code: (rule.name, rule.message(NOT_EVALUABLE)) for rule in EVERY_RULE}


class UnjudgedRules:
    """Of the newest ``limit`` pushes.

    Many pushes lack the same settings, so each combination of rules is held once; a combination beyond ``combinations`` isn't kept.
    """

    def __init__(self, limit: int = 50_000, combinations: int = 5_000) -> None:
        self._limit = limit
        self._combinations = combinations
        self._held: dict[tuple[str, ...], tuple[str, ...]] = {}
        self._of: OrderedDict[tuple[int, int], tuple[str, ...]] = OrderedDict()

    def put(self, partition: int, offset: int, codes: Sequence[str]) -> None:
        """The result of the push at this place."""
        rules = tuple(codes)
        if len(self._held) < self._combinations:
            self._held.setdefault(rules, rules)
        self._of.pop((partition, offset), None)
        if rules in self._held:
            self._of[partition, offset] = self._held[rules]
        if len(self._of) > self._limit:
            self._of.popitem(last=False)

    def of(self, partition: int, offset: int) -> list[UnjudgedRule] | None:
        """By code, each with the reason; None if no result of that push is kept."""
        codes = self._of.get((partition, offset))
        if codes is None:
            return None
        known = [(code, *_WHY.get(code, ("", ""))) for code in sorted(set(codes))]
        return [UnjudgedRule(code=code, name=name, why=why) for code, name, why in known]
