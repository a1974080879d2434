"""Bytes of GetTelemetrySubscriptions and PushTelemetry as Kafka's JSON files lay them out, and OTLP's metrics as clients send them."""

from __future__ import annotations

import struct
import uuid
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from frame_bytes import compact, in_frame, request_frame
from opentelemetry.proto.metrics.v1.metrics_pb2 import AggregationTemporality, MetricsData
from played import answer_to_hello, from_broker, from_client, hello

from clientscope.model.telemetry import ATTRIBUTES
from clientscope.policy.telemetry import client_resource
from clientscope.session.session import Session
from clientscope.session.telemetry import Telemetry
from clientscope.wire.api_versions import read_ranges
from clientscope.wire.cursor import Cursor

JAVA = ("apache-kafka-java", "4.4.0")
ID = uuid.UUID("5b2a6a3e-0c1f-4a0e-9a3f-3f9d4f0f7a11")
NO_ID = uuid.UUID(int=0)
CLIENT = client_resource({**dict.fromkeys(ATTRIBUTES.values(), "c"), "broker": 1, "copied": False, "principal": None})
"""Of a record: a client whose principal isn't known."""
NOW_NS = 1_790_000_040_000_000_000


def asking(key: int, *body: bytes, version: int = 0, correlation_id: int = 7) -> bytes:
    return request_frame(key, version, correlation_id, b"\0", *body, client_id=b"java")


def asks(instance_id: uuid.UUID = NO_ID, correlation_id: int = 7) -> bytes:
    return asking(71, instance_id.bytes, b"\0", correlation_id=correlation_id)


def pushes(
    subscription_id: int,
    metrics: bytes = b"metrics",
    *,
    instance_id: uuid.UUID = ID,
    terminating: bool = False,
    compression: int = 1,
    correlation_id: int = 7,
) -> bytes:
    said = struct.pack(">i?b", subscription_id, terminating, compression)
    return asking(72, instance_id.bytes, said, compact(metrics), b"\0", correlation_id=correlation_id)


class Subscribed(NamedTuple):
    """A GetTelemetrySubscriptions answer, in the order of its fields."""

    correlation_id: int
    throttle_ms: int
    error: int
    instance_id: uuid.UUID
    subscription_id: int
    compressions: tuple[int, ...]
    interval_ms: int
    max_bytes: int
    delta: bool
    prefixes: tuple[str, ...]


def subscribed(frame: bytes) -> Subscribed:
    """Reads it as the JSON file says, to its end."""
    cursor = Cursor(frame, 4)
    correlation_id = cursor.int32()
    cursor.tags()
    throttle_ms, error = cursor.int32(), cursor.int16()
    instance_id, subscription_id = cursor.uuid() or NO_ID, cursor.int32()
    compressions = tuple(cursor.int8() for _ in range(cursor.compact_count()))
    interval_ms, max_bytes, delta = cursor.int32(), cursor.int32(), cursor.int8() == 1
    prefixes = tuple(cursor.compact_string() for _ in range(cursor.compact_count()))
    cursor.tags()
    assert cursor.position == len(frame) == 4 + struct.unpack_from(">i", frame)[0]
    return Subscribed(
        correlation_id, throttle_ms, error, instance_id, subscription_id, compressions, interval_ms, max_bytes, delta, prefixes
    )


def push_answer(frame: bytes) -> tuple[int, int]:
    """Correlation id and error of a PushTelemetry answer."""
    length, correlation_id, tags, throttle_ms, error, more_tags = struct.unpack(">iiBihB", frame)
    assert (length, tags, throttle_ms, more_tags) == (len(frame) - 4, 0, 0, 0)
    return correlation_id, error


def api_versions_answer(*more: int) -> bytes:
    return answer_to_hello(dict.fromkeys((0, 1, 18, *more), (0, 0)), 4, 1)


def says(session: Session, software: tuple[str, str] = JAVA, *more: int) -> bytes:
    """The client says who it is, the broker answers with some keys more: the answer that the client gets."""
    from_client(session, hello(*software, version=4))
    return next(command.data for command in from_broker(session, api_versions_answer(*more)) if hasattr(command, "data"))


def keys(answer: bytes) -> set[int]:
    return set(read_ranges(answer, 4))


def offered(telemetry: Telemetry) -> Session:
    """A session whose client has been offered telemetry."""
    session = Session(telemetry=telemetry)
    assert {71, 72} <= keys(says(session))
    return session


def exchange(session: Session, frame: bytes) -> tuple[list[object], bytes]:
    """A request of the client's that the gateway answers: what it reports, and the answer, once the carrier has come back."""
    *reported, carrier = from_client(session, frame)
    assert carrier.data[4:6] == b"\0\x12", "an ApiVersions request, under the client's id"
    (answer,) = from_broker(session, in_frame(frame[8:12], bytes(12)))
    return reported, answer.data


def metrics(*names: str, label: str = "node-1", resource: str = "orders") -> MetricsData:
    """Gauges as Java sends them: each with a resource of its own."""
    data = MetricsData()
    for name in names:
        of_resource = data.resource_metrics.add()
        _labelled(of_resource.resource.attributes, "group_id", resource)
        metric = of_resource.scope_metrics.add().metrics.add()
        metric.name = name
        point = metric.gauge.data_points.add()
        point.as_double = 1.5
        _labelled(point.attributes, "node_id", label)
    return data


def measured(gauges: Mapping[str, float], counters: Mapping[str, float] = {}, milliseconds: int = 60_000, **labels: str) -> MetricsData:
    """Metrics of a client: gauges, and counters of what was added in the last so many milliseconds.

    Args:
        labels: of every number.
    """
    data = MetricsData()
    scope = data.resource_metrics.add().scope_metrics.add()
    for name, value in gauges.items():
        point = scope.metrics.add(name=name).gauge.data_points.add(as_double=value, time_unix_nano=NOW_NS)
        for label, text in labels.items():
            _labelled(point.attributes, label, text)
    for name, value in counters.items():
        metric = scope.metrics.add(name=name)
        metric.sum.aggregation_temporality = AggregationTemporality.AGGREGATION_TEMPORALITY_DELTA
        since = NOW_NS - milliseconds * 1_000_000
        point = metric.sum.data_points.add(as_double=value, time_unix_nano=NOW_NS, start_time_unix_nano=since)
        for label, text in labels.items():
            _labelled(point.attributes, label, text)
    return data


def _labelled(labels: object, key: str, text: str) -> None:
    label = labels.add()  # type: ignore[attr-defined]
    label.key, label.value.string_value = key, text


def every_text(data: MetricsData) -> Iterator[str]:
    """Names and labels."""
    for of_resource in data.resource_metrics:
        yield from (label.value.string_value for label in of_resource.resource.attributes)
        for of_scope in of_resource.scope_metrics:
            for metric in of_scope.metrics:
                yield metric.name
                points = metric.gauge.data_points or metric.sum.data_points
                yield from (label.value.string_value for point in points for label in point.attributes)
