"""State machine of one client connection: frames in, commands out; no I/O and no clock.

Five nouns: a *frame* is what came; the *identity* is what the client said of itself; a *push* is a PushConfig request on its way to
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
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from clientscope.model.enums import PrincipalSource
from clientscope.model.principals import ANONYMOUS
from clientscope.policy.interface import ClientConfig
from clientscope.session.handler import BareTokens, Handler, Pending, Walk
from clientscope.session.requested import Served
from clientscope.session.sasl import Principal
from clientscope.session.unanswered import Unanswered
from clientscope.wire import api_versions
from clientscope.wire.describe_cluster import NO_SOFTWARE, BrokerSoftware
from clientscope.wire.frames import REQUEST_HEAD, SHORTEST_REQUEST
from clientscope.wire.telemetry import PushedMetrics

if TYPE_CHECKING:
    from clientscope.session.addresses import BrokerAddresses
    from clientscope.session.telemetry import Telemetry

A = TypeVar("A")

_MOST_REPEATED_BYTES = 512
"""A carrier is no longer than this: a client must not make the gateway send more than it sends itself."""

UNKNOWN = "unknown"
"""KIP-511's name and version of a client that has not said."""


@dataclass(frozen=True, slots=True)
class Identity:
    """The identity of a connection's client: what it said, and the principal that the broker accepted.

    Attributes:
        principal: Kafka's spelling, ``User:name``; None where the wire does not show it, or not yet.
    """

    client_id: str | None = None
    software_name: str = UNKNOWN
    software_version: str = UNKNOWN
    instance_id: uuid.UUID | None = None
    principal: str | None = None
    principal_source: PrincipalSource = PrincipalSource.NONE

    def fits(self, client_id: str, principal: str, software: str) -> bool:
        """Whether it fits these patterns, as in ``orders-*``; an empty one fits all, and what isn't known fits ``*`` alone."""
        parts = ((client_id, self.client_id), (principal, self.principal), (software, self.software_name))
        return all(not pattern or fnmatchcase(text or "", pattern) for pattern, text in parts)


UNSEEN = Identity()
"""The identity of a client that may authenticate and has not yet, or whose authentication only the broker sees."""

UNAUTHENTICATED = Identity(principal=ANONYMOUS)
"""The identity of a client that need not authenticate; a certificate names it."""


@dataclass(slots=True)
class ToBroker:
    """Send these bytes upstream."""

    data: bytes


@dataclass(slots=True)
class ToClient:
    """Send these bytes downstream."""

    data: bytes


@dataclass(slots=True)
class Identified:
    """The connection's identity is now this one."""

    identity: Identity


@dataclass(slots=True)
class Requested:
    """The versions that the client has requested, in this period of six hours at most; as `clientscope.model.requested_versions.pack`."""

    versions: bytes


class RequestFields(NamedTuple):
    """What one request shows of its client's settings.

    Attributes:
        fields: names and values, as `clientscope.wire.request_fields.request_fields` has them.
    """

    api_key: int
    api_version: int
    fields: tuple[tuple[str, str], ...]


@dataclass(slots=True)
class Shown:
    """A request has shown what none before it has on this connection."""

    request: RequestFields


@dataclass(frozen=True, slots=True)
class Pushed:
    """A push, from its frame to its answer.

    As a command: its turn has come; hand its settings to the policy, and take nothing more from the broker before the answer. That goes to
    `Session.answer` under ``token``.

    Attributes:
        correlation_id: the client's own, for the answer.
        received_ms: when its frame was read, since the epoch.
        refused: the answer, where the policy need not be asked.
    """

    token: int
    configs: tuple[ClientConfig, ...]
    correlation_id: int = 0
    received_ms: int = 0
    refused: PushAnswer | None = None


@dataclass(slots=True)
class MetricsPushed:
    """A client's own metrics have been accepted, by the gateway or by the broker.

    Attributes:
        received_ms: when the request was read, since the epoch.
        copied: whether the broker has them too: then it has asked for them.
    """

    push: PushedMetrics
    received_ms: int
    copied: bool


@dataclass(slots=True)
class OtherCluster:
    """The broker is of another cluster than the gateway's topics: of this one, by its id."""

    cluster_id: str


@dataclass(slots=True)
class Counted:
    """Something worth a counter: ``what`` is the counter, ``reason`` its label."""

    what: str
    reason: str


@dataclass(frozen=True, slots=True)
class Held:
    """These bytes must wait: continue with the same iterator later, and read nothing from that side until then.

    Attributes:
        seconds: how long to wait; None: until the broker has sent more.
        why: the bound that was reached, as a counter's label; empty if none was.
    """

    seconds: float | None
    why: str = ""


