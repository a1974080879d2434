"""Records of ``clientscope.inputs``: what the engines of findings and gauges take in beside the results of pushes."""

from __future__ import annotations

from dataclasses import dataclass

from clientscope.model.connection import ClientConnectionRecord
from clientscope.model.fields import READ, ClientKey, Id32, Id64, Ms, Name, Version

MOST_KEY_BYTES = 1_024
"""Longer keys of ``clientscope.configs``, and those that are no text, are none of clientscope's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InputRecord:
    """Value of ``clientscope.inputs``: a record of ``clientscope.connections``, redacted.

    Attributes:
        topic, partition, offset: where that record is.
        appended_ms: when Kafka took it, in ms since the epoch.
        client: `clientscope.model.client_key` of the connection's client.
    """

    __pydantic_config__ = READ

    version: Version
    topic: Name
    partition: Id32
    offset: Id64
    appended_ms: Ms
    client: ClientKey
    record: ClientConnectionRecord
