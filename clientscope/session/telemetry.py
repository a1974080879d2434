"""Telemetry that the gateway asks clients for, where the broker doesn't (KIP-714): who is asked for what, and when each may push.

It is what Kafka's ClientMetricsManager does: an instance is known by its id, whichever connection it uses; a client that changes its
subscription's id, pushes too early, too much or in a compression that isn't accepted gets the error that a broker gives.

Not every client that speaks KIP-714 survives it, so only those are asked that do (`survives`). All others see the answers of their broker.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from time import monotonic
from typing import TYPE_CHECKING
from uuid import UUID, uuid4

from clientscope.bounded import Recent
from clientscope.catalog.dialects import LIBRDKAFKA
from clientscope.catalog.dialects.java import JAVA
from clientscope.config import GatewaySettings
from clientscope.wire.codes import (
    INVALID_REQUEST,
    NONE,
    TELEMETRY_TOO_LARGE,
    THROTTLING_QUOTA_EXCEEDED,
    UNKNOWN_SUBSCRIPTION_ID,
    UNSUPPORTED_COMPRESSION_TYPE,
)
from clientscope.wire.telemetry import GZIP, UNCOMPRESSED, PushedMetrics, crc32c

if TYPE_CHECKING:
    from clientscope.session.state import Identity

MAX_BYTES = 60_000
"""The longest compressed push that is taken: a request of it is short enough to be read (`READ_LIMIT`). Java's are 3 KB."""

MOST_INSTANCES = 16_384
"""Clients whose last requests are remembered, as many as a broker remembers. One that is forgotten may push once too early."""

_NOBODYS_INTERVAL_MS = 300_000
"""A client that isn't asked for anything asks again after so long: Kafka's own default."""

_RESERVED = frozenset({0, 1})
"""Ids that Kafka reserves: no client has one."""

_RELEASE = r"(\d{1,4})\.(\d{1,4})\.(\d{1,4})"
_JAVA = re.compile(_RELEASE)
_LIBRDKAFKA = re.compile(_RELEASE)
_BINDING = re.compile(rf"[\w.]{{1,40}}-(?:lib)?rdkafka-{_RELEASE}")


@lru_cache(maxsize=1024)
def survives(software_name: str, software_version: str) -> bool:
    """Whether a client of this release can be asked; one whose version has another form can't.

    - Java from 3.7.2 on, 3.8.0 excepted: earlier ones may take 30 s to close (KAFKA-17731).
    - librdkafka from 2.10.1 on, and its bindings: 2.5.0 aborts the application if no metric matches, and up to 2.10.0 the client
      disconnects if only one kind of client matches.
    """
    if software_name in JAVA.software:
        found = _JAVA.fullmatch(software_version)
        release = tuple(map(int, found.groups())) if found else ()
        return release >= (3, 7, 2) and release != (3, 8, 0)
    if software_name in LIBRDKAFKA.software:
        plain = _LIBRDKAFKA.fullmatch(software_version) if software_name == LIBRDKAFKA.software[0] else None
        found = plain or _BINDING.fullmatch(software_version)
        return found is not None and tuple(map(int, found.groups())) >= (2, 10, 1)
    return False


@dataclass(frozen=True)
class Subscription:
    """What a client is asked for.

    Attributes:
        prefixes: of metrics' names; ``*`` alone is all, and none is nothing.
    """

    prefixes: tuple[str, ...] = ()
    interval_ms: int = _NOBODYS_INTERVAL_MS

    @cached_property
    def _checksum(self) -> int:
        return crc32c(f"[{', '.join(self.prefixes)}]{self.interval_ms}".encode())

    def id_of(self, instance_id: UUID) -> int:
        """The subscription's id for a client, as Kafka computes it: CRC-32C and the hash of Kafka's Uuid."""
        folded = (instance_id.int >> 64) ^ (instance_id.int & 0xFFFFFFFF_FFFFFFFF)
        value = self._checksum ^ (folded >> 32) ^ (folded & 0xFFFFFFFF)
        return value - (1 << 32) if value >= 1 << 31 else value


NOTHING_ASKED = Subscription()