Command = ToBroker | ToClient | Identified | Shown | Pushed | MetricsPushed | OtherCluster | Counted | Held


@dataclass(frozen=True, slots=True)
class PushAnswer:
    """What a PushConfig request is answered."""

    error_code: int
    error_message: str | None = None
    throttle_time_ms: int = 0


@dataclass(frozen=True, slots=True)
class Exchange:
    """A SASL exchange under way.

    Attributes:
        framed: whether its tokens come as SaslAuthenticate requests; else as bare frames.
        claimed: the principal that the first token named; None before it.
    """

    mechanism: str
    framed: bool
    claimed: Principal | None = None


@dataclass(slots=True)
class SessionState:
    """What the handlers share.

    Attributes:
        unanswered: what to do with the broker's answers.
        bare_tokens: what reads frames that have no head, while an exchange's tokens come so (SaslHandshake v0).
        shortest_request: the least length of a request's frame: 0 once the client may send bare tokens.
        software: what the broker runs, for DescribeCluster (KIP-885).
        served: what it serves, as far as any connection has heard.
        sasl: whether the listener asks for SASL authentication.
        authenticated: whether a push may be taken; on a listener without SASL from the start.
        accepted: whether an exchange was ever complete: the principal stays the same from then on (Kafka's
            ReauthInfo.ensurePrincipalUnchanged).
        reauthenticates: whether the broker gave this connection's authentication an end, so that another exchange may follow (KIP-368).
        in_step: whether the client's next frame waits until the broker has answered the last one.
        last_api_versions: what a carrier repeats, but for its correlation id; None before any ApiVersions.
        awaited: the push that the policy has now, or None.
        addresses: the addresses of brokers that answers get; None where they pass.
        walk: the reader of the answer that is coming, where that is read as it comes.
        cluster_id: of the topics' cluster, until the broker's own has been looked at (clusters.py); empty then, or where that isn't done.
        telemetry: what clients' telemetry is asked and taken by; None where it passes.
        telemetry_offered: whether the gateway has said to this client that it takes telemetry: it then answers until the connection ends.
    """

    push_config: bool
    config_max_bytes: int
    software: BrokerSoftware = NO_SOFTWARE
    sasl: bool = False
    authenticated: bool = True
    accepted: bool = False
    reauthenticates: bool = False
    in_step: bool = False
    served: Served = field(default_factory=Served)
    exchange: Exchange | None = None
    identity: Identity = field(default_factory=Identity)
    unanswered: Unanswered = field(default_factory=Unanswered)
    bare_tokens: BareTokens | None = None
    shortest_request: int = SHORTEST_REQUEST
    last_api_versions: bytes | None = None
    awaited: Pushed | None = None
    tokens: int = 0
    addresses: BrokerAddresses | None = None
    walk: Walk | None = None
    cluster_id: str = ""
    telemetry: Telemetry | None = None
    telemetry_offered: bool = False

    def forward(self, frame: bytes, handler: Handler[A] | None, asked: A, walk: Walk | None = None) -> ToBroker:
        """Sends a request on, under an id of the gateway's; the handler gets its answer, and ``asked`` with it, or else ``walk``."""
        upstream_id = self.unanswered.add(Pending(REQUEST_HEAD.unpack_from(frame)[3], handler, asked, walk))
        return ToBroker(api_versions.with_correlation_id(frame, upstream_id))

    def carrier(self, correlation_id: int, handler: Handler[A] | None, asked: A) -> ToBroker:
        """Sends a request that leaves the broker's idea of the client as it is; without a handler its answer is dropped."""
        upstream_id = self.unanswered.add(Pending(correlation_id, handler, asked))
        if self.last_api_versions is None:
            return ToBroker(api_versions.plain_request(upstream_id, self.identity.client_id))
        return ToBroker(api_versions.with_correlation_id(self.last_api_versions, upstream_id))

    def is_of_instance(self, instance_id: uuid.UUID) -> list[Command]:
        """Telemetry on this connection has this client instance's id; one that the client has sent in ApiVersions stays."""
        known = self.identity.instance_id
        if known == instance_id:
            return []
        if known is not None:
            return [Counted("unreadable_frames", "telemetry_other_instance")]
        self.identity = replace(self.identity, instance_id=instance_id)
        return [Identified(self.identity)]

    def sent_api_versions(self, frame: bytes | None) -> None:
        """What carriers repeat from now on: this request as it went upstream, or None where it could not be read."""
        repeatable = frame is not None and len(frame) <= _MOST_REPEATED_BYTES
        self.last_api_versions = frame if repeatable else api_versions.refused_request(0)
