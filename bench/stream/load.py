"""Load on the job: clients that push, and clients that connect and leave."""

from __future__ import annotations

import itertools
import random
import threading
import time
import uuid
from collections import deque
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any

from bench.decode import KEYS
from clientscope.client.raw import RawClient

PUSHES_PER_S, CONNECTIONS_PER_S = 100, 20
NEW_PER_S = 5
"""Applications that nobody has seen before, each with a mistake: what makes findings."""
PUSHERS = 40
"""Each waits for its push's answer, so one alone would not reach the rate."""
_NUMBERS = itertools.count(1)
"""An application is new only once, whatever the number of loads."""
_OPEN_S = 5.0
_NAMES = 8
_MISTAKE = [("acks", "0", 1, False)]
NEW = "new"
_PUSH = [(key, "17", 1, True) for key in KEYS]


@contextmanager
def every(period_s: float, act: Any) -> Iterator[None]:
    """Acts at a steady rate in a thread, for as long as the context lasts; irregularly, or it might keep step with the job's triggers."""
    over = threading.Event()

    def run() -> None:
        due = time.perf_counter()
        while not over.wait(max(0.0, due - time.perf_counter())):
            act()
            due += period_s * random.uniform(0.5, 1.5)  # noqa: S311

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


class Load:
    """All of them, from ``with`` on until its end.

    Args:
        pushes_per_s: of clients that are there from the beginning; with fewer pushes, fewer clients come and go.
    """

    def __init__(self, address: str, pushes_per_s: float = PUSHES_PER_S) -> None:
        self._address, self._pushes_per_s = address, pushes_per_s
        self._passing: deque[tuple[float, RawClient]] = deque()
        self._number = 0
        self._stack = ExitStack()

    def __enter__(self) -> Load:
        pushers = max(1, min(PUSHERS, round(PUSHERS * self._pushes_per_s / PUSHES_PER_S)))
        for number in range(pushers):
            client = self._stack.enter_context(self._connect(f"pusher-{number}"))
            self._stack.enter_context(every(pushers / self._pushes_per_s, partial(client.push_config, _PUSH)))
        self._stack.callback(self._leave, float("inf"))
        self._stack.enter_context(every(1 / min(CONNECTIONS_PER_S, self._pushes_per_s), self._pass))
        self._stack.enter_context(every(1 / min(NEW_PER_S, self._pushes_per_s / 2), self._begin))
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def _connect(self, name: str) -> RawClient:
        client = RawClient.connect(self._address, name)
        client.api_versions(name, "1.0", uuid.uuid4())
        return client

    def _pass(self) -> None:
        """One more connects, and whoever has stayed long enough leaves."""
        self._number += 1
        self._passing.append((time.monotonic(), self._connect(f"passing-{self._number % _NAMES}")))
        self._leave(time.monotonic() - _OPEN_S)

    def _begin(self) -> None:
        """An application starts for the first time, and pushes a mistake."""
        client = self._connect(f"{NEW}-{next(_NUMBERS)}-app")
        client.push_config(_MISTAKE)
        self._passing.append((time.monotonic(), client))

    def _leave(self, before: float) -> None:
        while self._passing and self._passing[0][0] < before:
            self._passing.popleft()[1].close()
