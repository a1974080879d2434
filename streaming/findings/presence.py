"""Presence of the clients that pushed: whether each is connected, updated by pushes, connections and time.

A client is connected while the connection that it pushed on is open; for `GRACE_MS` after its push, until that connection is closed, since
its record may still be unread; and, being the newest one with its principal, client.id and address, while any connection with the same is
open: clients close what is idle, and which of the others is theirs isn't known.

What a client pushes beats what it logs, and that beats what was seen of its requests: while a client is connected that has declared its
configuration, other records of its names and type count as those of a client that isn't. So it counts once, and by what it says.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator

from clientscope.catalog.configs import ClientType
from clientscope.gauges import GatewayKey
from streaming.findings import ordered
from streaming.findings.closings import GRACE_MS
from streaming.findings.inputs import JudgedPush, There
from streaming.findings.liveness import Liveness

_MOST_ALIKE = 64
"""Clients of the same names that are looked through for one that has declared its configuration, the newest first."""
_TYPES = range(-1, len(ClientType))
_Alike = tuple[There, int, int]
"""Whereabouts, rank, and the type of what a client hasn't pushed."""


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
        self._alike: dict[_Alike, ordered.Several] = {}
        self._seen: dict[tuple[There, int], None] = {}
        self._shifted: dict[tuple[There, int], None] = {}
        self._on: dict[GatewayKey, dict[int, ordered.Several]] = {}
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
        numbers = self._on.setdefault(push.gateway_key, {})
        numbers[push.connection] = ordered.added(numbers.get(push.connection), push)
        key = _alike(push)
        self._alike[key] = ordered.added(self._alike.get(key), push)
        alike = ordered.each(self._alike[key])
        if push.rank:
            self._seen[push.there, push.client_type] = None
        if len(alike) > 1 and alike[-1] is push:
            self._look(alike[-2])
        is_live = self._is_live(push)
        if is_live:
            self._enter(push)
        self._settle()
        return is_live

    def went(self, push: JudgedPush) -> None:
        """Its client is forgotten."""
        self._without(push, True)
        self._settle()

    def heard(self) -> None:
        """Connections were opened or closed."""
        connections, places = self._liveness.news()
        for gateway, number in connections:
            for push in tuple(ordered.each(self._on.get(gateway, {}).get(number))):
                if push.client in self._fresh and self._liveness.closed_lately(push):
                    del self._fresh[push.client]
                self._look(push)
        for there in places:
            for alike in ((there, 0, -1), *((there, 1, client_type) for client_type in _TYPES)):
                if alike in self._alike:
                    self._look(ordered.each(self._alike[alike])[-1])
        self._settle()

    def at(self, now_ms: int) -> None:
        """Advances the time; a clock that is set back lengthens no client's grace."""
        self._now_ms = max(self._now_ms, now_ms)
        while self._deadlines and self._deadlines[0][0] <= self._now_ms:
            _, client = heapq.heappop(self._deadlines)
            push = self._fresh.get(client)
            if push is not None and push.appended_ms + GRACE_MS <= self._now_ms:
                del self._fresh[client]
                self._look(push)
        self._settle()

    def declared(self) -> Iterator[tuple[JudgedPush, JudgedPush]]:
        """What connected clients have declared, each beside what was seen of its requests at each gateway."""
        for there, client_type in self._seen:
            alike = ordered.each(self._alike.get((there, 0, -1)))
            said = [each for each in alike[-_MOST_ALIKE:] if each.client_type == client_type and each.client in self.live]
            of_requests = ordered.each(self._alike[there, 1, client_type])[-_MOST_ALIKE:]
            yield from ((said[-1], seen) for seen in of_requests if len(said) == 1)

    def is_declared(self, push: JudgedPush) -> bool:
        """Whether a client of these names and this type has pushed its configuration, and this record is only of its requests.

        Whether it is still connected doesn't matter: a record of its requests may be read after it has left.
        """
        if not push.rank:
            return False
        alike = ordered.each(self._alike.get((push.there, 0, -1)))
        return any(each.client_type == push.client_type for each in alike[-_MOST_ALIKE:])

    def _is_live(self, push: JudgedPush) -> bool:
        if self.is_declared(push):
            return False
        if push.client in self._fresh or self._liveness.is_open(push):
            return True
        return ordered.each(self._alike[_alike(push)])[-1] is push and self._liveness.has(push.there)

    def _enter(self, push: JudgedPush) -> None:
        self.live.add(push.client)
        self._shifted[push.there, push.client_type] = None

    def _leave(self, push: JudgedPush) -> None:
        if push.client in self.live:
            self.live.discard(push.client)
            self._shifted[push.there, push.client_type] = None

    def _settle(self) -> None:
        """Looks again at what is seen of clients that have begun to declare their configuration, or declare none any more."""
        while self._shifted:
            there, client_type = self._shifted.popitem()[0]
            for push in tuple(ordered.each(self._alike.get((there, 1, client_type)))):
                self._look(push)

    def _without(self, push: JudgedPush, is_next: bool) -> None:
        """Removes a push; the next newest with the same principal, client.id and address then represents them."""
        self._leave(push)
        self._fresh.pop(push.client, None)
        numbers = self._on[push.gateway_key]
        if (others := ordered.without(numbers.pop(push.connection), push)) is not None:
            numbers[push.connection] = others
        elif not numbers:
            del self._on[push.gateway_key]
        key = _alike(push)
        alike = self._alike.pop(key)
        was_newest = ordered.each(alike)[-1] is push
        if (others := ordered.without(alike, push)) is not None:
            self._alike[key] = others
            if was_newest and is_next:
                self._look(ordered.each(others)[-1])
        elif push.rank:
            self._seen.pop((push.there, push.client_type), None)

    def _look(self, push: JudgedPush) -> None:
        is_live = self._is_live(push)
        if is_live != (push.client in self.live):
            (self._enter if is_live else self._leave)(push)
            self._moved(push, is_live)


def _alike(push: JudgedPush) -> _Alike:
    return push.there, push.rank, push.client_type if push.rank else -1
