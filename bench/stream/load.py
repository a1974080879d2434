"""Load on the job: clients that push, and clients that connect and leave."""

from __future__ import annotations

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
_OPEN_S = 5.0
_NAMES = 8
_MISTAKE = [("acks", "0", 1, False)]
NEW = "new"
_PUSH = [(key, "17", 1, True) for key in KEYS]


@contextmanager
def every(period_s: float, act: Any) -> Iterator[None]:
    """Acts at a fixed rate in a thread, for as long as the context lasts."""
    over = threading.Event()

    def run() -> None:
        due = time.perf_counter()
        while not over.wait(max(0.0, due - time.perf_counter())):
            act()
            due += period_s

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


class Load:
    """All of them, from ``with`` on until its end."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._passing: deque[tuple[float, RawClient]] = deque()
        self._number = self._begun = 0
        self._stack = ExitStack()

    def __enter__(self) -> Load:
        for number in range(PUSHERS):
            client = self._stack.enter_context(self._connect(f"pusher-{number}"))
            self._stack.enter_context(every(PUSHERS / PUSHES_PER_S, partial(client.push_config, _PUSH)))
        self._stack.callback(self._leave, float("inf"))
        self._stack.enter_context(every(1 / CONNECTIONS_PER_S, self._pass))
        self._stack.enter_context(every(1 / NEW_PER_S, self._begin))
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
        self._begun += 1
        client = self._connect(f"{NEW}-{self._begun}-app")
        client.push_config(_MISTAKE)
        self._passing.append((time.monotonic(), client))

    def _leave(self, before: float) -> None:
        while self._passing and self._passing[0][0] < before:
            self._passing.popleft()[1].close()
