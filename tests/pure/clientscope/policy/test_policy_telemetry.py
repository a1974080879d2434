"""policy/telemetry: metrics as they may be written down: no name that is a secret, and nothing that isn't looked at."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.proto.metrics.v1.metrics_pb2 import MetricsData
from opentelemetry.proto.resource.v1.resource_pb2 import Resource
from telemetry_frames import CLIENT, every_text, measured, metrics

from clientscope.errors import RecordError
from clientscope.model.telemetry import ATTRIBUTES, MOST_RECORD_BYTES, TERMINATING
from clientscope.policy import telemetry
from clientscope.policy.redaction import ClientNames
from clientscope.policy.telemetry import record_value, redacted_metrics, shown_fields

SECRET = "svc-AKIAIOSFODNN7EXAMPLE"
NAMES = ClientNames()


NOBODY = Resource()


def redacted(data: MetricsData) -> MetricsData:
    return redacted_metrics(data.SerializeToString(), NAMES, NOBODY)


def test_metrics_without_secrets_stay_and_resources_that_are_the_same_become_one() -> None:
    both = metrics("org.apache.kafka.producer.request.latency.avg", "org.apache.kafka.producer.record.error.total")
    (of_resource,) = redacted(both).resource_metrics
    first, second = both.resource_metrics
    assert of_resource.resource == first.resource == second.resource
    assert list(of_resource.scope_metrics[0].metrics) == [*first.scope_metrics[0].metrics, *second.scope_metrics[0].metrics]
    other = metrics("a", resource="billing")
    both.MergeFrom(other)
    assert redacted(both).resource_metrics[1] == other.resource_metrics[0]


def test_every_resource_says_whose_it_is_and_a_client_cannot_say_it() -> None:
    data = metrics("a")
    data.MergeFrom(metrics("b", resource="billing"))
    for of_resource in data.resource_metrics:
        for labels in (of_resource.resource.attributes, of_resource.scope_metrics[0].metrics[0].gauge.data_points[0].attributes):
            for key in ("principal", "cluster.id", "Client-Id", "service.name", "service_instance_id", "job"):
                labels.add(key=key).value.string_value = "forged"
    found = redacted_metrics(data.SerializeToString(), NAMES, CLIENT)
    assert b"forged" not in found.SerializeToString()
    for of_resource, group in zip(found.resource_metrics, ("orders", "billing"), strict=True):
        assert list(of_resource.resource.attributes)[:-1] == list(CLIENT.attributes)
        assert of_resource.resource.attributes[-1].value.string_value == group
    assert {each.key for each in CLIENT.attributes} == {*ATTRIBUTES, "service.instance.id"} - {"principal"}, "which isn't known here"


def test_the_last_push_says_so_and_one_without_metrics_says_who() -> None:
    assert MetricsData.FromString(record_value(MetricsData(), CLIENT, None)).resource_metrics[0].resource == CLIENT
    (of_resource,) = MetricsData.FromString(record_value(MetricsData(), CLIENT, 1_000)).resource_metrics
    (metric,) = of_resource.scope_metrics[0].metrics
    (point,) = metric.gauge.data_points
    assert (of_resource.resource, metric.name, point.as_int, point.time_unix_nano) == (CLIENT, TERMINATING, 1, 1_000_000_000)


def test_a_record_is_bounded() -> None:
    with pytest.raises(RecordError, match="too_large"):
        record_value(metrics("a" * MOST_RECORD_BYTES), CLIENT, None)


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
    assert SECRET.encode() not in redacted_metrics(raw, NAMES, NOBODY).SerializeToString()


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


@pytest.mark.parametrize("empty", ["resource_metrics", "scope_metrics", "metrics"])
def test_what_has_no_number_inside_counts_as_one(empty: str) -> None:
    data = MetricsData()
    inside: Any = data
    for name in ("resource_metrics", "scope_metrics", "metrics"):
        for _ in range(1 if name != empty else telemetry.MOST_POINTS + 1):
            last = getattr(inside, name).add()
        inside = last
        if name == empty:
            break
    with pytest.raises(RecordError, match="too_many_points"):
        redacted(data)


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
        again = redacted_metrics(raw, NAMES, NOBODY)
    except RecordError as error:
        assert error.reason in ("unreadable", "too_many_points")
    else:
        once = redacted(again)  # resources that differed in what was removed become one
        assert redacted(once) == once


@pytest.mark.parametrize(("size", "shown"), [(33_554_433.0, "33554433"), (0.0, None), (-1.0, None), (math.nan, None), (1e300, None)])
def test_the_size_of_a_producers_buffer_is_its_setting(size: float, shown: str | None) -> None:
    data = measured({"org.apache.kafka.producer.request.latency.max": 1.0, "org.apache.kafka.producer.buffer.total.bytes": size})
    assert dict(shown_fields(data)) == ({} if shown is None else {"bufferTotalBytes": shown})
    assert shown_fields(metrics("a")) == ()
