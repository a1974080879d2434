"""gateway/telemetry: accepted metrics become records within a quota, and what is dropped is counted."""

from __future__ import annotations

import gzip
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from uuid import UUID

import pytest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.metrics.v1.metrics_pb2 import MetricsData
from request_contexts import PLACE, Counts
from telemetry_frames import ID, measured, metrics

from clientscope.digest import DigestKey
from clientscope.gateway.registry import ConnectionRegistry
from clientscope.gateway.telemetry import PushShapes, TelemetryRecords
from clientscope.model.telemetry import BUFFER_MEMORY, TERMINATING
from clientscope.policy.push_shape import PushShape
from clientscope.session.state import Identity, MetricsPushed, RequestFields
from clientscope.wire.telemetry import GZIP, SNAPPY, UNCOMPRESSED, PushedMetrics

WHO = Identity("orders-1", "apache-kafka-java", "4.4.0", ID, "User:ANONYMOUS")
DATA = metrics("a")
PUSH = PushedMetrics(ID, 77, True, GZIP, gzip.compress(DATA.SerializeToString()))


class Recorded:
    """With a registry of its own, in which connection 1 is open."""

    def __init__(self) -> None:
        self.counts = Counts()
        self.published: list[tuple[str, MetricsData]] = []
        self.room = True
        self.registry = ConnectionRegistry(PLACE)
        self.registry.opened(1, "10.0.0.1", 1, WHO)
        self.records = TelemetryRecords(self.registry, self._publish, self.counts)

    def _publish(self, key: str, value: bytes) -> bool:
        """A Collector's Kafka receiver reads a value as this request (pmetric's ProtoUnmarshaler, release 1.71.0 of pdata)."""
        record = MetricsData.FromString(value)
        assert ExportMetricsServiceRequest.FromString(value).resource_metrics == record.resource_metrics
        if self.room:
            self.published.append((key, record))
        return self.room

    def take(self, push: PushedMetrics = PUSH, connection_id: int = 1, now_s: float = 0.0) -> None:
        self.records.take(connection_id, MetricsPushed(push, 123, True), now_s)


@pytest.fixture
def recorded() -> Recorded:
    return Recorded()


def test_a_record_has_the_client_and_its_metrics(recorded: Recorded) -> None:
    recorded.take()
    ((key, record),) = recorded.published
    context = recorded.registry.context(1)
    assert context is not None and key == context.client_key
    of_client, ended = record.resource_metrics
    said = {each.key: each.value.string_value or each.value.int_value for each in of_client.resource.attributes}
    assert said | {
        "client_id": "orders-1", "client_software_name": "apache-kafka-java", "client_software_version": "4.4.0",
        "client_instance_id": str(ID), "service.instance.id": str(ID), "principal": "User:ANONYMOUS", "client_source_address": "10.0.0.1",
        "cluster_id": "cluster", "broker_id": 1, "gateway_id": "gateway-1", "listener_name": "CLIENT", "security_protocol": "PLAINTEXT",
        "group_id": "orders",
    } == said  # fmt: skip
    assert of_client.scope_metrics == DATA.resource_metrics[0].scope_metrics
    (metric,) = ended.scope_metrics[0].metrics
    assert (metric.name, metric.gauge.data_points[0].time_unix_nano) == (TERMINATING, 123_000_000)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"compression": SNAPPY}, "compression"),
        ({"metrics": gzip.compress(bytes(10_000_000))}, "too_large"),
        ({"metrics": b"\xff"}, "unreadable"),
        ({"compression": UNCOMPRESSED, "metrics": b"\xff"}, "unreadable"),
    ],
)
def test_what_cannot_be_recorded_is_counted(recorded: Recorded, changes: dict[str, object], reason: str) -> None:
    recorded.take(replace(PUSH, **changes))  # type: ignore[arg-type]
    assert recorded.counts == {("telemetry_dropped", reason): 1} and not recorded.published


def test_metrics_show_a_setting_where_that_is_wanted(recorded: Recorded) -> None:
    data = measured({"org.apache.kafka.producer.buffer.total.bytes": 33_554_433.0})
    push = MetricsPushed(replace(PUSH, metrics=gzip.compress(data.SerializeToString())), 123, True)
    assert recorded.records.take(1, push, 0.0) is None
    assert recorded.records.take(1, push, 1.0, with_settings=True) == RequestFields(72, 0, (("bufferTotalBytes", "33554433"),))
    assert recorded.records.take(1, MetricsPushed(PUSH, 123, True), 2.0, with_settings=True) is None
    assert len(recorded.published) == 3


def test_without_room_or_connection_it_is_dropped(recorded: Recorded) -> None:
    recorded.room = False
    recorded.take()
    recorded.take(connection_id=2)
    assert recorded.counts == {("telemetry_dropped", "queue_full"): 1, ("telemetry_dropped", "busy"): 1}


def test_one_client_has_a_quota(recorded: Recorded) -> None:
    for _ in range(20):
        recorded.take()
    assert len(recorded.published) == 10
    assert recorded.counts == {("telemetry_dropped", "quota"): 10}
    recorded.take(now_s=60.0)
    assert len(recorded.published) == 11


def test_one_address_has_a_quota_whatever_its_clients_are_called(recorded: Recorded) -> None:
    for number in range(2, 1_502):
        recorded.registry.opened(number, "10.0.0.1", 1, replace(WHO, client_id=f"c{number}", instance_id=None))
        recorded.take(connection_id=number)
    assert recorded.counts == {("telemetry_dropped", "quota_address"): 500}


