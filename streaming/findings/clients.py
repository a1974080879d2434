"""Newest push of each client, by application, and which of the clients are connected."""

from __future__ import annotations

import logging
from bisect import insort
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import NamedTuple, cast

from clientscope.fair_share import HeldEntry, beyond
from clientscope.model.client_key import Tenant
from clientscope.severities import SEVERITIES
from streaming.findings import ordered
from streaming.findings.inputs import JudgedPush, Settings
from streaming.findings.liveness import Liveness, LivePushes
from streaming.limits import Limit, Overflow


class Variant(NamedTuple):
    """What clients with the same release of a library and the same settings have in common.

    Attributes:
        settings: clients with the same settings share one object (`clientscope.model.result.ResultReader`).
        clients: how many they are.
    """

    software_name: str
    software_version: str
    settings: Settings
    clients: int


class LiveClients:
    """Those of one application.

    Attributes:
        pushes: their newest, in the order of `streaming.findings.ordered`.
    """

    __slots__ = ("_variants", "pushes")

    def __init__(self) -> None:
        self.pushes: list[JudgedPush] = []
        self._variants: dict[tuple[str, str, int], Variant] = {}

    def __len__(self) -> int:
        return len(self.pushes)

    @property
    def variants(self) -> list[Variant]:
        """Each different one."""
        return list(self._variants.values())

    @property
    def newest_ms(self) -> int:
        """When one of them last pushed; 0 where there are none."""
        return self.pushes[-1].appended_ms if self.pushes else 0

    def add(self, push: JudgedPush) -> None:
        """A client is connected."""
        ordered.add(self.pushes, push)
        self._count(push, 1)

    def discard(self, push: JudgedPush) -> None:
        """It isn't any more, or has pushed again."""
        if ordered.discard(self.pushes, push):
            self._count(push, -1)

    def _count(self, push: JudgedPush, by: int) -> None:
        key = push.software_name, push.software_version, id(push.settings)
        known = self._variants.get(key)
        count = by + (known.clients if known else 0)
        if count:
            self._variants[key] = Variant(push.software_name, push.software_version, push.settings, count)
        else:
            del self._variants[key]


log = logging.getLogger(__name__)

MOST_CLIENTS = 200_000
"""Clients that are remembered, unless ``max_clients`` says otherwise; `clientscope.fair_share` chooses those that make room for others."""

MOST_BYTES = 256 * 1024 * 1024
"""Bytes of their pushes, as text; the same text of one tenant's clients counts once."""

MOST_APPLICATIONS = 100_000
"""That are remembered, in the same way."""

CLIENTS = Limit(
    "clients",
    MOST_CLIENTS,
    "clients",
    "findings omit some of those who have more than their share; the same above 256 MiB of what clients push, as text",
)

APPLICATIONS = Limit("applications", MOST_APPLICATIONS, "applications", "the same, with all clients of those that are forgotten")

MOST_STARTS = 8
"""Configurations of an application's starts. The oldest is forgotten: starting with it once more counts as a change (AN401)."""

FORGET_MS = 30 * 24 * 60 * 60_000
"""An application that hasn't pushed for so long is forgotten."""

_FORGET_CLIENT_MS = 60 * 60_000
"""A client is forgotten so long after it has left, or after its push where that isn't known; its application isn't."""


class Change(NamedTuple):
    """An application's last start with another configuration."""

    before: JudgedPush
    now: JudgedPush


@dataclass
class OneApplication:
    """One application.

    Attributes:
        key: `clientscope.findings.fingerprints.application_key`.
        clients: those that are remembered.
        live: those of them that are connected.
        starts: of each of its last different configurations the push of the client that started with it first, the newest last.
        change: None before it has started with another one.
        findings: fingerprint of what was ever found of it → the keys of the settings that it was found under.
        newest_ms: when it last pushed.
        tenant: of the client that pushed last.
    """

    key: str
    clients: dict[str, JudgedPush] = field(default_factory=dict)
    live: LiveClients = field(default_factory=LiveClients)
    starts: list[JudgedPush] = field(default_factory=list)
    change: Change | None = None
    findings: dict[str, tuple[str, ...]] = field(default_factory=dict)
    newest_ms: int = 0
    tenant: Tenant = ""

    def found(self, fingerprint: str, key: str) -> None:
        """Something was found of it under a setting's key."""
        keys = self.findings.get(fingerprint, ())
        if key not in keys:
            self.findings[fingerprint] = (*keys, key)


