"""What each client last pushed, by application, and who of them is connected."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from sinks.findings.arrived import Push, Settings
from sinks.findings.liveness import Liveness

log = logging.getLogger(__name__)

MOST_CLIENTS = 200_000
"""That are remembered; beyond, those that pushed longest ago are forgotten first."""

FORGET_MS = 30 * 24 * 60 * 60_000
"""An application that hasn't pushed for so long is forgotten."""

_FORGET_CLIENT_MS = 60 * 60_000
"""A client that isn't connected is forgotten so long after its push; its application isn't."""

_STARTS = 8
"""Configurations of its last starts that are kept of an application."""


@dataclass(frozen=True)
class Start:
    """A configuration that an application started with and had not had lately."""

    appended_ms: int
    settings: Settings


@dataclass
class OneApplication:
    """One application.

    Attributes:
        key: `clientscope.findings.fingerprints.application_key`.
        clients: those that are remembered.
        starts: its last different configurations, the newest last.
        findings: fingerprints of what was ever found of it.
        newest_ms: when it last pushed.
    """

    key: str
    clients: dict[str, Push] = field(default_factory=dict)
    starts: list[Start] = field(default_factory=list)
    findings: set[str] = field(default_factory=set)
    newest_ms: int = 0


class Clients:
    """All of them.  Times are ms since the epoch, of Kafka's clock."""

    def __init__(self, liveness: Liveness, most: int = MOST_CLIENTS) -> None:
        self.applications: dict[str, OneApplication] = {}
        self._liveness = liveness
        self._most = most
        self._of: dict[str, str] = {}
        self._newest_there: dict[tuple[str, str | None, str], Push] = {}

    def __len__(self) -> int:
        return len(self._of)

    def application(self, key: str) -> OneApplication:
        """The one of this key, which is remembered from now on."""
        return self.applications.setdefault(key, OneApplication(key))

    def apply(self, push: Push) -> tuple[OneApplication, Push | None] | None:
        """Takes in a push; returns its application, and what the same client pushed before; None for one that came before already."""
        client = push.client
        earlier = self._of.get(client)
        before = self.applications[earlier].clients.get(client) if earlier is not None else None
        if before is not None and push.place <= before.place:
            return None
        if earlier is not None and earlier != push.application:
            self.applications[earlier].clients.pop(client, None)
        application = self.application(push.application)
        application.clients[client] = push
        application.newest_ms = max(application.newest_ms, push.appended_ms)
        self._of[client] = push.application
        there = push.cluster, push.client_id, push.address
        newest = self._newest_there.get(there)
        if newest is None or newest.place <= push.place:
            self._newest_there[there] = push
        return application, before

    def started(self, application: OneApplication, push: Push) -> Start | None:
        """Notes the configuration that a push has; returns the one before it, if this one is new."""
        starts = application.starts
        if any(start.settings == push.settings for start in starts):
            return None
        # A producer and a consumer may share a client.id: who pushes other keys is another client.
        alike = [start for start in starts if start.settings.keys() == push.settings.keys()]
        if alike and push.appended_ms < alike[-1].appended_ms:
            return None
        starts.append(Start(push.appended_ms, push.settings))
        del starts[:-_STARTS]
        return alike[-1] if alike else None

    def is_live(self, push: Push, now_ms: int) -> bool:
        """Whether the client that pushed is still there."""
        newest = self._newest_there.get((push.cluster, push.client_id, push.address))
        return self._liveness.is_live(push, newest is push or newest is None, now_ms)

    def live(self, application: OneApplication, now_ms: int) -> list[Push]:
        """The newest pushes of its clients that are connected."""
        return [push for push in application.clients.values() if self.is_live(push, now_ms)]

    def known(self, application: str, client: str) -> Push | None:
        """What a client last pushed as this application."""
        of = self.applications.get(application)
        return None if of is None else of.clients.get(client)

    def forget(self, now_ms: int) -> tuple[list[Push], list[OneApplication]]:
        """Lets go of who is gone for long, and of who is too many; returns the clients, and the applications, that were forgotten."""
        gone = [push for push in self._all() if now_ms - push.appended_ms > _FORGET_CLIENT_MS and not self.is_live(push, now_ms)]
        self._forget(gone)
        if (excess := len(self._of) - self._most) > 0:
            log.error("more than %d clients: findings of those that pushed longest ago are told without them", self._most)
            oldest = sorted(self._all(), key=lambda push: push.place)[:excess]
            self._forget(oldest)
            gone += oldest
        silent = [each for each in self.applications.values() if not each.clients and now_ms - each.newest_ms > FORGET_MS]
        for each in silent:
            del self.applications[each.key]
        return gone, silent

    def _all(self) -> Iterator[Push]:
        for application in self.applications.values():
            yield from application.clients.values()

    def _forget(self, pushes: Iterable[Push]) -> None:
        for push in pushes:
            self._of.pop(push.client, None)
            self.applications[push.application].clients.pop(push.client, None)
            there = push.cluster, push.client_id, push.address
            if self._newest_there.get(there) is push:
                del self._newest_there[there]
