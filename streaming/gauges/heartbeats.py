"""What a gateway's heartbeats say: rows of them, rates of their counters, and parts that belong together."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from clientscope.records.enums import Kind
from clientscope.records.input_record import InputRecord

MINUTE_MS = 60_000
_BETWEEN_SAMPLES_MS = 1_000


class GaugeEntry(NamedTuple):
    """Counts of a series as of one record; or, with listener, name, version and counts None, that the gateway's heart beat."""

    cluster: str
    broker: int
    gateway: str
    listener: str | None
    software_name: str | None
    software_version: str | None
    epoch: int
    sequence: int
    timestamp_ms: int
    connections: int | None
    opened: int | None
    closed: int | None
    heartbeat_interval_ms: int
    heartbeat_part: int
    heartbeat_parts: int
    client_instances: int
    opened_connections: int
    closed_connections: int
    appended_ms: int
    partition: int
    offset: int
    host: str = ""

    @property
    def heartbeat(self) -> int:
        """The sequence at which its heartbeat began."""
        return self.sequence - self.heartbeat_part


def gauge_entries(inputs: Iterable[InputRecord]) -> Iterator[GaugeEntry]:
    """What records say of series, and a heartbeat of its gateway: that behind its series."""
    for each in inputs:
        record = each.connection
        beat = GaugeEntry(
            cluster=record.cluster_id,
            broker=record.broker_id,
            gateway=record.gateway_id,
            listener=None,
            software_name=None,
            software_version=None,
            epoch=record.gateway_epoch,
            sequence=record.sequence,
            timestamp_ms=record.timestamp_ms,
            connections=None,
            opened=None,
            closed=None,
            heartbeat_interval_ms=record.heartbeat_interval_ms,
            heartbeat_part=record.heartbeat_part,
            heartbeat_parts=record.heartbeat_parts,
            client_instances=record.client_instances,
            opened_connections=record.opened_connections,
            closed_connections=record.closed_connections,
            appended_ms=each.appended_ms,
            partition=each.partition,
            offset=each.offset,
            host=record.gateway_host,
        )
        for count in record.counts:
            yield beat._replace(
                listener=count.listener_name,
                software_name=count.client_software_name,
                software_version=count.client_software_version,
                connections=count.open_connections,
                opened=count.opened_total,
                closed=count.closed_total,
            )
        if record.kind is Kind.HEARTBEAT:
            yield beat


class ConnectionRate:
    """By how much two counters have risen within the last minute, by Kafka's clock.

    Where samples are further apart it is their average. An epoch's first sample is the beginning, and a counter that falls begins
    anew, so no rate is ever negative or counts what another process did.
    """

    def __init__(self) -> None:
        self._samples: deque[tuple[int, int, int]] = deque()

    def per_minute(self, at_ms: int, opened: int, closed: int) -> tuple[int, int]:
        """Takes in a sample; returns both rates."""
        samples = self._samples
        if samples and (opened < samples[-1][1] or closed < samples[-1][2]):
            samples.clear()
        while len(samples) > 1 and samples[1][0] <= at_ms - MINUTE_MS:
            samples.popleft()
        if not samples or at_ms - samples[-1][0] >= _BETWEEN_SAMPLES_MS:
            samples.append((at_ms, opened, closed))
        since_ms, opened_then, closed_then = samples[0]
        over_ms = max(at_ms - since_ms, MINUTE_MS)
        return round((opened - opened_then) * MINUTE_MS / over_ms), round((closed - closed_then) * MINUTE_MS / over_ms)
