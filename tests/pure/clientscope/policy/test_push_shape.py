"""policy/push_shape: a push that fits a shape has the record that judging it in full makes; whatever else a client sends doesn't fit."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.proto.common.v1.common_pb2 import KeyValue
from opentelemetry.proto.metrics.v1.metrics_pb2 import AggregationTemporality, MetricsData, NumberDataPoint
from telemetry_frames import CLIENT, NOW_NS, measured, metrics

from clientscope.policy import push_shape
from clientscope.policy.push_shape import PushShape
from clientscope.policy.redaction import ClientNames
from clientscope.policy.telemetry import record_value, redacted_metrics

SECRET = "svc-AKIAIOSFODNN7EXAMPLE"
NAMES = ClientNames()
JAVA = metrics("org.apache.kafka.producer.a.total", "org.apache.kafka.producer.b.avg", "org.apache.kafka.producer.c.total")


def _librdkafka() -> MetricsData:
    """All metrics in one scope with a name, and each with a description."""
    data = measured({"a": 1.0, "b": 2.0}, {"c": 3.0})
    (of_resource,) = data.resource_metrics
    of_resource.scope_metrics[0].scope.name, of_resource.scope_metrics[0].scope.version = "rdkafka#producer-1", "2.16.0"
    for metric in of_resource.scope_metrics[0].metrics:
        metric.description, metric.unit = "The average request latency in ms for a node.", "ms" * (metric.name == "b")
    return data


LIBRDKAFKA = _librdkafka()
EMPTY_SCOPE, SEVERAL = MetricsData.FromString(JAVA.SerializeToString()), measured({"a": 1.0})
for _of_resource in EMPTY_SCOPE.resource_metrics:
    _of_resource.scope_metrics[0].scope.SetInParent()
SEVERAL.resource_metrics[0].scope_metrics[0].metrics[0].gauge.data_points.add(as_int=1, time_unix_nano=NOW_NS)


def in_full(unpacked: bytes) -> bytes:
    """The oracle: a push's record without any shape."""
    return record_value(redacted_metrics(unpacked, NAMES, CLIENT), CLIENT, None)


def shape_of(data: MetricsData) -> PushShape | None:
    unpacked = data.SerializeToString()
    return PushShape.of(unpacked, in_full(unpacked))


def points_of(data: MetricsData) -> list[NumberDataPoint]:
    metrics = [metric for of_resource in data.resource_metrics for scope in of_resource.scope_metrics for metric in scope.metrics]
    return [point for metric in metrics for point in (*metric.gauge.data_points, *metric.sum.data_points)]


def later(data: MetricsData, seed: int) -> bytes:
    """The same client's next push: other numbers and times, of any bytes."""
    random, again = Random(seed), MetricsData()  # noqa: S311
    again.CopyFrom(data)
    for point in points_of(again):
        for field in ("start_time_unix_nano", "time_unix_nano"):
            if getattr(point, field):
                setattr(point, field, random.randrange(1, 2**64))
        match point.WhichOneof("value"):
            case "as_double":
                point.as_double = random.choice((0.0, random.uniform(-1e9, 1e9), float("nan"), float("inf")))
            case "as_int":
                point.as_int = random.randrange(-(2**63), 2**63)
    return again.SerializeToString()


def labelled(labels: object, pairs: list[tuple[str, str | int]]) -> None:
    for key, value in pairs:
        kind = "string_value" if isinstance(value, str) else "int_value"
        setattr(labels.add(key=key).value, kind, value)  # type: ignore[attr-defined]


WORDS = st.sampled_from(
    ["a", "node_id", "org.apache.kafka.consumer.lag", "topic", "orders-1", "\x11\x19!", "", "é" * 70, "client.id", SECRET]
)
LABELS = st.lists(st.tuples(WORDS, WORDS | st.integers(-(2**63), 2**63 - 1)), max_size=2)
POINTS = st.lists(st.tuples(LABELS, st.booleans(), st.sampled_from(["as_double", "as_int"])), max_size=3)
METRICS = st.lists(st.tuples(WORDS, st.booleans(), POINTS, st.sampled_from(["", "", SECRET])), max_size=4)


@st.composite
def pushes(draw: st.DrawFn) -> MetricsData:
    """Laid out as Java does it, each metric with its own resource, or as librdkafka does, or as neither."""
    data = MetricsData()
    labels, apart = draw(LABELS), draw(st.sampled_from([True, True, False, None]))
    of_resource = None
    for name, counter, points, unit in draw(METRICS):
        if of_resource is None or apart or (apart is None and draw(st.booleans())):
            of_resource = data.resource_metrics.add()
            labelled(of_resource.resource.attributes, labels if apart is not None else draw(LABELS))
            scope = of_resource.scope_metrics.add()
            if draw(st.booleans()):
                scope.scope.SetInParent()
        metric = scope.metrics.add(name=name, unit=unit)
        numbers = metric.sum if counter else metric.gauge
        numbers.SetInParent()
        if counter:
            metric.sum.aggregation_temporality, metric.sum.is_monotonic = AggregationTemporality.AGGREGATION_TEMPORALITY_DELTA, True
        for of_point, started, kind in points:
            point = numbers.data_points.add(time_unix_nano=NOW_NS, start_time_unix_nano=NOW_NS - 1 if started else 0)
            setattr(point, kind, 1)
            labelled(point.attributes, of_point)
    return data


