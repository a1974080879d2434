"""Lists of pushes in Kafka's order, the newest last: adding one to 50,000 doesn't visit the others."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Sequence

from streaming.findings.inputs import JudgedPush


def order(push: JudgedPush) -> tuple[int, int, str]:
    """The same after a restart, in whatever order partitions are read."""
    return push.ordered_ms, push.offset, push.client


def add(pushes: list[JudgedPush], push: JudgedPush) -> None:
    """Takes in one that isn't there."""
    if not pushes or order(pushes[-1]) < order(push):
        pushes.append(push)
    else:
        insort(pushes, push, key=order)


def discard(pushes: list[JudgedPush], push: JudgedPush) -> bool:
    """Lets go of one; whether it was there."""
    at = bisect_left(pushes, order(push), key=order)
    if at == len(pushes) or pushes[at] is not push:
        return False
    del pushes[at]
    return True


Several = JudgedPush | list[JudgedPush]
"""Pushes of which there is nearly always one: it is held as itself, since a list of one takes 88 bytes more."""


def added(known: Several | None, push: JudgedPush) -> Several:
    """What was known, and one more."""
    if known is None:
        return push
    pushes = [known] if isinstance(known, JudgedPush) else known
    add(pushes, push)
    return pushes


def without(known: Several, push: JudgedPush) -> Several | None:
    """What was known without one of it; None where nothing is left."""
    if isinstance(known, JudgedPush):
        return None if known is push else known
    discard(known, push)
    return known[0] if len(known) == 1 else known


def each(known: Several | None) -> Sequence[JudgedPush]:
    """All that is known, the newest last."""
    if known is None:
        return ()
    return (known,) if isinstance(known, JudgedPush) else known


def newest(pushes: list[JudgedPush], most: int) -> list[JudgedPush]:
    """So many at most, the newest first."""
    return pushes[: -most - 1 : -1]
