"""Facts about a client from its own metrics (KIP-714), as data: the metrics that each comes from, its unit, and how facts are summed up.

Names are those of OTLP's metrics: Kafka's, with dots. Java's clients and librdkafka use the same ones, of which librdkafka has few.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

PREFIX = "org.apache.kafka."
"""Of all names here."""

ClientKind = Literal["producer", "consumer"]

Unit = Literal["ms", "per second", "bytes", "bytes per second", "ratio", "records", ""]

How = Literal["greatest", "least", "mean", "rate", "count"]
"""What a fact is over time and over several instances: rates are averaged over time and added over instances, counts always added."""


@dataclass(frozen=True)
class Fact:
    """One fact. It is null where the client doesn't say it.

    Attributes:
        name: in tables, metrics and the API; never used again for something else.
        title: for a person.
        producer, consumer: the metric that says it of such a client, without `PREFIX`; empty for none. A fact that is a ``rate`` or a
            ``count`` is from a counter, of which clients push what was added since their last push.
        exported: whether `/metrics` has it, for each version of a library.
    """

    name: str
    title: str
    unit: Unit
    how: How
    producer: str = ""
    consumer: str = ""
    exported: bool = False

    @property
    def is_counted(self) -> bool:
        """Whether its metric is a counter."""
        return self.how in ("rate", "count")


_FETCHES = "consumer.fetch.manager"
_COORDINATOR = "consumer.coordinator"

FACTS = (
    Fact("request_latency_avg_ms", "Request latency, average", "ms", "mean", "producer.request.latency.avg"),
    Fact("request_latency_max_ms", "Request latency, highest", "ms", "greatest", "producer.request.latency.max", exported=True),
    Fact("queue_time_avg_ms", "Time in the send queue, average", "ms", "mean", "producer.record.queue.time.avg"),
    Fact("queue_time_max_ms", "Time in the send queue, longest", "ms", "greatest", "producer.record.queue.time.max", exported=True),
    Fact("fetch_latency_avg_ms", "Fetch latency, average", "ms", "mean", consumer=f"{_FETCHES}.fetch.latency.avg"),
    Fact("fetch_latency_max_ms", "Fetch latency, highest", "ms", "greatest", consumer=f"{_FETCHES}.fetch.latency.max", exported=True),
    Fact("poll_interval_max_ms", "Time between polls, longest", "ms", "greatest", consumer="consumer.time.between.poll.max", exported=True),
    Fact("poll_idle_ratio", "Time spent waiting in poll", "ratio", "mean", consumer="consumer.poll.idle.ratio.avg"),
    Fact("lag_max_records", "Lag of the partition with most", "records", "greatest", consumer=f"{_FETCHES}.records.lag.max", exported=True),
    Fact("record_rate", "Records", "per second", "rate", "producer.record.send.total", f"{_FETCHES}.records.consumed.total"),
    Fact("byte_rate", "Bytes sent or received", "bytes per second", "rate", "producer.outgoing.byte.total", "consumer.incoming.byte.total"),
    Fact("request_rate", "Requests", "per second", "rate", "producer.request.total", "consumer.request.total"),
    Fact("fetch_rate", "Fetches", "per second", "rate", consumer=f"{_FETCHES}.fetch.total"),
    Fact("fetch_size_avg_bytes", "Size of a fetch, average", "bytes", "mean", consumer=f"{_FETCHES}.fetch.size.avg"),
    Fact("batch_size_avg_bytes", "Size of a batch, average", "bytes", "mean", "producer.batch.size.avg"),
    Fact("buffer_available_bytes", "Free buffer memory, least", "bytes", "least", "producer.buffer.available.bytes"),
    Fact("buffer_total_bytes", "Buffer memory", "bytes", "greatest", "producer.buffer.total.bytes"),
    Fact("record_errors", "Records given up", "records", "count", "producer.record.error.total", exported=True),
    Fact("record_retries", "Records sent again", "records", "count", "producer.record.retry.total", exported=True),
    Fact("rebalances", "Rebalances", "", "count", consumer=f"{_COORDINATOR}.rebalance.total", exported=True),
    Fact("rebalances_failed", "Rebalances that failed", "", "count", consumer=f"{_COORDINATOR}.failed.rebalance.total", exported=True),
    Fact("rebalance_latency_max_ms", "Rebalance, longest", "ms", "greatest", consumer=f"{_COORDINATOR}.rebalance.latency.max"),
    Fact(
        "throttle_time_max_ms", "Throttling by the broker, longest", "ms", "greatest",
        "producer.produce.throttle.time.max", f"{_FETCHES}.fetch.throttle.time.max", exported=True,
    ),
)  # fmt: skip
"""Every fact, in the order in which the page shows them."""

BY_METRIC: dict[str, tuple[ClientKind, Fact]] = {
    **{PREFIX + fact.producer: ("producer", fact) for fact in FACTS if fact.producer},
    **{PREFIX + fact.consumer: ("consumer", fact) for fact in FACTS if fact.consumer},
}
"""What each metric says, by its whole name."""
