"""Records of ``clientscope.connections``: what happened to a connection, and what that makes the counts.

A gauge's truth is the newest of the counts, by (epoch, sequence), of each (gateway, listener, software name, version). A
series that is absent has zero connections once a heartbeat, of which all parts have come, has passed without it.

One event is one record: Kafka's producer sends many in one compressed batch, so an array of events would save nothing but the place of
each in the topic, by which readers know them apart.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from clientscope.model.enums import Kind, PrincipalSource
from clientscope.model.fields import Count, GivenName, Id32, Id64, Interval, Ms, Name, SecurityProtocol, Uuid, Version, record
from clientscope.model.requested_versions import MOST_VERSIONS, pack, pair

MOST_CONNECTIONS = 20_000
"""Connections of a traffic record, at most 900 KB; those with the most bytes are listed."""

MOST_COUNTS = 1_000
"""Series of a heartbeat's part; with names at their longest, which are ASCII by KIP-511, 800 KB."""

_MOST_RATE = 2**32 - 1

Int16 = Annotated[int, Field(ge=-(2**15), le=2**15 - 1)]
Rate = Annotated[int, Field(ge=0, le=_MOST_RATE)]

Passed = tuple[int, int]
"""Bytes from a client, and to it."""


@dataclass(frozen=True, slots=True)
class SeriesCount:
    """Connections of one software name and version at one listener.

    Attributes:
        connections: open now.
        opened: opened, or identified as this, since the epoch began, or since the series was last absent.
        closed: closed, or renamed to another, since the same moment.
    """

    listener: Name
    software_name: Name
    software_version: Name
    connections: Count
    opened: Count
    closed: Count


@record
class ClientConnectionRecord:
    """Value of ``clientscope.connections``.

    Attributes:
        epoch: when that gateway's process started, in ms since the epoch.
        sequence: from 0 and without gaps within an epoch.
        timestamp_ms: when it happened, in ms since the epoch.
        connection: unique within (gateway, epoch); -1 in a heartbeat and of traffic, which name no client.
        previous_software_name, previous_software_version: of kind identified: what the connection had before.
        reason: of kind closed: why.
        counts: absolute, after this event: of each series it touched, or in a heartbeat of all.
        requested_versions: API keys and versions that the client has requested on this connection for at most six hours, ascending.
        heartbeat_part: of kind heartbeat: this part, from 0, of ``heartbeat_parts``.
        heartbeat_interval_ms: of kind heartbeat: when to expect the next one; 0 where there will be none.
        instances: of kind heartbeat: unique client instances connected to this gateway.
        opened, closed: of kind heartbeat: opened and closed at this gateway since the epoch began, each once.
        host: of kind heartbeat: the name of the host that the gateway runs on.
        measured_ms: of kind traffic: for how long bytes were counted.
        traffic: of kind traffic: connection id, bytes per second from its client, and to it; a connection that isn't listed was idle.
    """

    version: Version
    kind: Kind
    cluster: GivenName
    broker: Id32
    gateway: GivenName
    epoch: Annotated[int, Field(ge=1, le=2**63 - 1)]
    sequence: Id64
    timestamp_ms: Ms
    connection: Annotated[int, Field(ge=-1, le=2**63 - 1)] = -1
    listener: Name
    security_protocol: SecurityProtocol
    address: Name = ""
    principal: Name | None = None
    principal_source: PrincipalSource = PrincipalSource.NONE
    client_id: Name | None = None
    software_name: Name = ""
    software_version: Name = ""
    instance_id: Uuid | None = None
    previous_software_name: Name | None = None
    previous_software_version: Name | None = None
    reason: Name | None = None
    counts: Annotated[tuple[SeriesCount, ...], Field(max_length=MOST_COUNTS)] = ()
    requested_versions: Annotated[tuple[tuple[Int16, Int16], ...], Field(max_length=MOST_VERSIONS)] = ()
    heartbeat_part: Id32 = 0
    heartbeat_parts: Id32 = 0
    heartbeat_interval_ms: Interval = 0
    instances: Id32 = 0
    opened: Count = 0
    closed: Count = 0
    host: Name = ""
    measured_ms: Id32 = 0
    traffic: Annotated[tuple[tuple[Id64, Rate, Rate], ...], Field(max_length=MOST_CONNECTIONS)] = ()

    @property
    def requested(self) -> bytes:
        """``requested_versions`` as processes hold it."""
        return pack([pair(*each) for each in self.requested_versions])


def rates(measured_ms: int, passed: Mapping[int, Passed]) -> tuple[tuple[int, int, int], ...]:
    """The field ``traffic``.

    Args:
        measured_ms: for how long bytes were counted.
        passed: bytes of each connection by its id.
    """
    listed = passed.items()
    if len(listed) > MOST_CONNECTIONS:
        listed = dict(sorted(listed, key=lambda item: -sum(item[1]))[:MOST_CONNECTIONS]).items()
    per_second = 1000 / max(1, measured_ms)

    def rate(count: int) -> int:
        return min(_MOST_RATE, round(count * per_second))

    return tuple((number, rate(received), rate(sent)) for number, (received, sent) in listed)
