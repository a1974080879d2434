"""kernels/client_facts: what a client says of itself, as numbers; and nothing of what it doesn't say."""

from __future__ import annotations

import math
from uuid import UUID

import pyarrow as pa
import pytest
from golden import is_golden
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.proto.metrics.v1.metrics_pb2 import AggregationTemporality, MetricsData
from record_bytes import binaries, telemetry_record
from telemetry_frames import measured

from clientscope.catalog.client_facts import BY_METRIC, BY_TOPIC, FACTS, PREFIX
from clientscope.digest import DigestKey
from clientscope.errors import RecordError
from clientscope.model.telemetry import ATTRIBUTES, MOST_RECORD_BYTES
from udfs.kernels.client_facts import COLUMNS, MOST_TOPICS, REASONS, ClientFacts, client_facts, rows_of_facts
from udfs.kernels.quarantine import with_evidence

LATENCY, SENT, ERRORS = (f"{PREFIX}producer.{name}" for name in ("request.latency.max", "record.send.total", "record.error.total"))
LAG, CONSUMED = f"{PREFIX}consumer.fetch.manager.records.lag.max", f"{PREFIX}consumer.fetch.manager.records.consumed.total"
SECRET = "svc-AKIAIOSFODNN7EXAMPLE"


WHO = client_facts(telemetry_record(MetricsData())).client


def facts(data: MetricsData) -> ClientFacts:
    return client_facts(telemetry_record(data))


def of_topics(records: dict[str, float], metric: str = CONSUMED) -> MetricsData:
    data = MetricsData()
    for topic, number in records.items():
        data.MergeFrom(measured({}, {metric: number}, topic=topic))
    return data


def of_whole_numbers() -> MetricsData:
    """As librdkafka has them."""
    data = measured({LATENCY: 0.0})
    data.resource_metrics[0].scope_metrics[0].metrics[0].gauge.data_points[0].as_int = 12
    return data


def of_one_partition_and_all() -> MetricsData:
    data = measured({LAG: 9.0}, {CONSUMED: 600.0}, topic="orders", partition="0")
    data.MergeFrom(measured({LAG: 4.0}, {CONSUMED: 60.0}))
    return data


DATA: dict[str, MetricsData] = {
    "counters are divided by the time since the last push": measured({LATENCY: 79.0}, {SENT: 120.0, ERRORS: 3.0}, milliseconds=2_000),
    "a consumer": measured({LAG: 7.0}, {CONSUMED: 60.0}),
    "nothing": MetricsData(),
    "of one broker": measured({f"{PREFIX}producer.node.request.latency.max": 1.0}),
    **{f"no number: {number}": measured({LATENCY: number}) for number in (math.nan, math.inf, -math.inf, -1.0, 1e300)},
    "of no time": measured({}, {SENT: 5.0}, milliseconds=0),
    "of more than a day": measured({}, {SENT: 5.0}, milliseconds=86_400_001),
    "of one partition": measured({LAG: 9.0}, {CONSUMED: 600.0}, topic="orders", partition="0"),
    "of one partition and of all": of_one_partition_and_all(),
    "topics with records since the last push": of_topics({"orders": 600.0, "orders.paid": 1.0, "quiet": 0.0}),
    "a producer's": of_topics({"orders": 2.0}, next(metric for metric, kind in BY_TOPIC.items() if kind == "producer")),
    "a gauge under a counter's name, and the other way round": measured({SENT: 1.0}, {LATENCY: 1.0}),
    "whole numbers": of_whole_numbers(),
}


def test_what_clients_say() -> None:
    found = {title: facts(data) for title, data in DATA.items()}
    assert {each.client for each in found.values()} == {WHO}
    said = (f"{title}: {each.kind}, {each.interval_ms} ms, {each.values}, {each.topics}\n" for title, each in found.items())
    assert is_golden("".join(said), __file__, "client_facts.txt")


@pytest.mark.parametrize("name", ["", "a b", "a\n", "é", "x" * 250, SECRET, f"[redacted {'0' * 16}]", "<script>"])
def test_what_is_no_name_of_a_topic_or_may_not_be_written_down_is_none(name: str) -> None:
    data = of_topics({name: 5.0, "orders": 1.0})
    assert facts(data).topics == {"orders": 1}
    unjudged = MetricsData.FromString(telemetry_record(MetricsData()))  # a program that is no gateway writes what it likes
    for of_topic in data.resource_metrics:
        unjudged.resource_metrics[0].scope_metrics.extend(of_topic.scope_metrics)
    assert client_facts(unjudged.SerializeToString()).topics == {"orders": 1}


def test_of_too_many_topics_those_with_the_most_records_are_named_and_one_more() -> None:
    values = pa.array([telemetry_record(of_topics({f"topic-{number}": number for number in range(1, 151)})), b"\xff"])
    rows = rows_of_facts(values)
    assert rows.field("topics").to_pylist() == [[f"topic-{150 - number}" for number in range(MOST_TOPICS + 1)], None]
    assert rows.field("decode_error").to_pylist() == [None, "unreadable"]