class PushedClients:
    """All of them.  Times are ms since the epoch, of Kafka's clock.

    Attributes:
        liveness: open connections; presence: which of the clients are connected, by these.
        moved: called with a client's push and whether the client is connected, whenever that changes between two pushes of it.
    """

    def __init__(self, liveness: Liveness, most: int = MOST_CLIENTS) -> None:
        self._full = Overflow(replace(CLIENTS, most=most))
        self._applications_full = Overflow(APPLICATIONS)
        self.applications: dict[str, OneApplication] = {}
        self.moved: Callable[[JudgedPush, bool], None] = lambda push, is_live: None
        self.liveness = liveness
        self.presence = LivePushes(liveness, self._moved)
        self._most = most
        self._of: dict[str, JudgedPush] = {}
        self._alike: dict[tuple[Tenant, int], tuple[int, int]] = {}  # how many clients of a tenant have the same settings, and their size
        self.held_bytes = 0

    def __len__(self) -> int:
        return len(self._of)

    @property
    def limits(self) -> tuple[Overflow, ...]:
        """What had to be forgotten because it was too much."""
        return self._full, self._applications_full

    def application(self, key: str) -> OneApplication:
        """The one of this key, which is remembered from now on."""
        return self.applications.setdefault(key, OneApplication(key))

    def apply(self, push: JudgedPush) -> tuple[OneApplication, JudgedPush | None] | None:
        """Takes in a push; returns its application, and what the same client pushed before; None for one that came before already."""
        client = push.client
        before = self.of(client)
        if before is not None and not push.position.is_after(before.position):
            return None
        if before is not None:
            self._lose(before)
        application = self.application(push.application)
        self._weigh(push, 1)
        application.clients[client] = push
        application.tenant = push.tenant
        application.newest_ms = max(application.newest_ms, push.appended_ms)
        self._of[client] = push
        if self.presence.came(push, before):
            application.live.add(push)
        if before is None:
            self._started(application, push)
        return application, before

    def _started(self, application: OneApplication, push: JudgedPush) -> None:
        """Notes the configuration that a client starts with, and the change that it makes. The order in which starts are read doesn't
        matter.
        """
        starts = application.starts
        known = next((start for start in starts if (start.rank, start.settings) == (push.rank, push.settings)), None)
        if known is not None:
            if known.ordered_ms <= push.ordered_ms:
                return
            starts.remove(known)
        insort(starts, push, key=lambda start: start.ordered_ms)
        del starts[:-MOST_STARTS]
        # A producer and a consumer may share a client.id: who pushes other keys is another client. What was seen of requests is never
        # compared with what a client says.
        for number in range(len(starts) - 1, 0, -1):
            now = starts[number]
            alike = [start for start in starts[:number] if start.rank == now.rank and start.settings.keys() == now.settings.keys()]
            if alike:
                application.change = Change(alike[-1], now)
                return

    def erase_starts(self, application: str, client: str) -> None:
        """Forgets what a client has changed, and the configurations that it started with, unless another client of its application has the
        same.
        """
        if (known := self.applications.get(application)) is None:
            return
        if known.change is not None and client in (known.change.before.client, known.change.now.client):
            known.change = None
        starts = []
        for start in known.starts:
            alike = (push for push in known.clients.values() if push.client != client and push.settings == start.settings)
            if start.client != client:
                starts.append(start)
            elif other := next(alike, None):
                starts.append(other._replace(appended_ms=start.appended_ms, ordered_ms=start.ordered_ms))
        known.starts = starts

    def is_live(self, client: str) -> bool:
        """Whether a client is connected."""
        return client in self.presence.live

    def live(self) -> dict[str, LiveClients]:
        """Of each application those of its clients that are connected; only of those that have any."""
        return {key: application.live for key, application in self.applications.items() if application.live.pushes}

    def of(self, client: str) -> JudgedPush | None:
        """What a client last pushed."""
        return self._of.get(client)

    def all(self) -> Iterable[JudgedPush]:
        """What each client that is remembered last pushed."""
        return self._of.values()

    def erase(self, client: str) -> JudgedPush | None:
        """Lets go of one client; returns what it had pushed."""
        push = self.of(client)
        if push is not None:
            self._forget([push])
        return push

    def is_forgotten(self, push: JudgedPush, now_ms: int) -> bool:
        """Whether it is time to forget the client of a push."""
        if now_ms - push.appended_ms <= _FORGET_CLIENT_MS or self.is_live(push.client):
            return False
        left_ms = self.liveness.left_ms(push.there, push)  # it pushes once, and connects again after its gateway has restarted
        return left_ms is None or now_ms - left_ms > _FORGET_CLIENT_MS

    def forget(self, now_ms: int) -> tuple[list[JudgedPush], list[OneApplication]]:
        """Forgets clients that are gone for long, and those beyond the bounds; returns the clients, and the applications, that were
        forgotten.
        """
        gone = [push for push in self.all() if self.is_forgotten(push, now_ms)]
        self._forget(gone)
        silent = [each for each in self.applications.values() if not each.clients and now_ms - each.newest_ms > FORGET_MS]
        for each in silent:
            del self.applications[each.key]
        clients, applications = self.make_room()
        return gone + clients, silent + applications

    @property
    def is_full(self) -> bool:
        """Whether there is too much of anything."""
        return len(self._of) > self._most or self.held_bytes > MOST_BYTES or len(self.applications) > MOST_APPLICATIONS

    def make_room(self) -> tuple[list[JudgedPush], list[OneApplication]]:
        """Lets go of what is too much; returns the clients, and the applications, that were forgotten."""
        gone: list[JudgedPush] = []
        if len(self._of) > self._most:
            gone += self._too_many(self._most, lambda push: 1)
        if self.held_bytes > MOST_BYTES:
            gone += self._too_many(MOST_BYTES, self._share)
        if len(self.applications) <= MOST_APPLICATIONS:
            return gone, []
        held = [HeldEntry(each.key, each.tenant, len(each.clients), each.newest_ms) for each in self.applications.values()]
        excess = beyond(held, MOST_APPLICATIONS)
        self._applications_full.dropped(excess)
        applications = [self.applications[str(each.key)] for each in excess]
        theirs = [push for each in applications for push in each.clients.values()]
        self._forget(theirs)
        for each in applications:
            del self.applications[each.key]
        return gone + theirs, applications

    def _too_many(self, room: int, size: Callable[[JudgedPush], int]) -> list[JudgedPush]:
        held = [HeldEntry(push, push.tenant, self._matters(push), push.appended_ms, size(push)) for push in self.all()]
        excess = beyond(held, room)
        log.error("more than %d clients, or %d bytes: findings omit %d of them", self._most, MOST_BYTES, len(excess))
        self._full.dropped(excess)
        gone = [cast(JudgedPush, each.key) for each in excess]
        self._forget(gone)
        return gone

    def _matters(self, push: JudgedPush) -> int:
        """How much it matters that a client is kept: whether it is connected, and then how bad it is."""
        worst = max((SEVERITIES.index(verdict.severity) for verdict in push.verdicts), default=-1)
        return worst + len(SEVERITIES) + 1 if self.is_live(push.client) else worst

    def _weigh(self, push: JudgedPush, by: int) -> None:
        """Settings are the same object where they are the same text (`clientscope.model.result.ResultReader`)."""
        key = push.tenant, id(push.settings)
        count, size = self._alike.get(key) or (0, push.size)
        if count + by:
            self._alike[key] = count + by, size
        else:
            del self._alike[key]
        if not count or not count + by:
            self.held_bytes += by * size

    def _share(self, push: JudgedPush) -> int:
        """Bytes that a client takes of those that all with the same settings do."""
        count, size = self._alike[push.tenant, id(push.settings)]
        return max(1, size // count)

    def _forget(self, pushes: Iterable[JudgedPush]) -> None:
        for push in pushes:
            if self._of.pop(push.client, None) is not None:
                self._lose(push)
                self.presence.went(push)

    def _lose(self, push: JudgedPush) -> None:
        """It is its client's newest no more."""
        self._weigh(push, -1)
        application = self.applications[push.application]
        application.live.discard(push)
        del application.clients[push.client]

    def _moved(self, push: JudgedPush, is_live: bool) -> None:
        live = self.applications[push.application].live
        (live.add if is_live else live.discard)(push)
        self.moved(push, is_live)
