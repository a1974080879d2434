"""Times of retries."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from clientscope.backoff import Backoff
from sinks.alerts.sending import SendResult

BASE_S = 2.0
LONGEST_S = 600.0
LONGEST_RETRY_AFTER_S = 3_600.0
"""What a receiver may ask for; beyond, it is asked again."""

Message = TypeVar("Message")


def delay_s(attempts: int, result: SendResult, random: Callable[[], float]) -> float:
    """Seconds until the next attempt: twice as long each time, half of it by chance, and never before a Retry-After.

    Args:
        attempts: those that failed, from 1.
        random: from 0 to 1.
    """
    wait = Backoff(BASE_S, LONGEST_S, spread=(0.5, 1.0), random=random).seconds(attempts - 1)
    if result.retry_after_s is None:
        return wait
    # A moment after what was asked for, by chance, so that not everybody comes back at once.
    return max(wait, min(result.retry_after_s, LONGEST_RETRY_AFTER_S) * (1 + random() / 10))


@dataclass(order=True)
class Waiting(Generic[Message]):
    """A message, and when it is due."""

    due: float
    number: int
    message: Message = field(compare=False)
    attempts: int = field(default=0, compare=False)
    offered: float = field(default=0.0, compare=False)


class Schedule(Generic[Message]):
    """Messages of one receiver, each with a schedule of its own, so that one that it never takes holds up no other.  Bounded.

    Times are seconds of any clock that never goes back.
    """

    def __init__(self, random: Callable[[], float], limit: int, max_attempts: int) -> None:
        self._random = random
        self._limit = limit
        self._max_attempts = max_attempts
        self._heap: list[Waiting[Message]] = []
        self._number = 0
        self._not_before = 0.0

    def __len__(self) -> int:
        return len(self._heap)

    def room(self) -> bool:
        """Whether it takes one more."""
        return len(self._heap) < self._limit

    def add(self, message: Message, now: float) -> None:
        """A new message, due at once.  The caller has asked for `room`."""
        self._number += 1
        heapq.heappush(self._heap, Waiting(now, self._number, message, 0, now))

    def next_due(self) -> float | None:
        """When there is something to do; None for nothing."""
        return max(self._heap[0].due, self._not_before) if self._heap else None

    def take(self, now: float) -> Waiting[Message] | None:
        """The message that is due, if one is; it is out until `failed` puts it back."""
        due = self.next_due()
        return heapq.heappop(self._heap) if due is not None and due <= now else None

    def failed(self, waiting: Waiting[Message], result: SendResult, now: float) -> bool:
        """Puts it back for later; False if its attempts are used up. A Retry-After also holds for the receiver's other messages."""
        waiting.attempts += 1
        wait = delay_s(waiting.attempts, result, self._random)
        if result.retry_after_s is not None:
            self._not_before = max(self._not_before, now + wait)
        if waiting.attempts >= self._max_attempts:
            return False
        waiting.due = now + wait
        heapq.heappush(self._heap, waiting)
        return True

    def clear(self) -> None:
        """Forgets all."""
        self._heap.clear()
