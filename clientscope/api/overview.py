"""API models of the overview, of readiness, and of the current user. Times are in ms since the epoch, UTC."""

from __future__ import annotations

from dataclasses import field
from typing import Annotated, Literal

from pydantic import Field, SecretStr

from clientscope.api.common import Feed, Listing, model
from clientscope.api.findings import Input
from clientscope.model.fields import record
from clientscope.model.status import ProcessStatus


@model
class Progress:
    """How far the topics have been read since the start."""

    read: int
    """Records read so far."""
    total: int
    """Records that were there when reading began."""


@model
class Versions:
    """One number per list, which rises when that list changes: read a list again only then."""

    gauges: int
    connections: int
    results: int
    findings: int
    status: int
    """Of `health` and brokers."""


@model
class SoftwareRow:
    """The gauge, summed over gateways."""

    listener: str
    software_name: str
    software_version: str
    connections: int


@model
class GatewayStatus:
    """A gateway that is there, by its heartbeats."""

    gateway: str
    cluster: str
    broker: int
    epoch: int
    """When that gateway process started."""
    heartbeat_ms: int | None
    """When Kafka took its last heartbeat; null before the first."""
    late: bool
    """Its next heartbeat is overdue; after three intervals it counts as lost."""
    instances: int | None = None
    """Client instances (KIP-1324) that are connected to it; null if not reported."""
    opened_per_minute: int | None = None
    """Connections opened in the last minute; null if not reported."""
    closed_per_minute: int | None = None
    """Connections closed in the last minute; null if not reported."""


@model
class OpenFindings:
    """Findings that are open or stopped; none that a suppression hides, and none of low confidence."""

    total: int
    by_severity: dict[str, int]
    low_confidence: int
    """Those that only look like it, which are not in `total`."""
    suppressed: int
    """Those that a suppression hides, which are not in `total`."""
    to_rotate: int = 0
    """Leaked secrets to rotate, also those that are no longer pushed."""


@record
class ProcessHealth(ProcessStatus):
    """How one of our processes is, or one query of the job, as it says itself (`clientscope.status`); ``told_ms`` is Kafka's time."""

    stale: Annotated[bool, Field(description="It is silent for longer than it should be: what it said last counts no longer.")]


@model
class Check:
    """One thing about our own processes that a person should know."""

    name: str
    state: Literal["ok", "warn"]
    detail: str


@model
class Overview:
    """The state of everything, small enough to be sent with each event.

    A number that is not known yet is null, never zero.
    """

    version: int
    """Rises with every change; compare for equality only, it starts again with the process."""
    versions: Versions
    feed: Feed
    feed_detail: str | None
    """Why the feed is not live, in one sentence."""
    progress: Progress | None
    """While catching up."""
    now_ms: int
    last_record_ms: int | None
    """Kafka's time of the newest record read."""
    last_change_ms: int | None
    """When something shown here last changed."""
    clusters: list[str]
    connections: int | None
    software_versions: int | None
    """Different pairs of software name and version."""
    clients: int | None
    judged: int | None = None
    """Clients whose configuration a rule could judge, of `clients`."""
    pushes: int | None
    """Pushed configurations in the last day."""
    findings: OpenFindings | None
    """Null also while nothing was judged, which is not clean."""
    findings_detail: str | None
    """Why `findings` is null though the topics were read, in one sentence."""
    software: list[SoftwareRow]
    """The largest, by listener, name and version."""
    software_other: int
    """Connections of the rows that are left out of `software`."""
    gateways: list[GatewayStatus]
    checks: list[Check]
    pushes_per_minute: int | None = None
    """Those of `pushes` in the last whole minute; null where that isn't known."""
    health: list[ProcessHealth] = field(default_factory=list)
    """Of each process that reports its status; empty if none does, which is a problem."""


@model
class Health:
    """Whether the process is alive, or ready."""

    status: Literal["ok", "unavailable"]
    feed: Feed
    detail: str | None


ReadinessBy = Literal["application", "owner", "principal", "software"]
ReadinessName = Literal["breaks", "unknown", "falls_back", "fine"]


@model
class ReadinessItem:
    """Clients that share something, and their worst verdict."""

    label: str | None
    """What they share; null where they have none."""
    verdict: ReadinessName
    clients: int
    with_verdict: int
    """How many of them have the worst verdict."""
    breaks: int
    unknown: int
    falls_back: int
    fine: int
    application: str
    """Of the clients with the worst verdict, as what follows; after three, names are counted."""
    owner: str
    """Empty for none."""
    principal: str
    software: str
    last_old_ms: int | None
    """When one last used a version that the target doesn't serve, at the latest; null for never."""
    last_seen_ms: int | None
    """When something was last recorded of one of them."""
    reason: str
    advice: str
    """What to do; empty if there is nothing to do."""


@model
class ReadinessGroups(Listing):
    """Groups of clients by whether they work with brokers of another release: the worst verdict first."""

    by: ReadinessBy
    target: str
    """The release, such as 4.4.0."""
    targets: list[str]
    """Releases to ask about, the newest first."""
    verdicts: dict[str, int]
    """Clients by verdict, the worst first; those that no client has are left out."""
    last_old_ms: int | None
    """As of an item, of all clients."""
    first_ms: int | None
    """When the first record was written that this is known by."""
    unread: int
    """Addresses of connections of which nothing was read, or that sent nothing; no clients of the list."""
    forgotten: int
    """Records and clients that did not fit into memory; they aren't among the clients."""
    release_known: bool
    """Whether the release of every cluster's brokers is known; else some clients can't be judged."""
    items: list[ReadinessItem]


Role = Literal["reader", "admin"]
Authentication = Literal["none", "token", "proxy"]


@model
class Me:
    """The current user, and what that user may do."""

    name: str | None
    """Null before signing in."""
    role: Role | None
    authentication: Authentication
    """`token`: sign in with `login`; `proxy`: a reverse proxy says who it is."""
    external_url: str | None
    """Where this page is reached from elsewhere; null if not set."""


class Login(Input):
    """A token, to be exchanged for a cookie."""

    token: Annotated[SecretStr, Field(max_length=1_024)]