@dataclass(frozen=True)
class TelemetryPlan:
    """Who is asked for what.

    Attributes:
        client_id, principal, software: patterns, as in ``orders-*``; an empty one is every client, and what isn't known fits ``*`` alone.
    """

    subscription: Subscription = NOTHING_ASKED
    client_id: str = ""
    principal: str = ""
    software: str = ""

    @classmethod
    def of(cls, settings: GatewaySettings) -> TelemetryPlan:
        """As the settings have it."""
        prefixes = tuple(filter(None, (prefix.strip() for prefix in settings.client_telemetry_metrics.split(","))))
        return cls(
            Subscription(("*",) if "*" in prefixes else prefixes, settings.client_telemetry_interval_ms),
            settings.client_telemetry_client_id,
            settings.client_telemetry_principal,
            settings.client_telemetry_software,
        )

    def asks(self, identity: Identity) -> bool:
        """Whether this client is one of them; its principal counts as not known before it has authenticated."""
        return identity.fits(self.client_id, self.principal, self.software)


@dataclass(slots=True)
class _Instance:
    """One client.

    Attributes:
        last_s: when a request of either kind was last in time; None before the first.
        subscribed: whether it has got its subscription since its last push: then the next may come at any time, since clients spread
            their first ones.
        error: the last answer to a push.
        terminating: whether it has said that it pushes no more.
    """

    subscription: Subscription
    last_s: float | None = None
    subscribed: bool = False
    error: int = NONE
    terminating: bool = False

    def may_ask(self, now_s: float) -> bool:
        """Whether it is time to ask what to measure, or an error has asked for it; if so, it counts as asked."""
        may = self._is_due(now_s) or self.error in (UNKNOWN_SUBSCRIPTION_ID, UNSUPPORTED_COMPRESSION_TYPE)
        if may:
            self.last_s, self.subscribed, self.error = now_s, True, NONE
        return may

    def may_push(self, now_s: float) -> bool:
        """The same of a push."""
        may = self.subscribed or self._is_due(now_s)
        if may:
            self.last_s, self.subscribed = now_s, False
        return may

    def _is_due(self, now_s: float) -> bool:
        return self.last_s is None or now_s - self.last_s >= self.subscription.interval_ms / 1000


class Telemetry:
    """Telemetry of the clients of one process; shared by its connections.

    Args:
        plan: replaced while it runs.
        new_id: makes the id of a client that has none.
        clock: seconds; never goes back.
    """

    def __init__(
        self, plan: TelemetryPlan | None = None, new_id: Callable[[], UUID] = uuid4, clock: Callable[[], float] = monotonic
    ) -> None:
        self.plan = plan or TelemetryPlan()
        self._new_id = new_id
        self._clock = clock
        self._instances: Recent[UUID, _Instance] = Recent(MOST_INSTANCES)

    def subscribe(self, asked_as: UUID, identity: Identity) -> tuple[UUID, Subscription | None]:
        """A client asks what to measure: its id, and its subscription, or None if it asks too early.

        Args:
            asked_as: the id that it has; reserved ones mean that it has none.
        """
        instance_id = asked_as if asked_as.int not in _RESERVED else identity.instance_id or self._new_id()
        instance = self._instance(instance_id, identity)
        return instance_id, instance.subscription if instance.may_ask(self._clock()) else None

    def take(self, push: PushedMetrics, identity: Identity) -> int:
        """A client pushes: the error code of the answer."""
        if push.instance_id.int in _RESERVED:
            return INVALID_REQUEST
        instance = self._instance(push.instance_id, identity)
        instance.error = self._error(push, instance)
        # Kafka's own remembers a push that it has refused, too: the client could never push again (KAFKA-20898).
        instance.terminating = instance.terminating or (push.terminating and instance.error == NONE)
        return instance.error

    def _error(self, push: PushedMetrics, instance: _Instance) -> int:
        if instance.terminating:
            return INVALID_REQUEST
        if not instance.may_push(self._clock()) and not push.terminating:
            return THROTTLING_QUOTA_EXCEEDED
        if push.subscription_id != instance.subscription.id_of(push.instance_id):
            return UNKNOWN_SUBSCRIPTION_ID
        if push.compression not in (UNCOMPRESSED, GZIP):
            return UNSUPPORTED_COMPRESSION_TYPE
        return TELEMETRY_TOO_LARGE if len(push.metrics) > MAX_BYTES else NONE

    def _instance(self, instance_id: UUID, identity: Identity) -> _Instance:
        subscription = self.plan.subscription if self.plan.asks(identity) else NOTHING_ASKED
        instance = self._instances.get(instance_id)
        if instance is None or instance.subscription != subscription:
            instance = _Instance(subscription)
        self._instances[instance_id] = instance
        return instance
