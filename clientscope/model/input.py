"""Records of ``clientscope.inputs``: what the engines of findings and gauges take in beside the results of pushes."""

from __future__ import annotations

from clientscope.model.connection import ClientConnectionRecord
from clientscope.model.fields import ClientKey, Id32, Id64, Ms, Name, Version, record

MOST_KEY_BYTES = 1_024
"""Longer keys of ``clientscope.configs``, and those that are no text, are none of clientscope's."""


@record
class InputRecord:
    """Value of ``clientscope.inputs``: a record of ``clientscope.connections``, redacted.

    Attributes:
        topic, partition, offset: where that record is.
        appended_ms: when Kafka took it, in ms since the epoch.
        client: `clientscope.model.client_key` of the connection's client.
    """

    version: Version
    topic: Name
    partition: Id32
    offset: Id64
    appended_ms: Ms
    client: ClientKey
    record: ClientConnectionRecord
