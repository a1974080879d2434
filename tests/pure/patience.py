"""Waiting for what comes in its own time, under one limit."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

T = TypeVar("T")

LIMIT_S = float(os.environ.get("TEST_LIMIT_S", "180"))
"""The one limit of all tests: long enough for a busy machine, and free where all is well."""

_MOST_PAUSE_S = 0.25


def until(look: Callable[[], T], *expected: Any, why: str = "") -> T:
    """What `look` returns, as soon as that is ``expected``; if nothing is given, as soon as it is true.

    Raises:
        AssertionError: not within `LIMIT_S`; says what was seen last.
    """
    deadline, pause_s = time.monotonic() + LIMIT_S, 0.02
    while not ((seen := look()) == expected[0] if expected else (seen := look())):
        if time.monotonic() > deadline:
            wanted = "".join(f", not {each!r:.2000}" for each in expected)
            raise AssertionError(f"{why or 'it did not come'}: after {LIMIT_S:.0f} s there was {seen!r:.2000}{wanted}")
        time.sleep(pause_s)
        pause_s = min(1.2 * pause_s, _MOST_PAUSE_S)  # what a long wait looks at has its own use for the core
    return seen


def eventually(holds: Callable[[], Any]) -> bool:
    """Whether a condition comes true within `LIMIT_S`."""
    try:
        until(holds)
    except AssertionError:
        return False
    return True


@contextmanager
def meanwhile(act: Callable[[], object], every_s: float = 0.02) -> Iterator[None]:
    """Acts again and again, in a thread of its own, for as long as the context lasts."""
    over = threading.Event()

    def acting() -> None:
        while not over.wait(every_s):
            act()

    thread = threading.Thread(target=acting)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
