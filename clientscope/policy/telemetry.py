"""Clients' own metrics as they may be written down: OTLP's MetricsData with every name judged, and nothing in it but flat numbers.

Clients send sums and gauges with labels. Whatever else OTLP has (histograms, exemplars, nested values) is refused or removed, since it
may hold text that isn't looked at.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial

from google.protobuf.message import DecodeError
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.metrics.v1.metrics_pb2 import Metric, MetricsData, NumberDataPoint

from clientscope.errors import RecordError
from clientscope.policy.redaction import ClientNames

MOST_POINTS = 2_000
"""Numbers in one push: Java's have 142. One takes some 2 µs to look at."""

MOST_LABELS = 8_000
"""Labels in one push: Java's have some 500. One that wasn't seen before takes some 15 µs to judge."""

_MOST_MEMORY = 2.0**53
_FLAT = frozenset({"bool_value", "int_value", "double_value", None})


_BUFFER_MEMORY = "org.apache.kafka.producer.buffer.total.bytes"


def shown_fields(metrics: MetricsData) -> tuple[tuple[str, str], ...]:
    """What metrics show of their client's settings exactly, as `clientscope.catalog.request_settings` reads it of PushTelemetry.

    Labels show group, rack and transactional id, which other requests show too.
    """
    for of_resource in metrics.resource_metrics:
        for of_scope in of_resource.scope_metrics:
            for metric in of_scope.metrics:
                if metric.name == _BUFFER_MEMORY:
                    sizes = [point.as_double for point in metric.gauge.data_points if point.WhichOneof("value") == "as_double"]
                    return tuple(("bufferTotalBytes", str(int(size))) for size in sizes[:1] if 0 < size < _MOST_MEMORY)
    return ()


def redacted_metrics(unpacked: bytes, names: ClientNames) -> MetricsData:
    """OTLP's MetricsData with placeholders for names that are secrets.

    Raises:
        RecordError: ``unreadable``, ``too_many_points`` or ``too_many_labels``.
    """
    try:
        metrics = MetricsData.FromString(unpacked)
    except DecodeError:
        raise RecordError("unreadable") from None
    metrics.DiscardUnknownFields()
    points = labels = 0
    judge = partial(names, "client_id")
    for of_resource in metrics.resource_metrics:
        resource = of_resource.resource
        labels += _judge_labels(resource.attributes, names, MOST_LABELS - labels)
        if resource.entity_refs:
            resource.ClearField("entity_refs")
        if of_resource.schema_url:
            of_resource.ClearField("schema_url")
        for of_scope in of_resource.scope_metrics:
            if of_scope.HasField("scope"):
                of_scope.ClearField("scope")
            if of_scope.schema_url:
                of_scope.ClearField("schema_url")
            for metric in of_scope.metrics:
                if (name := judge(metric.name)) != metric.name:
                    metric.name = name
                if metric.description or metric.unit or metric.metadata:
                    for field in ("description", "unit", "metadata"):
                        metric.ClearField(field)
                for point in _points(metric):
                    points += 1
                    if points > MOST_POINTS:
                        raise RecordError("too_many_points")
                    labels += _judge_labels(point.attributes, names, MOST_LABELS - labels)
                    if point.exemplars:
                        point.ClearField("exemplars")
    return metrics


def _points(metric: Metric) -> Iterable[NumberDataPoint]:
    match metric.WhichOneof("data"):
        case "gauge":
            return metric.gauge.data_points
        case "sum":
            return metric.sum.data_points
        case None:
            return ()
        case other:
            raise RecordError("unreadable", str(other))


def _judge_labels(labels: Sequence[KeyValue], names: ClientNames, most: int) -> int:
    if len(labels) > most:
        raise RecordError("too_many_labels")
    for label in labels:
        value = label.value
        if (key := names("client_id", label.key)) != label.key:
            label.key = key
        if text := value.string_value:
            if (shown := names("client_id", text)) != text:
                value.string_value = shown
        elif _kind(value) not in _FLAT:
            raise RecordError("unreadable", "nested label")
    return len(labels)


def _kind(value: AnyValue) -> str | None:
    kind = value.WhichOneof("value")
    return None if kind == "string_value" else kind  # an empty text
