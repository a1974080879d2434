"""One client connection as a state machine: frames in, commands out; no I/O and no clock.

Five nouns: a *frame* is what came; the *identity* is who the client said it is; a *push* is a PushConfig request on its way to
the policy; a *carrier* is an ApiVersions request of ours that keeps a push's place among the client's pipelined requests; a
*command* is what the gateway is to do.

PushConfig must be processed and answered in its turn, but never reaches the broker, which would close on the unknown key. So a
carrier goes upstream in its place. When the carrier's answer comes back it is the push's turn, and its answer takes that place:
no response is counted, and no acks are parsed. The carrier repeats the connection's own last ApiVersions request, so that
whatever that did to the broker's own idea of the client, it does again.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field

from clientscope.policy.interface import ClientConfig
from clientscope.records.codec import PrincipalSource
from clientscope.session.sasl import Principal
from clientscope.session.served import Served
from clientscope.wire.describe_cluster import BrokerSoftware

MOST_PENDING = 64
"""How many of a client's requests may await a response that we read; beyond it nothing more is held for the connection."""

UNKNOWN = "unknown"
"""KIP-511's name and version of a client that has not said."""


@dataclass(frozen=True, slots=True)
class Identity:
    """Who a connection's client is, as far as it said, and the broker accepted its principal.

    Attributes:
        principal: Kafka's spelling, ``User:name``; None where the wire does not show it.
    """

    client_id: str | None = None
    software_name: str = UNKNOWN
    software_version: str = UNKNOWN
    instance_id: uuid.UUID | None = None
    principal: str | None = None
    principal_source: PrincipalSource = PrincipalSource.NONE


@dataclass(frozen=True, slots=True)
class ToBroker:
    """Send these bytes upstream."""

    data: bytes


@dataclass(frozen=True, slots=True)
class ToClient:
    """Send these bytes downstream."""

    data: bytes


@dataclass(frozen=True, slots=True)
class Identified:
    """The connection's identity is now this one."""

    identity: Identity


@dataclass(frozen=True, slots=True)
class Pushed:
    """A push's turn has come: hand its settings to the policy, and take nothing more from the broker before the verdict.

    The verdict goes to `Session.answer` under ``token``.
    """

    token: int
    configs: tuple[ClientConfig, ...]


@dataclass(frozen=True, slots=True)
class Counted:
    """Something worth a counter: ``what`` is the counter, ``reason`` its label."""

    what: str
    reason: str


Command = ToBroker | ToClient | Identified | Pushed | Counted


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a PushConfig request is answered."""

    error_code: int
    error_message: str | None = None
    throttle_time_ms: int = 0


@dataclass(frozen=True, slots=True)
class PendingPush:
    """A push whose carrier is upstream.

    Attributes:
        correlation_id: the client's own, for the answer.
        refused: the answer, where the policy need not be asked.
    """

    token: int
    correlation_id: int
    configs: tuple[ClientConfig, ...] = ()
    refused: Verdict | None = None


@dataclass(frozen=True, slots=True)
class PendingApiVersions:
    """An ApiVersions request of the client's whose response will decide what it changed."""

    api_version: int
    identity: Identity


@dataclass(frozen=True, slots=True)
class PendingHandshake:
    """A SaslHandshake request."""

    mechanism: str
    api_version: int


@dataclass(frozen=True, slots=True)
class PendingAuthenticate:
    """A SaslAuthenticate request."""

    api_version: int


@dataclass(frozen=True, slots=True)
class PendingDescribeCluster:
    """A DescribeCluster request."""

    api_version: int


@dataclass(frozen=True, slots=True)
class PendingTelemetry:
    """A GetTelemetrySubscriptions request."""


Pending = PendingTelemetry | PendingDescribeCluster | PendingPush | PendingApiVersions | PendingHandshake | PendingAuthenticate


@dataclass(frozen=True, slots=True)
class Exchange:
    """A SASL exchange under way.

    Attributes:
        framed: whether its tokens come as SaslAuthenticate requests; else as bare frames.
        claimed: whom the first token named; None before it.
    """

    mechanism: str
    framed: bool
    claimed: Principal | None = None


@dataclass(slots=True)
class SessionState:
    """What the handlers share.

    Attributes:
        pending: what to do with the response under a correlation id.
        software: what the broker runs, where that is declared.
        served: what it serves, as far as any connection has heard.
        authenticated: whether a push may be taken; on a listener without SASL from the start.
        last_api_versions: the client's last ApiVersions request as it went upstream, or None.
        awaited: the push that the policy has now, or None.
    """

    push_config: bool
    config_max_bytes: int
    software: BrokerSoftware | None = None
    authenticated: bool = True
    served: Served = field(default_factory=Served)
    exchange: Exchange | None = None
    identity: Identity = field(default_factory=Identity)
    pending: dict[int, Pending] = field(default_factory=dict)
    last_api_versions: bytes | None = None
    awaited: PendingPush | None = None
    tokens: int = 0
