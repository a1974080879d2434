"""Facts of clients' own metrics: each record of ``clientscope.telemetry`` becomes a flat row, of the client and its facts.

Which facts there are is in `clientscope.catalog.client_facts`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import pyarrow as pa
from google.protobuf.message import DecodeError
from opentelemetry.proto.common.v1.common_pb2 import KeyValue
from opentelemetry.proto.metrics.v1.metrics_pb2 import AggregationTemporality, Metric, MetricsData, NumberDataPoint

from clientscope.catalog.client_facts import BY_METRIC, BY_TOPIC, FACTS, TOPIC, ClientKind, Fact
from clientscope.catalog.sensitive_names import judge_name
from clientscope.errors import RecordError
from clientscope.records.layouts import ValueState
from clientscope.records.telemetry import ATTRIBUTES, MOST_RECORD_BYTES, TERMINATING

CLIENT = (
    pa.field("cluster_id", pa.string()),
    pa.field("broker_id", pa.int32()),
    pa.field("gateway_id", pa.string()),
    pa.field("listener_name", pa.string()),
    pa.field("security_protocol", pa.string()),
    pa.field("client_address", pa.string()),
    pa.field("principal", pa.string()),
    pa.field("client_id", pa.string()),
    pa.field("client_software_name", pa.string()),
    pa.field("client_software_version", pa.string()),
    pa.field("client_instance_id", pa.string()),
    pa.field("copied", pa.bool_()),
    pa.field("terminating", pa.bool_()),
)
"""Columns that say who the client is: `ATTRIBUTES`, and whether it pushes no more."""

COLUMNS = (
    pa.field("client_kind", pa.string()),
    pa.field("interval_ms", pa.int64()),
    *(pa.field(fact.name, pa.float64()) for fact in FACTS),
)
"""Columns that a record has behind `CLIENT`; ``interval_ms`` is the time that its counters are of."""

MOST_TOPICS = 100
"""Of one client: those with the most records."""

TOPICS = pa.field("topics", pa.list_(pa.string()))
"""Column behind them: the topics that the client wrote or read since its last push, one more than `MOST_TOPICS` where there are more.
History's table doesn't have it.
"""

_PYTHON = {pa.string(): str, pa.int32(): int, pa.bool_(): bool}
"""What a value of such a column is in Python."""

_OPTIONAL = {"principal", "client_id"}
_MOST_BROKER_ID = 2**31 - 1

_NANOSECONDS = 1_000_000
_LONGEST_MS = 86_400_000
"""Counters of more than a day are no client's."""

_LEGAL = re.compile(r"[A-Za-z0-9._-]{1,249}")
"""Names of topics, as Kafka's ``Topic`` allows them."""

_GREATEST = 1e18
"""No fact is greater; what a client pushes beyond that means nothing."""


@dataclass
class ClientFacts:
    """What a client says in one push.

    Attributes:
        client: who it is, by `CLIENT`.
        kind: None of a client that is neither, and pushes none of the facts.
        interval_ms: since its last push, by its counters; None where it pushes none.
        values: by the facts' names; those that it doesn't say are missing.
        topics: that it wrote or read since then, with the number of records.
    """

    client: dict[str, Any] = field(default_factory=dict)
    kind: ClientKind | None = None
    interval_ms: int | None = None
    values: dict[str, float] = field(default_factory=dict)
    topics: Counter[str] = field(default_factory=Counter)


def client_facts(value: bytes) -> ClientFacts:
    """Who pushed, and the facts; a number that is none, or negative, says nothing.

    Args:
        value: a record's: OTLP's MetricsData.

    Raises:
        RecordError: ``too_large``, ``unreadable``, or ``nameless`` where no resource says who the client is.
    """
    if len(value) > MOST_RECORD_BYTES:
        raise RecordError("too_large")
    try:
        data = MetricsData.FromString(value)
    except DecodeError:
        raise RecordError("unreadable") from None
    if not data.resource_metrics:
        raise RecordError("nameless")
    found = ClientFacts(_client(data.resource_metrics[0].resource.attributes))
    for of_resource in data.resource_metrics:
        for of_scope in of_resource.scope_metrics:
            for metric in of_scope.metrics:
                known = BY_METRIC.get(metric.name)
                if known is not None:
                    _take(found, metric, *known)
                elif metric.name == TERMINATING:
                    found.client["terminating"] = True
                if (kind := BY_TOPIC.get(metric.name)) is not None:
                    _take_topics(found, metric, kind)
    return found