def test_a_counter_since_the_clients_start_is_no_rate() -> None:
    data = measured({LATENCY: 1.0}, {SENT: 5.0})
    for metric in data.resource_metrics[0].scope_metrics[0].metrics:
        if metric.WhichOneof("data") == "sum":
            metric.sum.aggregation_temporality = AggregationTemporality.AGGREGATION_TEMPORALITY_CUMULATIVE
    assert facts(data).values == {"request_latency_max_ms": 1.0}
    data = of_topics({"orders": 5.0})
    data.resource_metrics[0].scope_metrics[0].metrics[
        0
    ].sum.aggregation_temporality = AggregationTemporality.AGGREGATION_TEMPORALITY_CUMULATIVE
    assert not facts(data).topics


NUMBERS = st.floats(width=64) | st.integers(-(2**63), 2**63 - 1).map(float)


@given(
    st.dictionaries(st.sampled_from([*BY_METRIC, "other"]), NUMBERS),
    st.dictionaries(st.sampled_from([*BY_METRIC, "other"]), NUMBERS),
    st.integers(-1, 2**40),
)
def test_every_fact_is_finite_and_not_negative(gauges: dict[str, float], counters: dict[str, float], milliseconds: int) -> None:
    data = measured(gauges, counters, milliseconds=max(0, min(milliseconds, 1_700_000_000_000)))
    found = facts(data)
    assert found.values.keys() <= {fact.name for fact in FACTS}
    assert all(math.isfinite(value) and value >= 0 for value in found.values.values())


def test_a_row_has_who_the_client_is_and_nothing_that_a_client_says_of_that() -> None:
    data = measured({LATENCY: 1.0})
    for key in ("principal", "cluster_id", "client_source_address"):
        data.resource_metrics[0].resource.attributes.add(key=key).value.string_value = "forged"
    found = facts(data).client
    assert found == WHO and found.principal is None
    assert (found.address, found.broker, found.instance_id) == ("127.0.0.1", 1, str(UUID(int=5)))
    assert (found.terminating, found.copied) == (False, False)
    last = client_facts(telemetry_record(MetricsData(), ended_ms=1, copied=True, principal="User:a")).client
    assert (last.terminating, last.copied, last.principal) == (True, True, "User:a")


@given(st.binary())
def test_bytes_that_are_no_metrics_raise_nothing_else(data: bytes) -> None:
    try:
        client_facts(data)
    except RecordError as error:
        assert error.reason in REASONS


VALUES = st.one_of(st.text(), st.booleans(), st.integers(-(2**63), 2**63 - 1), st.none())


@given(st.dictionaries(st.sampled_from([*ATTRIBUTES, "other"]), VALUES))
def test_whatever_another_program_writes_as_a_client_is_a_row_or_a_reason(attributes: dict[str, str | bool | int | None]) -> None:
    data = MetricsData.FromString(telemetry_record(MetricsData()))
    for each in data.resource_metrics[0].resource.attributes:
        if each.key in attributes:
            each.ClearField("value")
            match attributes[each.key]:
                case bool(value):
                    each.value.bool_value = value
                case int(value):
                    each.value.int_value = value
                case str(value):
                    each.value.string_value = value
    rows = with_evidence(rows_of_facts, binaries(data.SerializeToString()), None)
    assert rows.field("decode_error").to_pylist()[0] in (None, *REASONS)


def test_records_become_rows_with_nulls_for_what_is_not_said() -> None:
    good = measured({LATENCY: 79.0}, {SENT: 120.0}, milliseconds=2_000)
    values = [telemetry_record(good, client_id=SECRET), telemetry_record(MetricsData()), b"\0\0"]
    rows = with_evidence(rows_of_facts, binaries(*values), DigestKey(b"k" * 32)).to_pylist()
    first, empty, broken = rows
    assert (first["client_kind"], first["interval_ms"], first["record_rate"], first["lag_max_records"]) == ("producer", 2_000, 60.0, None)
    assert (first["software_version"], first["decode_error"], first["principal"]) == ("4.4.0", None, None)
    assert SECRET not in str(rows), "another program may have written the record"
    assert empty["decode_error"] is None
    assert not any(empty[field.name] for field in COLUMNS)
    assert (broken["decode_error"], broken["length"], broken["client_kind"]) == ("unreadable", 2, None)


@pytest.mark.parametrize(
    ("reason", "value"),
    [
        ("no_value", None),
        ("nameless", b""),
        ("unreadable", b"no metrics"),
        ("too_large", bytes(MOST_RECORD_BYTES + 1)),
        ("invalid_cluster", measured({LATENCY: 1.0}).SerializeToString()),
    ],
)
def test_what_cannot_be_read_or_names_no_client_is_the_reason(reason: str, value: bytes | None) -> None:
    values = binaries(value, telemetry_record(MetricsData()))
    assert with_evidence(rows_of_facts, values, None).field("decode_error").to_pylist() == [reason, None]


@pytest.mark.parametrize("missing", [name for name in ATTRIBUTES if name not in ("client_id", "principal", "copied")])
def test_a_record_without_an_attribute_names_no_client(missing: str) -> None:
    data = MetricsData.FromString(telemetry_record(MetricsData()))
    attributes = data.resource_metrics[0].resource.attributes
    (place,) = [place for place, each in enumerate(attributes) if each.key == missing]
    del attributes[place]
    with pytest.raises(RecordError, match=f"invalid_{ATTRIBUTES[missing]}"):
        client_facts(data.SerializeToString())


def test_a_batch_of_nothing() -> None:
    assert len(with_evidence(rows_of_facts, binaries(), None)) == 0
