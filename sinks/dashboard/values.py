"""The JSON values of the topics that the page reads, as types."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from clientscope.topic_values import Count, Name, Sentence, Setting, Value

Codes = Annotated[list[Name], Field(max_length=1_000)]
"""Of rules."""


class Fired(Value):
    """A rule that fired on a push."""

    code: Name
    name: Name = ""
    severity: Name = "unknown"
    settings: Annotated[list[Setting], Field(max_length=1_000, default_factory=list)]
    message: Sentence = ""


class GaugeValue(Value):
    """Value of ``clientscope.gauges``: the connections of one series at one gateway."""

    cluster: Name
    broker: int
    gateway: Name
    listener: Name
    software_name: Name
    software_version: Name
    connections: Count
    opened: Count = 0
    closed: Count = 0
    epoch: int = 0
    sequence: int = 0
    timestamp_ms: int = 0


class GatewayValue(Value):
    """Value of ``clientscope.gauges``: what concerns a gateway as a whole.  None is what it doesn't tell."""

    cluster: Name
    broker: int
    gateway: Name
    instances: Count
    opened_per_minute: Count | None = None
    closed_per_minute: Count | None = None
    opened: Count | None = None
    closed: Count | None = None
    other_series: Count = 0
    clock_skew_minutes: int = 0
    epoch: int = 0

    @property
    def figures(self) -> tuple[int | None, ...]:
        """What is shown."""
        return self.instances, self.opened_per_minute, self.closed_per_minute, self.other_series


class ResultValue(Value):
    """Value of ``clientscope.results``: what every rule said of one push."""

    topic: Name
    partition: int
    offset: int
    received_ms: int
    cluster: Name
    broker: int
    gateway: Name
    epoch: int
    connection: int
    listener: Name
    security_protocol: Name = ""
    address: Name
    principal: Name | None = None
    client_id: Name | None = None
    software_name: Name
    software_version: Name
    instance_id: Name | None = None
    origin: Literal["pushed", "observed"]
    application: Annotated[str, Field(max_length=4_096)] = ""
    settings: Count
    redacted: Count
    rules: Annotated[list[Fired], Field(max_length=1_000, default_factory=list)]
    passed: Annotated[Codes, Field(default_factory=list)]
    not_evaluable: Annotated[Codes, Field(default_factory=list)]
