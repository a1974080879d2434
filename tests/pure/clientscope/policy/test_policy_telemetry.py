"""policy/telemetry: metrics as they may be written down: no name that is a secret, and nothing that isn't looked at."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.proto.metrics.v1.metrics_pb2 import MetricsData
from telemetry_frames import every_text, measured, metrics

from clientscope.errors import RecordError
from clientscope.policy import telemetry
from clientscope.policy.redaction import ClientNames
from clientscope.policy.telemetry import redacted_metrics, shown_fields

SECRET = "svc-AKIAIOSFODNN7EXAMPLE"
NAMES = ClientNames()


def redacted(data: MetricsData) -> MetricsData:
    return redacted_metrics(data.SerializeToString(), NAMES)


def test_metrics_without_secrets_stay() -> None:
    data = metrics("org.apache.kafka.producer.request.latency.avg", "org.apache.kafka.producer.record.error.total")
    assert redacted(data) == data


def test_a_secret_is_hidden_wherever_it_is() -> None:
    data = metrics(SECRET, label=SECRET, resource=SECRET)
    point = data.resource_metrics[0].scope_metrics[0].metrics[0].gauge.data_points[0]
    point.attributes[0].key = SECRET
    found = redacted(data)
    assert SECRET.encode() not in found.SerializeToString()
    assert list(every_text(found)) == [NAMES("client_id", SECRET)] * 3


def test_text_that_clients_have_no_use_for_is_removed() -> None:
    data = metrics("a")
    of_resource = data.resource_metrics[0]
    of_resource.schema_url = SECRET
    of_resource.resource.entity_refs.add().type = SECRET
    of_scope = of_resource.scope_metrics[0]
    of_scope.schema_url = of_scope.scope.name = of_scope.scope.version = SECRET
    metric = of_scope.metrics[0]
    metric.description = metric.unit = metric.metadata.add().key = SECRET
    metric.gauge.data_points[0].exemplars.add().filtered_attributes.add().key = SECRET
    assert redacted(data) == metrics("a")


def test_fields_that_are_not_known_are_removed() -> None:
    raw = metrics("a").SerializeToString() + b"\xfa\x3f" + bytes([len(SECRET)]) + SECRET.encode()
    assert SECRET.encode() not in redacted_metrics(raw, NAMES).SerializeToString()


@pytest.mark.parametrize("kind", ["histogram", "exponential_histogram", "summary"])
def test_other_kinds_are_refused(kind: str) -> None:
    data = metrics("a")
    getattr(data.resource_metrics[0].scope_metrics[0].metrics[0], kind).data_points.add().count = 1
    with pytest.raises(RecordError, match="unreadable"):
        redacted(data)


def test_nested_labels_are_refused() -> None:
    for nest in (
        lambda value: value.array_value.values.add(),
        lambda value: value.kvlist_value.values.add(),
        lambda value: setattr(value, "bytes_value", b"x"),
    ):
        data = metrics("a")
        nest(data.resource_metrics[0].resource.attributes[0].value)
        with pytest.raises(RecordError, match="unreadable"):
            redacted(data)


def test_numbers_as_labels_stay() -> None:
    data = metrics("a")
    data.resource_metrics[0].resource.attributes[0].value.int_value = 5
    assert redacted(data) == data


def test_numbers_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(telemetry, "MOST_POINTS", 3)
    assert redacted(metrics("a", "b", "c"))
    with pytest.raises(RecordError, match="too_many_points"):
        redacted(metrics("a", "b", "c", "d"))


def test_labels_are_bounded_together(monkeypatch: pytest.MonkeyPatch) -> None:
    data = MetricsData()
    for resource in ("one", "two"):
        data.resource_metrics.extend(metrics("a", label="x", resource=resource).resource_metrics)
    monkeypatch.setattr(telemetry, "MOST_LABELS", 4)
    assert redacted(data), "one of each resource, and one of each number"
    monkeypatch.setattr(telemetry, "MOST_LABELS", 3)
    with pytest.raises(RecordError, match="too_many_labels"):
        redacted(data)
    for each in data.resource_metrics:
        each.ClearField("scope_metrics")
    monkeypatch.setattr(telemetry, "MOST_LABELS", 1)
    with pytest.raises(RecordError, match="too_many_labels"):
        redacted(data)


@given(st.binary(max_size=300))
def test_any_bytes_are_metrics_or_a_reason(raw: bytes) -> None:
    try:
        again = redacted_metrics(raw, NAMES)
    except RecordError as error:
        assert error.reason in ("unreadable", "too_many_points")
    else:
        assert redacted_metrics(again.SerializeToString(), NAMES) == again


@pytest.mark.parametrize(("size", "shown"), [(33_554_433.0, "33554433"), (0.0, None), (-1.0, None), (math.nan, None), (1e300, None)])
def test_the_size_of_a_producers_buffer_is_its_setting(size: float, shown: str | None) -> None:
    data = measured({"org.apache.kafka.producer.request.latency.max": 1.0, "org.apache.kafka.producer.buffer.total.bytes": size})
    assert dict(shown_fields(data)) == ({} if shown is None else {"bufferTotalBytes": shown})
    assert shown_fields(metrics("a")) == ()
