"""Facts about a client from its own metrics (KIP-714), as data: the metrics that each comes from, its unit, and how facts are summed up.

Names are those of OTLP's metrics: Kafka's, with dots. Java's clients and librdkafka use the same ones, of which librdkafka has few.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from importlib.resources import files
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


FACTS = tuple(Fact(**each) for each in tomllib.loads(files("clientscope.catalog").joinpath("client_facts.toml").read_text("utf-8"))["fact"])
"""Every fact, in the order in which the page shows them."""

BY_METRIC: dict[str, tuple[ClientKind, Fact]] = {
    **{PREFIX + fact.producer: ("producer", fact) for fact in FACTS if fact.producer},
    **{PREFIX + fact.consumer: ("consumer", fact) for fact in FACTS if fact.consumer},
}
"""What each metric says, by its whole name."""

BY_TOPIC: dict[str, ClientKind] = {
    f"{PREFIX}producer.topic.record.send.total": "producer",
    f"{PREFIX}consumer.fetch.manager.records.consumed.total": "consumer",
}
"""Counters that Java's clients push for each topic that they write or read, with the label `TOPIC`."""

TOPIC = "topic"
