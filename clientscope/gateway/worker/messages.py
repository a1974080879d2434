"""Messages between the gateway's main process and its workers.

A worker reports in batches, so that what a connection costs is paid once for many; only a push isn't waited for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from clientscope.config import GatewaySettings
from clientscope.gateway.place import GatewayPlace
from clientscope.model.connection import Passed
from clientscope.session.events import Ended, PushAnswered
from clientscope.session.ports import BrokerPorts
from clientscope.session.state import Identified, Identity, MetricsPushed, OtherCluster, Pushed, Requested, RequestFields, Shown
from clientscope.wire.describe_cluster import BrokerSoftware

BACKLOG = 4096
"""Connections that may wait to be taken, as many as Linux allows by default (net.core.somaxconn): of 2,000 that come at once none waits for
its SYN to be sent again, which takes a second."""


@dataclass(frozen=True, slots=True)
class OpenPorts:
    """The ports of a gateway that serves every broker of its cluster.

    Attributes:
        ports: which port each broker id has.
        brokers: host and port of each broker whose port is open, by id.
    """

    ports: BrokerPorts
    brokers: Mapping[int, tuple[str, int]]


@dataclass(frozen=True, slots=True)
class WorkerPlan:
    """To a worker, first of all: how it is to treat connections; later, what connects from then on.

    Attributes:
        first_id: of its connections; no other worker, and none before it, has such.
        software: what the broker is, for DescribeCluster.
        open_ports: None where answers keep the addresses of brokers.
    """

    first_id: int
    settings: GatewaySettings
    place: GatewayPlace
    software: BrokerSoftware
    open_ports: OpenPorts | None = None


@dataclass(frozen=True, slots=True)
class Drain:
    """To a worker: take no further connection, and let each go once its answers are out."""


@dataclass(frozen=True, slots=True)
class Bypass:
    """To a worker: read nothing of what passes, or read again what connects from now on."""

    on: bool


@dataclass(frozen=True, slots=True)
class Measure:
    """To a worker: say how many bytes have passed since it was last asked."""


@dataclass(frozen=True, slots=True)
class Shutdown:
    """To a worker: close what is still open, and end."""


@dataclass(frozen=True, slots=True)
class Happens:
    """To a worker: what happens to one of its connections, which may be gone.

    Attributes:
        event: the answer to a push; or the end of a connection that is one too many for all workers together.
    """

    connection_id: int
    event: PushAnswered | Ended


@dataclass(frozen=True, slots=True)
class Said:
    """What the session of a connection reports, as it says it; a `Pushed` waits for its answer."""

    connection_id: int
    news: Identified | Requested | Shown | MetricsPushed | Pushed


@dataclass(frozen=True, slots=True)
class Opened:
    """A client has connected; ``identity`` is what it has said by the time of this report, if anything."""

    connection_id: int
    address: str
    identity: Identity | None = None


@dataclass(frozen=True, slots=True)
class Closed:
    """A connection has ended.

    Attributes:
        requested: the client's versions; None if the last that were reported still hold.
    """

    connection_id: int
    reason: str
    requested: bytes | None = None


@dataclass(frozen=True, slots=True)
class Logged:
    """A request for the request log.

    Attributes:
        connection: Kafka's name of it.
        at_s: when it was answered, since the epoch.
        head: the request's first bytes, `REQUEST_HEAD`.
        total_ms: None where no answer passed.
    """

    connection: str
    at_s: float
    head: bytes
    identity: Identity
    total_ms: float | None


class StandingConnection(NamedTuple):
    """One of `Standing`.

    Attributes:
        versions: as in `clientscope.session.state.Requested`.
        shown: all that `Shown` has reported of it, or would have.
    """

    connection_id: int
    address: str
    identity: Identity
    versions: bytes
    shown: tuple[RequestFields, ...]


@dataclass(frozen=True, slots=True)
class BrokerFound:
    """An answer names a broker that has no open port, or has another address than was known."""

    broker_id: int
    host: str
    port: int


@dataclass(frozen=True, slots=True)
class Standing:
    """All open connections, after reports were lost."""

    connections: list[StandingConnection]


@dataclass(frozen=True, slots=True)
class Measured:
    """Bytes that have passed since the last of these.

    Attributes:
        elapsed_ms: how long that was.
        passed: by connection id; those through which none passed are left out.
    """

    elapsed_ms: int
    passed: dict[int, Passed]


Event = Opened | Said | Closed | Logged | BrokerFound | OtherCluster | Standing | Measured


@dataclass(frozen=True, slots=True)
class Report:
    """From a worker, once a second at least.

    Attributes:
        at_ms: when it was sent.
        events: in order.
        counts: what to add to counters, by counter and reason.
        upstream_failure: how the broker failed to take the last connection; empty where it took it.
        drained: no further connection is taken, and none is left.
        lag_s: how much later than asked for the event loop woke up, since the last report that said so; None where it did not sleep.
    """

    at_ms: int
    events: list[Event]
    counts: dict[tuple[str, str], int]
    upstream_failure: str
    drained: bool
    lag_s: float | None = None
