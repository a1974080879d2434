"""What the times between a connection's requests show of a setting: how regular they are, or what they are multiples of.

No I/O, no clock.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from clientscope.catalog.request_settings import REGULAR_OF

INTERVALS = 8
"""Intervals between a connection's first heartbeats, and between its first commits, that are measured; of Metadata requests the last."""
MULTIPLES = 12
"""Intervals of Metadata requests that are kept: so many have to be multiples of one, of which half are multiples of twice as much."""

_NEAR = 0.05
_NEAR_MULTIPLE = 0.1
_MOST_TIMES = 20
_LEAST_ALONE = 3
"""Intervals that are the age itself, and no multiple: two that are alike may be those of new topics."""
_FRACTIONS = 1 / 2, 1 / 3, 2 / 3
_NEAR_FRACTION = 0.03


def measured(milliseconds: Sequence[int]) -> dict[str, str]:
    """The median, the range, and how many are near the median."""
    middle = round(median(milliseconds))
    return _fields(middle, milliseconds, sum(_is_near(each, middle) for each in milliseconds)) if middle else {}


def age(milliseconds: Sequence[int]) -> dict[str, str]:
    """The same of the age at which a client asks for its metadata again; empty if nothing follows.

    A client of several brokers asks any of them, so on one connection every interval is a multiple of the age; requests for new topics
    come in between, and begin it anew. Of 10,000 simulated connections three at most seem to have a multiple of their age
    (``tests/pure/clientscope/session/test_intervals.py``).
    """
    last = milliseconds[-INTERVALS:]
    if len(last) == INTERVALS:
        found = measured(last)
        middle = int(found["medianMs"])
        fractions = any(abs(each - middle * part) <= middle * _NEAR_FRACTION for each in last for part in _FRACTIONS)
        if int(found["regular"]) >= REGULAR_OF * INTERVALS and max(last) <= middle * (1 + _NEAR) and not fractions:
            return found
    return _of_multiples(milliseconds[-MULTIPLES:]) if len(milliseconds) >= MULTIPLES else {}


def _of_multiples(milliseconds: Sequence[int]) -> dict[str, str]:
    shortest = min(milliseconds)
    alone = [each for each in milliseconds if each <= shortest * (1 + 2 * _NEAR)]
    base = round(median(alone))
    times = [max(1, round(each / base)) for each in milliseconds]
    if len(alone) < _LEAST_ALONE or max(times) > _MOST_TIMES:
        return {}
    numbered = list(zip(milliseconds, times, strict=True))
    if any(abs(each - number * base) > base * (_NEAR if number == 1 else _NEAR_MULTIPLE) for each, number in numbered):
        return {}
    ages = [round(each / number) for each, number in numbered]
    return {**_fields(base, ages, len(ages)), "multiples": "true"}


def _is_near(milliseconds: int, middle: int) -> bool:
    return abs(milliseconds - middle) <= middle * _NEAR


def _fields(middle: int, milliseconds: Sequence[int], regular: int) -> dict[str, str]:
    found = {
        "medianMs": middle,
        "leastMs": min(milliseconds),
        "mostMs": max(milliseconds),
        "regular": regular,
        "intervals": len(milliseconds),
    }
    return {name: str(value) for name, value in found.items()}