def test_another_digest_key_replaces_names_that_are_known() -> None:
    recorded, secret = Recorded(), "svc-AKIAIOSFODNN7EXAMPLE"
    again = replace(PUSH, terminating=False, metrics=gzip.compress(metrics("a", resource=secret).SerializeToString()))
    shown = []
    for number in range(6):
        if number == 3:
            recorded.registry.names.key = DigestKey(b"k" * 32)
        recorded.take(again, now_s=number * 60.0)
        attributes = recorded.published[-1][1].resource_metrics[0].resource.attributes
        shown += [each.value.string_value for each in attributes if each.key == "group_id"]
    keyed = recorded.registry.names("client_id", secret)
    assert shown == ["[redacted]"] * 3 + [keyed] * 3 and keyed != "[redacted]"
    assert recorded.counts == {("telemetry_judged", "new"): 4}


def test_a_record_says_what_is_true_of_its_own_push(recorded: Recorded) -> None:
    """Who the client is, its instance, and whether the broker has the push: none of it is in the push."""
    expected = []
    for number in range(12):
        if number == 3:
            recorded.registry.identified(1, replace(WHO, client_id="billing"), 1)
        push = replace(PUSH, terminating=False, instance_id=UUID(int=7) if number >= 6 else ID)
        recorded.records.take(1, MetricsPushed(push, 123, number >= 9), number * 60.0)
        expected.append(("orders-1" if number < 3 else "billing", str(push.instance_id), number >= 9))
    said = [{each.key: each.value for each in record.resource_metrics[0].resource.attributes} for _, record in recorded.published]
    assert expected == [
        (each["client_id"].string_value, each["client_instance_id"].string_value, each["copied"].bool_value) for each in said
    ]
    assert recorded.counts == {("telemetry_judged", "new"): 8}


def test_of_a_connection_that_has_ended_nothing_is_kept(recorded: Recorded) -> None:
    for number in range(4):
        recorded.take(replace(PUSH, terminating=False), now_s=number * 60.0)
        if number == 2:
            recorded.records.closed(1)
    assert recorded.counts == {("telemetry_judged", "new"): 3}


def pushed(name: str = "a", value: float = 1.0) -> bytes:
    """A push that needs no change to be a record."""
    return measured({name: value}).SerializeToString()


class Pushing:
    """Connections whose pushes are judged in full unless their shape is known."""

    def __init__(self, most_bytes: int = 1_000_000) -> None:
        self.counts = Counts()
        self.shapes = PushShapes(self.counts, most_bytes)

    def push(self, unpacked: bytes, connection_id: int = 1, client: str = "c", with_settings: bool = False) -> bool:
        """Whether the shape was known."""
        record = self.shapes.record(connection_id, client, unpacked, with_settings)
        if record is None:
            self.shapes.judged(connection_id, client, unpacked, unpacked)
        else:
            assert MetricsData.FromString(record) == MetricsData.FromString(unpacked)
        return record is not None


@pytest.mark.parametrize(
    ("names", "clients", "known"),
    [("aaaa", "cccc", "--++"), (["a", "a", "a", "bb", "bb", "bb", "a"], "c" * 7, "--+--+-"), ("a" * 8, "ccccdddd", "--++--++")],
    ids=["another number each time", "another metric", "another client"],
)
def test_a_shape_is_known_from_the_third_push_on(names: Sequence[str], clients: str, known: str) -> None:
    pushing = Pushing()
    pushes = enumerate(zip(names, clients, strict=True), 1)
    assert [pushing.push(pushed(name, float(value)), client=client) for value, (name, client) in pushes] == [each == "+" for each in known]
    assert sum(pushing.counts.values()) == known.count("-")


def test_what_is_new_each_time_is_looked_at_for_a_shape_only_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    made = Counter[int]()
    of = PushShape.of
    monkeypatch.setattr(PushShape, "of", lambda *push: made.update([1]) or of(*push))
    pushing = Pushing()
    for number in range(1 + 17 * 10):
        assert not pushing.push(pushed(f"metric-{number:04}"))
    assert made[1] == 10
    assert [pushing.push(pushed("metric-0000")) for _ in range(20)][-1], "a client that becomes regular"


def test_a_push_that_may_show_a_setting_is_judged_in_full_where_that_is_wanted() -> None:
    pushing = Pushing()
    for _ in range(2):
        pushing.push(pushed(BUFFER_MEMORY))
    assert not pushing.push(pushed(BUFFER_MEMORY), with_settings=True)
    assert pushing.push(pushed(BUFFER_MEMORY))
    for _ in range(2):
        pushing.push(pushed(), 2)
    assert pushing.push(pushed(), 2, with_settings=True)


def test_at_the_bound_connections_without_a_shape_get_none_until_another_ends() -> None:
    pushing = Pushing(most_bytes=1)
    assert [pushing.push(pushed(), 1) for _ in range(3)] == [False, False, True]
    assert [pushing.push(pushed(), 2) for _ in range(3)] == [False, False, False]
    assert pushing.push(pushed(), 1), "a client takes nothing from another"
    assert pushing.counts == {("telemetry_judged", "new"): 2, ("telemetry_judged", "no_room"): 3}
    pushing.shapes.forget(1)
    assert pushing.shapes.size == 0
    assert [pushing.push(pushed(), 2) for _ in range(2)] == [False, True]
