"""Lists of pushes in Kafka's order, the newest last: adding one to 50,000 doesn't visit the others."""

from __future__ import annotations

from bisect import bisect_left, insort

from streaming.findings.inputs import JudgedPush


def order(push: JudgedPush) -> tuple[int, int, str]:
    """The same after a restart, in whatever order partitions are read."""
    return push.appended_ms, push.offset, push.client


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


def newest(pushes: list[JudgedPush], most: int) -> list[JudgedPush]:
    """So many at most, the newest first."""
    return pushes[: -most - 1 : -1]
