"""One client connection as a state machine: frames in, commands out; no I/O and no clock.

Five nouns: a *frame* is what came; the *identity* is who the client said it is; a *push* is a PushConfig request on its way to
the policy; a *carrier* is an ApiVersions request of ours that keeps a push's place among the client's pipelined requests; a
*command* is what the gateway is to do.

PushConfig must be processed and answered in its turn, but never reaches the broker, which would close on the unknown key. So a
carrier goes upstream in its place. When the carrier's answer comes back it is the push's turn, and its answer takes that place:
no response is counted, and no acks are parsed. The carrier repeats the connection's own last ApiVersions request, so that
whatever that did to the broker's own idea of the client, it does again; one that is long, or that could not be read, is not repeated:
a request that the broker refuses takes its place, and changes nothing there.

Every request that is read goes upstream under a correlation id of the gateway's (unanswered.py), so that no other answer can be taken
for its own.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field

from clientscope.policy.interface import ClientConfig
from clientscope.records.codec import PrincipalSource
from clientscope.session.sasl import Principal
from clientscope.session.served import Served
from clientscope.session.unanswered import Unanswered
from clientscope.wire import api_versions
from clientscope.wire.describe_cluster import BrokerSoftware

_MOST_REPEATED_BYTES = 512
"""A carrier is no longer than this: a client must not make the gateway send more than it sends itself."""

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

    Attributes:
        correlation_id: the client's own.
        received_ms: when its frame was read, since the epoch.
    """

    token: int
    configs: tuple[ClientConfig, ...]
    correlation_id: int = 0
    received_ms: int = 0


@dataclass(frozen=True, slots=True)
class Counted:
    """Something worth a counter: ``what`` is the counter, ``reason`` its label."""

    what: str
    reason: str


@dataclass(frozen=True, slots=True)
class Held:
    """Nothing more of these bytes is looked at now: go on with the same iterator later, and read nothing from that side until then.

    Attributes:
        seconds: when to go on; None: once the broker has said more.
        why: what bound was reached, as a counter's label; empty where it is none.
    """

    seconds: float | None
    why: str = ""


Command = ToBroker | ToClient | Identified | Pushed | Counted | Held


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
        received_ms: when its frame was read, since the epoch.
    """

    token: int
    correlation_id: int
    received_ms: int
    configs: tuple[ClientConfig, ...] = ()
    refused: Verdict | None = None


@dataclass(frozen=True, slots=True)
class PendingApiVersions:
    """An ApiVersions request of the client's whose response will decide what it changed.

    Attributes:
        identity: what it says; None where it could not be read.
    """

    api_version: int
    identity: Identity | None


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


@dataclass(frozen=True, slots=True)
class PendingNothing:
    """A carrier that was sent for its answer's sake alone: what the client sent before it is settled then."""


Pending = (
    PendingTelemetry | PendingDescribeCluster | PendingPush | PendingApiVersions | PendingHandshake | PendingAuthenticate | PendingNothing
)


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
        unanswered: what to do with the broker's answers.
        software: what the broker runs, where that is declared.
        served: what it serves, as far as any connection has heard.
        sasl: whether the listener asks for SASL authentication.
        authenticated: whether a push may be taken; on a listener without SASL from the start.
        accepted: whether an exchange was ever complete: who the client is stays the same from then on (Kafka's
            ReauthInfo.ensurePrincipalUnchanged).
        reauthenticates: whether the broker gave this connection's authentication an end, so that another exchange may follow (KIP-368).
        in_step: whether the client's next frame waits until the broker has answered the last one.
        last_api_versions: what a carrier repeats, but for its correlation id; None before any ApiVersions.
        awaited: the push that the policy has now, or None.
    """

    push_config: bool
    config_max_bytes: int
    software: BrokerSoftware | None = None
    sasl: bool = False
    authenticated: bool = True
    accepted: bool = False
    reauthenticates: bool = False
    in_step: bool = False
    served: Served = field(default_factory=Served)
    exchange: Exchange | None = None
    identity: Identity = field(default_factory=Identity)
    unanswered: Unanswered[Pending] = field(default_factory=Unanswered)
    last_api_versions: bytes | None = None
    awaited: PendingPush | None = None
    tokens: int = 0

    def forward(self, frame: bytes, correlation_id: int, pending: Pending) -> ToBroker:
        """Sends a request on, under an id of the gateway's."""
        return ToBroker(api_versions.with_correlation_id(frame, self.unanswered.add(correlation_id, pending)))

    def carrier(self, correlation_id: int, pending: Pending) -> ToBroker:
        """Sends a request that leaves the broker's idea of the client as it is."""
        upstream_id = self.unanswered.add(correlation_id, pending)
        if self.last_api_versions is None:
            return ToBroker(api_versions.plain_request(upstream_id, self.identity.client_id))
        return ToBroker(api_versions.with_correlation_id(self.last_api_versions, upstream_id))

    def sent_api_versions(self, frame: bytes | None) -> None:
        """What carriers repeat from now on: this request as it went upstream, or None where it could not be read."""
        repeatable = frame is not None and len(frame) <= _MOST_REPEATED_BYTES
        self.last_api_versions = frame if repeatable else api_versions.refused_request(0)