def _client(attributes: Iterable[KeyValue]) -> dict[str, Any]:
    """The columns `CLIENT`. Whoever writes the topic has chosen them: what isn't of a column's type is no client's name."""
    said: dict[str, Any] = {"terminating": False, "copied": False}
    for each in attributes:
        column, kind = ATTRIBUTES.get(each.key), each.value.WhichOneof("value")
        if column is not None and kind is not None:
            said[column] = getattr(each.value, kind)
    for column in CLIENT:
        given = column.name in said or column.name not in _OPTIONAL
        if given and type(said.get(column.name)) is not _PYTHON[column.type]:  # True is an int, too
            raise RecordError("nameless", column.name)
    if not 0 <= said["broker_id"] <= _MOST_BROKER_ID:
        raise RecordError("nameless", "broker_id")
    try:
        return said | {"client_instance_id": str(UUID(said["client_instance_id"]))}
    except ValueError:
        raise RecordError("nameless", "client_instance_id") from None


def _take(found: ClientFacts, metric: Metric, kind: ClientKind, fact: Fact) -> None:
    counter = metric.WhichOneof("data") == "sum"
    if counter and not _is_delta(metric):
        return
    value, milliseconds = _whole(metric.sum.data_points if counter else metric.gauge.data_points)
    if value is None or counter != fact.is_counted:
        return
    found.kind = kind
    if counter:
        if milliseconds is None:
            return
        found.interval_ms = milliseconds
    found.values[fact.name] = value * 1000 / milliseconds if fact.how == "rate" and milliseconds else value


def _take_topics(found: ClientFacts, metric: Metric, kind: ClientKind) -> None:
    """Topics with records since the last push, as far as they are names that may be written down."""
    if metric.WhichOneof("data") != "sum" or not _is_delta(metric):
        return
    for point in metric.sum.data_points:
        if len(point.attributes) == 1 and point.attributes[0].key == TOPIC:
            topic, records = point.attributes[0].value.string_value, _number(point)
            if records and _LEGAL.fullmatch(topic) and judge_name(topic, random_too=True) is ValueState.PRESENT:
                found.kind = kind
                found.topics[topic] += int(records)


def _is_delta(metric: Metric) -> bool:
    """A counter since the client's start says nothing about the time since its last push."""
    return bool(metric.sum.aggregation_temporality == AggregationTemporality.AGGREGATION_TEMPORALITY_DELTA)


def _number(point: NumberDataPoint) -> float | None:
    value = float(point.as_int if point.WhichOneof("value") == "as_int" else point.as_double)
    return value if 0 <= value <= _GREATEST else None


def _whole(points: Iterable[NumberDataPoint]) -> tuple[float | None, int | None]:
    """The number of the client as a whole, which has no labels (those of a topic, a partition or a broker have), and the time it is of."""
    for point in points:
        if not point.attributes:
            milliseconds = (point.time_unix_nano - point.start_time_unix_nano) // _NANOSECONDS
            return _number(point), milliseconds if 0 < milliseconds <= _LONGEST_MS else None
    return None, None


def rows_of_facts(values: pa.Array) -> tuple[pa.StructArray, pa.Array]:
    """Records of ``clientscope.telemetry`` as rows of `CLIENT`, `COLUMNS`, `TOPICS` and ``decode_error``; and which can be read, 1 or 0."""
    found = [_facts_of(value) for value in values.to_pylist()]
    facts = [each or ClientFacts() for each in found]
    columns = [
        *(pa.array([each.client.get(column.name) for each in facts], column.type) for column in CLIENT),
        pa.array([each.kind for each in facts], pa.string()),
        pa.array([each.interval_ms for each in facts], pa.int64()),
        *(pa.array([each.values.get(fact.name) for each in facts], pa.float64()) for fact in FACTS),
        pa.array([[name for name, _ in each.topics.most_common(MOST_TOPICS + 1)] for each in facts], TOPICS.type),
        pa.nulls(len(facts), pa.string()),
    ]
    rows = pa.StructArray.from_arrays(columns, fields=[*CLIENT, *COLUMNS, TOPICS, pa.field("decode_error", pa.string())])
    return rows, pa.array([int(each is not None) for each in found], pa.int8())


def _facts_of(value: bytes | None) -> ClientFacts | None:
    """None of a record that can't be read."""
    try:
        return None if value is None else client_facts(value)
    except RecordError:
        return None
