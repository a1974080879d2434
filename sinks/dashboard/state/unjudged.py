"""Rules that could not judge a push, as a few bytes: a bit for each rule, in the registry's order."""

from __future__ import annotations

from collections.abc import Iterable

from clientscope.api.clients import UnjudgedRule
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