@given(pushes(), st.integers(0, 2**32), st.data())
def test_a_push_that_fits_has_the_record_that_judging_it_in_full_makes(data: MetricsData, seed: int, drawn: st.DataObject) -> None:
    if (shape := shape_of(data)) is None:
        return
    following = later(data, seed)
    assert shape.record(following) == in_full(following)
    place, byte = drawn.draw(st.integers(0, len(following) - 1)), drawn.draw(st.integers(0, 255))
    agrees(shape, following[:place] + bytes([byte]) + following[place + 1 :])


def agrees(shape: PushShape, unpacked: bytes) -> None:
    """Whatever fits means what judging it in full means, and nothing fits that is refused in full."""
    if (record := shape.record(unpacked)) is not None:
        assert MetricsData.FromString(record).SerializeToString() == in_full(unpacked)


@pytest.mark.parametrize(
    "data",
    [JAVA, measured({"a": 1.0, "b": 2.0}, {"c": 3.0}, node_id="node-1"), LIBRDKAFKA, EMPTY_SCOPE, SEVERAL],
    ids=["java", "labels", "librdkafka", "empty scopes", "several points"],
)
def test_each_byte_of_a_push_counts_but_those_of_numbers_and_times(data: MetricsData) -> None:
    """Each byte is replaced, by bytes of which some are other tags, lengths and ends of text."""
    shape, unpacked = shape_of(data), data.SerializeToString()
    assert shape is not None
    fitted = 0
    for place, byte in enumerate(unpacked):
        for other in {byte ^ 1, byte ^ 0x80, 0x00, 0x0A, 0x11, 0x12, 0x19, 0x21, 0x31, 0x39, 0xFF} - {byte}:
            changed = unpacked[:place] + bytes([other]) + unpacked[place + 1 :]
            fitted += shape.record(changed) is not None
            agrees(shape, changed)
        for changed in (unpacked[:place] + unpacked[place + 1 :], unpacked[:place] + b"\0" + unpacked[place:]):
            assert shape.record(changed) is None
    numbers = sum(8 * (1 + bool(point.time_unix_nano) + bool(point.start_time_unix_nano)) for point in points_of(data))
    assert 8 * numbers < fitted <= 11 * numbers


def test_the_pieces_of_a_push_cannot_change_places() -> None:
    """Two metrics of the same length, and two resources: all bytes are there, elsewhere."""
    shape, unpacked = shape_of(JAVA), JAVA.SerializeToString()
    assert shape is not None
    for one, other in ((b"a.total", b"c.total"), (b"orders", b"ordres"), (b"group_id", b"group_di")):
        swapped = unpacked.replace(one, b"#").replace(other, one).replace(b"#", other)
        assert len(swapped) == len(unpacked) and shape.record(swapped) is None
    once = unpacked.replace(b"orders", b"ordres", 1)
    assert shape.record(once) is None


def test_what_is_hidden_stays_hidden() -> None:
    assert shape_of(metrics("a", label=SECRET)) is None
    for data in (metrics("a", SECRET), metrics("a", "b", resource=SECRET)):
        shape, following = shape_of(data), later(data, 1)
        assert shape is not None and SECRET.encode() in following
        record = shape.record(following)
        assert record == in_full(following) and SECRET.encode() not in record


def test_a_push_of_a_layout_that_no_known_client_has_has_no_shape() -> None:
    two_resources = metrics("a")
    two_resources.MergeFrom(metrics("b", resource="billing"))
    without_number = metrics("a")
    without_number.resource_metrics[0].scope_metrics[0].metrics.add(name="b")
    taken = metrics("a")
    points_of(taken)[0].attributes.append(KeyValue(key="client_id"))
    for data in (MetricsData(), two_resources, without_number, taken):
        assert shape_of(data) is None
    whole = JAVA.SerializeToString()
    for raw in (
        b"",
        b"\x0a",
        b"\x0a\x80\x80\x80\x80\x80\x80\x01",
        whole[:-1],
        whole + b"\x0a\x00",
        whole + b"\x0a\x04\x12\x02\x0a\x00",  # a scope without metrics
        gauge(b"\x19\x01\x01"),  # a time that ends beyond its point
    ):
        assert PushShape.of(raw, raw) is None


def gauge(*points: bytes) -> bytes:
    """A push of one gauge, which has points of these bytes."""
    inside = b"".join(b"\x0a" + bytes([len(point)]) + point for point in points)
    data = b"\x2a" + bytes([len(inside)]) + inside
    metric = b"\x0a\x01a" + data
    scope = b"\x12" + bytes([len(metric)]) + metric
    of_scope = b"\x12" + bytes([len(scope)]) + scope
    return b"\x0a" + bytes([len(of_scope)]) + of_scope


def test_a_number_that_comes_again_behind_labels_is_no_number() -> None:
    """The last one counts, and that may be the same in one push alone."""
    time, label = b"\x19" + bytes(range(1, 9)), b"\x3a\x03\x0a\x01a"
    known, twice, apart = gauge(time + label, time), gauge(time + time), gauge(time + label + time)
    assert PushShape.of(known, in_full(known)) is not None
    for unpacked in (twice, apart, gauge(time + label + time, time), gauge(time, time + label + time)):
        assert PushShape.of(unpacked, in_full(unpacked)) is None


@given(st.binary(max_size=300), st.binary(max_size=20))
def test_any_bytes_have_a_shape_or_none(raw: bytes, record: bytes) -> None:
    PushShape.of(raw, record)


def test_numbers_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(push_shape, "MOST_SHAPE_POINTS", 2)
    assert shape_of(metrics("a", "b")) is not None
    assert shape_of(metrics("a", "b", "c")) is None
