"""Gauges: values of ``clientscope.gauges``, which the job writes, and serve and history read."""

from __future__ import annotations

from dataclasses import field
from typing import Literal

from clientscope.model.fields import Count, Id32, Id64, Int32, Ms, ShownName, Version, record

GatewayKey = tuple[str, int, str]
"""Cluster, broker and gateway."""
SeriesKey = tuple[str, int, str, str, str, str]
"""The same, then listener, software name and version."""


@record
class Gauge:
    """Connections of one software name and version at one listener of a gateway.

    Attributes:
        opened, closed: since the gateway's process began, or since the series was last absent.
        epoch, sequence: of the gateway's record that they are from.
        timestamp_ms: when that was.
    """

    version: Version = 1
    kind: Literal["series"] = "series"
    cluster: ShownName
    broker: Id32
    gateway: ShownName
    listener: ShownName
    software_name: ShownName
    software_version: ShownName
    connections: Count
    opened: Count = 0
    closed: Count = 0
    epoch: Id64 = 0
    sequence: Id64 = 0
    timestamp_ms: Ms = 0

    @property
    def series(self) -> SeriesKey:
        """What distinguishes it."""
        return self.cluster, self.broker, self.gateway, self.listener, self.software_name, self.software_version

    @property
    def figures(self) -> int:
        """What is shown."""
        return self.connections


@record
class GatewayGauge:
    """What concerns a gateway as a whole. Two are equal where they say the same, whenever that was.

    Attributes:
        instances: unique client instances connected to it.
        opened, closed: connections since its process began; ``…_per_minute`` within the last minute.
        heartbeat_interval_ms: None if that isn't known.
        host: the name of its host; empty if that isn't known.
        clock_skew_minutes: by how much its clock is ahead of Kafka's, if by more than five minutes; else 0.
        epoch, sequence: of the heartbeat that they are from.
        timestamp_ms: Kafka's time of it.
    """

    version: Version = 1
    kind: Literal["gateway"] = "gateway"
    cluster: ShownName
    broker: Id32
    gateway: ShownName
    instances: Count
    opened_per_minute: Count | None = None
    closed_per_minute: Count | None = None
    opened: Count | None = None
    closed: Count | None = None
    heartbeat_interval_ms: Id32 | None = None
    host: ShownName = ""
    clock_skew_minutes: Int32 = 0
    epoch: Id64 = 0
    sequence: Id64 = field(default=0, compare=False)
    timestamp_ms: Ms = field(default=0, compare=False)

    @property
    def place(self) -> GatewayKey:
        """Its gateway."""
        return self.cluster, self.broker, self.gateway

    @property
    def figures(self) -> tuple[int | None, ...]:
        """What is shown."""
        return self.instances, self.opened_per_minute, self.closed_per_minute
