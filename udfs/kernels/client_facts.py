"""Facts of clients' own metrics: each record of ``clientscope.telemetry`` becomes a flat row, of the client and its facts.

Which facts there are is in `clientscope.catalog.client_facts`.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from typing import Any

import pyarrow as pa
from google.protobuf.message import DecodeError
from opentelemetry.proto.common.v1.common_pb2 import KeyValue
from opentelemetry.proto.metrics.v1.metrics_pb2 import AggregationTemporality, Metric, MetricsData, NumberDataPoint

from clientscope.catalog.client_facts import BY_METRIC, BY_TOPIC, FACTS, TOPIC, ClientKind, Fact
from clientscope.catalog.sensitive_names import judge_name
from clientscope.catalog.value_states import ValueState
from clientscope.digest import DigestKey
from clientscope.errors import RecordError
from clientscope.model.codec import decode, invalid_fields
from clientscope.model.fields import GivenName, Id32, Name, SecurityProtocol, Uuid, record
from clientscope.model.telemetry import ATTRIBUTES, MOST_RECORD_BYTES, TERMINATING
from clientscope.policy.redaction import ClientNames
from udfs.decode import DECODE_ERROR, PUSH, as_columns, read_each


@record
class TelemetrySender:
    """Who pushed: `ATTRIBUTES`, and whether it pushes no more."""

    cluster: GivenName
    broker: Id32
    gateway: GivenName
    listener: Name
    security_protocol: SecurityProtocol
    address: Name
    principal: Name | None = None
    client_id: Name | None = None
    software_name: Name
    software_version: Name
    instance_id: Uuid
    copied: bool = False
    terminating: bool = False


_SAID = ("copied", "terminating")
CLIENT = (
    *(PUSH.field(each.name) for each in fields(TelemetrySender) if each.name not in _SAID),
    *(pa.field(name, pa.bool_()) for name in _SAID),
)
"""Columns of a `TelemetrySender`: those of a push, and what it says of its metrics."""

COLUMNS = (
    pa.field("client_kind", pa.string()),
    pa.field("interval_ms", pa.int64()),
    *(pa.field(fact.name, pa.float64()) for fact in FACTS),
)
"""Columns that a record has behind `CLIENT`; ``interval_ms`` is the time that its counters are of."""

REASONS = ("no_value", "too_large", "unreadable", "nameless", *invalid_fields(TelemetrySender))
"""Why a record can't be read."""

MOST_TOPICS = 100
"""Of one client: those with the most records."""

TOPICS = pa.field("topics", pa.list_(pa.string()))
"""Column behind them: the topics that the client wrote or read since its last push, one more than `MOST_TOPICS` where there are more.
History's table doesn't have it.
"""

_ROW = pa.struct([*CLIENT, *COLUMNS, TOPICS, DECODE_ERROR])

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
        kind: None of a client that is neither, and pushes none of the facts.
        interval_ms: since its last push, by its counters; None where it pushes none.
        values: by the facts' names; those that it doesn't say are missing.
        topics: that it wrote or read since then, with the number of records.
    """

    client: TelemetrySender
    kind: ClientKind | None = None
    interval_ms: int | None = None
    values: dict[str, float] = field(default_factory=dict)
    topics: Counter[str] = field(default_factory=Counter)


def client_facts(value: bytes | None) -> ClientFacts:
    """Who pushed, and the facts; a number that is none, or negative, says nothing.

    Args:
        value: a record's: OTLP's MetricsData.

    Raises:
        RecordError: its reason is one of `REASONS`.
    """
    if value is None:
        raise RecordError("no_value")
    if len(value) > MOST_RECORD_BYTES:
        raise RecordError("too_large")
    try:
        data = MetricsData.FromString(value)
    except DecodeError:
        raise RecordError("unreadable") from None
    if not data.resource_metrics:
        raise RecordError("nameless")
    metrics = [metric for each in data.resource_metrics for of_scope in each.scope_metrics for metric in of_scope.metrics]
    terminating = any(metric.name == TERMINATING for metric in metrics)
    found = ClientFacts(_client(data.resource_metrics[0].resource.attributes, terminating))
    for metric in metrics:
        if (known := BY_METRIC.get(metric.name)) is not None:
            _take(found, metric, *known)
        if (kind := BY_TOPIC.get(metric.name)) is not None:
            _take_topics(found, metric, kind)
    return found


def _client(attributes: Iterable[KeyValue], terminating: bool) -> TelemetrySender:
    """Whoever writes the topic has chosen them."""
    said: dict[str, Any] = {}
    for each in attributes:
        column, kind = ATTRIBUTES.get(each.key), each.value.WhichOneof("value")
        if column is not None and kind in ("string_value", "int_value", "bool_value"):
            said[column] = getattr(each.value, kind)
    return decode(TelemetrySender, json.dumps({**said, "terminating": terminating}).encode())


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


def rows_of_facts(values: pa.Array, key: DigestKey | None = None) -> pa.StructArray:
    """Records of ``clientscope.telemetry`` as rows of `CLIENT`, `COLUMNS`, `TOPICS` and ``decode_error``, one of `REASONS`.

    Args:
        key: makes placeholders that tell hidden names apart; without it all are alike.
    """
    names = ClientNames(key)
    read, errors = read_each(client_facts, values)
    said = {
        "client_kind": pa.array([each and each.kind for each in read], pa.string()),
        "interval_ms": pa.array([each and each.interval_ms for each in read], pa.int64()),
        **{fact.name: pa.array([each and each.values.get(fact.name) for each in read], pa.float64()) for fact in FACTS},
        TOPICS.name: pa.array([each and [name for name, _ in each.topics.most_common(MOST_TOPICS + 1)] for each in read], TOPICS.type),
    }
    return as_columns([each and names.of_record(each.client) for each in read], errors, _ROW, said)
