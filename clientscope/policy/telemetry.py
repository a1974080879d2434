"""Clients' own metrics as they may be written down: OTLP's MetricsData with every name judged, and nothing in it but flat numbers.

Clients send sums and gauges with labels. Whatever else OTLP has (histograms, exemplars, nested values) is refused or removed, since it
may hold text that isn't looked at.
"""

from __future__ import annotations

from collections.abc import Mapping, MutableSequence, Sequence
from functools import partial

from google.protobuf.message import DecodeError
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.metrics.v1.metrics_pb2 import Metric, MetricsData, NumberDataPoint, ScopeMetrics
from opentelemetry.proto.resource.v1.resource_pb2 import Resource

from clientscope.errors import RecordError
from clientscope.model.telemetry import ATTRIBUTES, BUFFER_MEMORY, MOST_RECORD_BYTES, SERVICE_INSTANCE, TERMINATING, is_taken
from clientscope.policy.redaction import ClientNames

MOST_POINTS = 2_000
"""Numbers in one push, and whatever has none inside: Java's have 142. One takes some 2 µs to look at."""

MOST_LABELS = 8_000
"""Labels in one push: Java's have some 500. One that wasn't seen before takes some 15 µs to judge."""

_MOST_MEMORY = 2.0**53
_FLAT = frozenset({"bool_value", "int_value", "double_value", None})


def shown_fields(metrics: MetricsData) -> tuple[tuple[str, str], ...]:
    """What metrics show of their client's settings exactly, as `clientscope.catalog.request_settings` reads it of PushTelemetry.

    Labels show group, rack and transactional id, which other requests show too.
    """
    for of_resource in metrics.resource_metrics:
        for of_scope in of_resource.scope_metrics:
            for metric in of_scope.metrics:
                if metric.name == BUFFER_MEMORY:
                    sizes = [point.as_double for point in metric.gauge.data_points if point.WhichOneof("value") == "as_double"]
                    return tuple(("bufferTotalBytes", str(int(size))) for size in sizes[:1] if 0 < size < _MOST_MEMORY)
    return ()


def client_resource(client: Mapping[str, str | int | None]) -> Resource:
    """The resource whose metrics are a client's: who it is, as attributes.

    Args:
        client: values of `ATTRIBUTES`, by column; those that are None are left out.
    """
    resource = Resource()
    for name, column in ATTRIBUTES.items():
        match client[column]:
            case bool(value):
                resource.attributes.add(key=name).value.bool_value = value
            case int(value):
                resource.attributes.add(key=name).value.int_value = value
            case str(value):
                resource.attributes.add(key=name).value.string_value = value
    resource.attributes.add(key=SERVICE_INSTANCE).value.string_value = str(client["instance_id"])
    return resource


def record_value(metrics: MetricsData, client: Resource, ended_ms: int | None) -> bytes:
    """The value of a client's record.

    Args:
        metrics: as `redacted_metrics` returns them for that client.
        ended_ms: when a client said that it ends, since the epoch; None if it did not.

    Raises:
        RecordError: ``too_large``.
    """
    if ended_ms is not None or not metrics.resource_metrics:
        of_resource = metrics.resource_metrics.add(resource=client)
        if ended_ms is not None:
            ended = of_resource.scope_metrics.add().metrics.add(name=TERMINATING)
            ended.gauge.data_points.add(as_int=1, time_unix_nano=ended_ms * 1_000_000)
    if metrics.ByteSize() > MOST_RECORD_BYTES:
        raise RecordError("too_large", f"more than {MOST_RECORD_BYTES} bytes")
    return metrics.SerializeToString()


def redacted_metrics(unpacked: bytes, names: ClientNames, client: Resource) -> MetricsData:
    """OTLP's MetricsData with placeholders for names that are secrets, and the client's attributes on every resource.

    Java gives each metric a resource of its own, and all of them the same labels. Here each resource comes once, with all its metrics, so
    that its labels are judged and sent once. A client's label that has the name of an attribute of ours is removed (`is_taken`), since
    KIP-714 wants the broker's to count.

    Raises:
        RecordError: ``unreadable``, ``too_many_points`` or ``too_many_labels``.
    """
    try:
        pushed = MetricsData.FromString(unpacked)
    except DecodeError:
        raise RecordError("unreadable") from None
    pushed.DiscardUnknownFields()
    judged = MetricsData()
    resources: dict[bytes, ScopeMetrics] = {}
    points, labels = _Bound(MOST_POINTS, "too_many_points"), _Bound(MOST_LABELS, "too_many_labels")
    judge = partial(names, "client_id")
    for of_resource in pushed.resource_metrics:
        resource, scopes = of_resource.resource, of_resource.scope_metrics
        points.take(not scopes)
        same = resource.SerializeToString()
        if (metrics := resources.get(same)) is None:
            labels.take(len(client.attributes))
            _judge_labels(resource.attributes, names, labels)
            made = judged.resource_metrics.add(resource=client)
            made.resource.attributes.extend(resource.attributes)
            metrics = resources[same] = made.scope_metrics.add()
        for of_scope in scopes:
            points.take(not of_scope.metrics)
            for metric in of_scope.metrics:
                if (name := judge(metric.name)) != metric.name:
                    metric.name = name
                if metric.description or metric.unit or metric.metadata:
                    for field in ("description", "unit", "metadata"):
                        metric.ClearField(field)
                numbers = _points(metric)
                points.take(len(numbers) or 1)
                for point in numbers:
                    _judge_labels(point.attributes, names, labels)
                    if point.exemplars:
                        point.ClearField("exemplars")
            metrics.metrics.extend(of_scope.metrics)
    return judged


class _Bound:
    """Counts down; raises RecordError where nothing is left."""

    def __init__(self, most: int, reason: str) -> None:
        self._left, self._reason = most, reason

    def take(self, number: int) -> None:
        self._left -= number
        if self._left < 0:
            raise RecordError(self._reason)


def _points(metric: Metric) -> Sequence[NumberDataPoint]:
    match metric.WhichOneof("data"):
        case "gauge":
            return metric.gauge.data_points
        case "sum":
            return metric.sum.data_points
        case None:
            return ()
        case other:
            raise RecordError("unreadable", str(other))


def _judge_labels(labels: MutableSequence[KeyValue], names: ClientNames, bound: _Bound) -> None:
    if not labels:  # of most points
        return
    bound.take(len(labels))
    taken = []
    for place, label in enumerate(labels):
        value = label.value
        if is_taken(label.key):
            taken.append(place)
        elif (key := names("client_id", label.key)) != label.key:
            label.key = key
        if text := value.string_value:
            if (shown := names("client_id", text)) != text:
                value.string_value = shown
        elif _kind(value) not in _FLAT:
            raise RecordError("unreadable", "nested label")
    for place in reversed(taken):
        del labels[place]


def _kind(value: AnyValue) -> str | None:
    kind = value.WhichOneof("value")
    return None if kind == "string_value" else kind  # an empty text
