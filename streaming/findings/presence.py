"""Presence of the clients that pushed: whether each is connected, updated by pushes, connections and time.

A client is connected while the connection that it pushed on is open; for `GRACE_MS` after its push, until that connection is closed, since
its record may still be unread; and, being the newest one with its principal, client.id and address, while any connection with the same is
open: clients close what is idle, and which of the others is theirs isn't known.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable

from streaming.findings import ordered
from streaming.findings.closings import GRACE_MS
from streaming.findings.inputs import Gateway, JudgedPush, There
from streaming.findings.liveness import Liveness


class Presence:
    """Of the newest push of each client.  Times are ms since the epoch.

    Args:
        moved: called with a push and whether its client is connected, each time that this changes while it is known.

    Attributes:
        live: the clients that are connected.
    """

    def __init__(self, liveness: Liveness, moved: Callable[[JudgedPush, bool], None]) -> None:
        self.live: set[str] = set()
        self._liveness = liveness
        self._moved = moved
        self._there: dict[There, list[JudgedPush]] = {}
        self._on: dict[Gateway, dict[int, list[JudgedPush]]] = {}
        self._fresh: dict[str, JudgedPush] = {}
        self._deadlines: list[tuple[int, str]] = []
        self._now_ms = 0

    def came(self, push: JudgedPush, before: JudgedPush | None) -> bool:
        """It is its client's newest from now on, in place of the one before; whether the client is connected."""
        self._now_ms = max(self._now_ms, push.appended_ms)
        if before is not None:
            self._without(before, before.there != push.there)
        if self._now_ms - push.appended_ms < GRACE_MS and not self._liveness.closed_lately(push):
            self._fresh[push.client] = push
            heapq.heappush(self._deadlines, (push.appended_ms + GRACE_MS, push.client))
        ordered.add(self._on.setdefault(push.gateway_key, {}).setdefault(push.connection, []), push)
        alike = self._there.setdefault(push.there, [])
        ordered.add(alike, push)
        if len(alike) > 1 and alike[-1] is push:
            self._look(alike[-2])
        is_live = self._is_live(push)
        if is_live:
            self.live.add(push.client)
        return is_live

    def went(self, push: JudgedPush) -> None:
        """Its client is forgotten."""
        self._without(push, True)

    def heard(self) -> None:
        """Connections were opened or closed."""
        connections, places = self._liveness.news()
        for gateway, number in connections:
            for push in tuple(self._on.get(gateway, {}).get(number, ())):
                if push.client in self._fresh and self._liveness.closed_lately(push):
                    del self._fresh[push.client]
                self._look(push)
        for there in places:
            if (alike := self._there.get(there)) is not None:
                self._look(alike[-1])

    def at(self, now_ms: int) -> None:
        """Advances the time; a clock that is set back lengthens no client's grace."""
        self._now_ms = max(self._now_ms, now_ms)
        while self._deadlines and self._deadlines[0][0] <= self._now_ms:
            _, client = heapq.heappop(self._deadlines)
            push = self._fresh.get(client)
            if push is not None and push.appended_ms + GRACE_MS <= self._now_ms:
                del self._fresh[client]
                self._look(push)

    def _is_live(self, push: JudgedPush) -> bool:
        if push.client in self._fresh or self._liveness.is_open(push):
            return True
        return self._there[push.there][-1] is push and self._liveness.has(push.there)

    def _without(self, push: JudgedPush, is_next: bool) -> None:
        """Removes a push; the next newest with the same principal, client.id and address then represents them."""
        self.live.discard(push.client)
        self._fresh.pop(push.client, None)
        numbers = self._on[push.gateway_key]
        ordered.discard(numbers[push.connection], push)
        if not numbers[push.connection]:
            del numbers[push.connection]
            if not numbers:
                del self._on[push.gateway_key]
        alike = self._there[push.there]
        was_newest = alike[-1] is push
        ordered.discard(alike, push)
        if not alike:
            del self._there[push.there]
        elif was_newest and is_next:
            self._look(alike[-1])

    def _look(self, push: JudgedPush) -> None:
        is_live = self._is_live(push)
        if is_live != (push.client in self.live):
            (self.live.add if is_live else self.live.discard)(push.client)
            self._moved(push, is_live)
