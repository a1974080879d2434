"""Exponential backoff: the pause before a failed operation is retried."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

_DOUBLINGS = 100
"""More than any wait has, and less than a float can hold."""


@dataclass(frozen=True, slots=True)
class Backoff:
    """Pauses that double from ``first_s`` to ``longest_s``, each spread by chance so that not all come back at once.

    As org.apache.kafka.common.utils.ExponentialBackoff (KIP-580): the spread is of the pause once that is bounded, and is bounded again.

    Attributes:
        spread: least and greatest part of a pause that is waited; (1, 1) is the pause itself.
        least_s: no pause is shorter.
        random: from 0 to 1.
    """

    first_s: float
    longest_s: float
    spread: tuple[float, float] = (1.0, 1.0)
    least_s: float = 0.0
    random: Callable[[], float] = random.random

    def seconds(self, retry: int) -> float:
        """How long to wait before a retry; the first is number 0."""
        pause = min(self.longest_s, self.first_s * 2.0 ** min(retry, _DOUBLINGS))
        low, high = self.spread
        return max(self.least_s, min(self.longest_s, pause * (low + (high - low) * self.random())))
