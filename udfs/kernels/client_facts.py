"""Facts of clients' own metrics: each record of ``clientscope.telemetry`` becomes a flat row of `clientscope.catalog.client_facts`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import pyarrow as pa
from google.protobuf.message import DecodeError
from opentelemetry.proto.metrics.v1.metrics_pb2 import AggregationTemporality, Metric, MetricsData, NumberDataPoint

from clientscope.catalog.client_facts import BY_METRIC, FACTS, ClientKind, Fact
from clientscope.errors import RecordError
from clientscope.records.telemetry import unpack
from clientscope.wire.telemetry import GZIP

COLUMNS = (
    pa.field("client_kind", pa.string()),
    pa.field("interval_ms", pa.int64()),
    *(pa.field(fact.name, pa.float64()) for fact in FACTS),
)
"""Columns that a record has in place of its metrics; ``interval_ms`` is the time that its counters are of."""

METRICS = "metrics"
"""The field of a record that has them."""

_NANOSECONDS = 1_000_000
_LONGEST_MS = 86_400_000
"""Counters of more than a day are no client's."""

_GREATEST = 1e18
"""No fact is greater; what a client pushes beyond that means nothing."""


@dataclass
class ClientFacts:
    """What a client says in one push.

    Attributes:
        kind: None of a client that is neither, and pushes none of the facts.
        interval_ms: since its last push, by its counters; None where it pushes none.
        values: by the facts' names; those that it doesn't say are missing.
    """

    kind: ClientKind | None = None
    interval_ms: int | None = None
    values: dict[str, float] = field(default_factory=dict)


def client_facts(metrics: bytes) -> ClientFacts:
    """The facts in one push; a number that is none, or negative, says nothing.

    Args:
        metrics: OTLP's MetricsData, uncompressed.

    Raises:
        RecordError: ``unreadable``.
    """
    try:
        data = MetricsData.FromString(metrics)
    except DecodeError:
        raise RecordError("unreadable") from None
    found = ClientFacts()
    for of_resource in data.resource_metrics:
        for of_scope in of_resource.scope_metrics:
            for metric in of_scope.metrics:
                known = BY_METRIC.get(metric.name)
                if known is not None:
                    _take(found, metric, *known)
    return found


def _take(found: ClientFacts, metric: Metric, kind: ClientKind, fact: Fact) -> None:
    counter = metric.WhichOneof("data") == "sum"
    # A counter since the client's start says nothing about the time since its last push.
    if counter and metric.sum.aggregation_temporality != AggregationTemporality.AGGREGATION_TEMPORALITY_DELTA:
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


def _whole(points: Iterable[NumberDataPoint]) -> tuple[float | None, int | None]:
    """The number of the client as a whole, which has no labels (those of a topic, a partition or a broker have), and the time it is of."""
    for point in points:
        if not point.attributes:
            value = float(point.as_int if point.WhichOneof("value") == "as_int" else point.as_double)
            milliseconds = (point.time_unix_nano - point.start_time_unix_nano) // _NANOSECONDS
            return value if 0 <= value <= _GREATEST else None, milliseconds if 0 < milliseconds <= _LONGEST_MS else None
    return None, None


def with_client_facts(records: pa.StructArray) -> tuple[pa.StructArray, pa.Array]:
    """Decoded records of ``clientscope.telemetry`` with `COLUMNS` in place of their metrics; and whether each one's can be read."""
    found = [_facts_of(metrics) for metrics in records.field(METRICS).to_pylist()]
    facts = [each or ClientFacts() for each in found]
    made = [
        pa.array([each.kind for each in facts], pa.string()),
        pa.array([each.interval_ms for each in facts], pa.int64()),
        *(pa.array([each.values.get(fact.name) for each in facts], pa.float64()) for fact in FACTS),
    ]
    kept = [field for field in records.type if field.name != METRICS]
    columns = [records.field(field.name) for field in kept]
    rows = pa.StructArray.from_arrays([*columns, *made], fields=[*kept, *COLUMNS])
    return rows, pa.array([int(each is not None) for each in found], pa.int8())


def _facts_of(packed: bytes | None) -> ClientFacts | None:
    """None where there are no metrics, or none that can be read."""
    if packed is None:
        return None
    try:
        return client_facts(unpack(GZIP, packed))
    except RecordError:
        return None
