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
        curve: what it is of, for a person; facts of one curve are drawn together.
        line: which of the curve's it is; empty where there is one.
        producer, consumer: the metric that says it of such a client, without `PREFIX`; empty for none. A fact that is a ``rate`` or a
            ``count`` is from a counter, of which clients push what was added since their last push.
        setting: Kafka's name of the setting that the curve is best seen beside; empty for none.
        exported: whether the job's `/metrics` has it, by version of a library.
    """

    name: str
    curve: str
    line: str
    unit: Unit
    how: How
    producer: str = ""
    consumer: str = ""
    setting: str = ""
    exported: bool = False

    @property
    def title(self) -> str:
        """What it is, for a person."""
        return ", ".join(filter(None, (self.curve, self.line)))

    @property
    def is_counted(self) -> bool:
        """Whether its metric is a counter."""
        return self.how in ("rate", "count")


_FETCHES = "consumer.fetch.manager"
_GROUP = "consumer.coordinator"

FACTS = (
    Fact("request_latency_avg_ms", "Request latency", "average", "ms", "mean", "producer.request.latency.avg",
         setting="request.timeout.ms"),
    Fact("request_latency_max_ms", "Request latency", "highest", "ms", "greatest", "producer.request.latency.max", exported=True),
    Fact("queue_time_avg_ms", "Wait in the send queue", "average", "ms", "mean", "producer.record.queue.time.avg", setting="linger.ms"),
    Fact("queue_time_max_ms", "Wait in the send queue", "longest", "ms", "greatest", "producer.record.queue.time.max", exported=True),
    Fact("poll_interval_max_ms", "Time between polls", "longest", "ms", "greatest", consumer="consumer.time.between.poll.max",
         setting="max.poll.interval.ms", exported=True),
    Fact("lag_max_records", "Lag", "partition with most", "records", "greatest", consumer=f"{_FETCHES}.records.lag.max", exported=True),
    Fact("fetch_latency_avg_ms", "Fetch latency", "average", "ms", "mean", consumer=f"{_FETCHES}.fetch.latency.avg",
         setting="fetch.max.wait.ms"),
    Fact("fetch_latency_max_ms", "Fetch latency", "highest", "ms", "greatest", consumer=f"{_FETCHES}.fetch.latency.max", exported=True),
    Fact("record_rate", "Records", "", "per second", "rate", "producer.record.send.total", f"{_FETCHES}.records.consumed.total"),
    Fact("byte_rate", "Bytes on the wire", "", "bytes per second", "rate", "producer.outgoing.byte.total", "consumer.incoming.byte.total"),
    Fact("request_rate", "Requests", "", "per second", "rate", "producer.request.total", "consumer.request.total"),
    Fact("fetch_rate", "Fetches", "", "per second", "rate", consumer=f"{_FETCHES}.fetch.total"),
    Fact("fetch_size_avg_bytes", "Size of a fetch", "average", "bytes", "mean", consumer=f"{_FETCHES}.fetch.size.avg",
         setting="fetch.min.bytes"),
    Fact("batch_size_avg_bytes", "Size of a batch", "average", "bytes", "mean", "producer.batch.size.avg", setting="batch.size"),
    Fact("buffer_available_bytes", "Buffer memory", "free, least", "bytes", "least", "producer.buffer.available.bytes",
         setting="buffer.memory"),
    Fact("buffer_total_bytes", "Buffer memory", "in all", "bytes", "greatest", "producer.buffer.total.bytes"),
    Fact("record_errors", "Failed records", "given up", "records", "count", "producer.record.error.total", setting="delivery.timeout.ms",
         exported=True),
    Fact("record_retries", "Failed records", "sent again", "records", "count", "producer.record.retry.total", exported=True),
    Fact("poll_idle_ratio", "Time spent waiting in poll", "average", "ratio", "mean", consumer="consumer.poll.idle.ratio.avg"),
    Fact("rebalances", "Rebalances", "all", "", "count", consumer=f"{_GROUP}.rebalance.total", setting="session.timeout.ms", exported=True),
    Fact("rebalances_failed", "Rebalances", "failed", "", "count", consumer=f"{_GROUP}.failed.rebalance.total", exported=True),
    Fact("rebalance_latency_max_ms", "Duration of a rebalance", "longest", "ms", "greatest", consumer=f"{_GROUP}.rebalance.latency.max"),
    Fact("throttle_time_max_ms", "Throttling by the broker", "longest", "ms", "greatest", "producer.produce.throttle.time.max",
         f"{_FETCHES}.fetch.throttle.time.max", exported=True),
)  # fmt: skip
"""Every fact, in the order in which the page shows them."""

BY_METRIC: dict[str, tuple[ClientKind, Fact]] = {
    **{PREFIX + fact.producer: ("producer", fact) for fact in FACTS if fact.producer},
    **{PREFIX + fact.consumer: ("consumer", fact) for fact in FACTS if fact.consumer},
}
"""What each metric says, by its whole name."""

BY_TOPIC: dict[str, ClientKind] = {
    f"{PREFIX}producer.topic.record.send.total": "producer",
    f"{PREFIX}{_FETCHES}.records.consumed.total": "consumer",
}
"""Counters that Java's clients push for each topic that they write or read, with the label `TOPIC`."""

TOPIC = "topic"
