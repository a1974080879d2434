"""Values of ``clientscope.results``: the verdicts of all rules on one push."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from clientscope.records.enums import Origin
from clientscope.topic_values import Count, Name, Sentence, Setting, TopicValue, Value

Codes = Annotated[list[Name], Field(max_length=1_000)]
"""Codes of rules."""


class Fired(Value):
    """A rule that fired on a push."""

    code: Name
    name: Name = ""
    severity: Name = "unknown"
    settings: Annotated[list[Setting], Field(max_length=1_000, default_factory=list)]
    message: Sentence = ""


class ResultValue(TopicValue):
    """Value of ``clientscope.results``: the verdicts of all rules on one push."""

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
    origin: Origin
    application: Annotated[str, Field(max_length=4_096)] = ""
    settings: Count
    redacted: Count
    rules: Annotated[list[Fired], Field(max_length=1_000, default_factory=list)]
    passed: Annotated[Codes, Field(default_factory=list)]
    not_evaluable: Annotated[Codes, Field(default_factory=list)]
