"""Records of ``clientscope.status``: one per process, query or broker; the newest counts, and a tombstone removes it."""

from __future__ import annotations

import json
from dataclasses import field
from typing import Annotated, Literal

from pydantic import Field

from clientscope.model.fields import Count, Id32, Int32, Int64, Sentence, ShownMs, ShownName, Version, record

Condition = Literal["ok", "starting", "warn", "failed", "stopped"]
"""``stopped``: it was stopped on request.  A process that falls silent without it is stale, and readers report that."""

STALE_AFTER = 3
"""Intervals without a record, by Kafka's time, after which the last record no longer counts."""


@record
class ProcessStatus:
    """How one of our processes is, or one query of the job, or one receiver of alerts.

    Attributes:
        kind: what it is; ``query`` is one of the job's, ``receiver`` one of deliver's.
        id: which one: a gateway's id, a query's or receiver's name, else its host.
        condition, reason: how it is, and why in one sentence, empty where it is well.
        release: clientscope's.
        started_ms, told_ms: of this process; by its own clock.
        interval_ms: how often it is written, whether anything changed or not.
        lag_records, lag_ms: what it has still to read, and how old the oldest of that is; None where that means nothing, or isn't known.
        last_record_ms: when it last read a record, or of a gateway had one acknowledged; None before the first.
        figures: further numbers by name, such as ``open_connections``; for people, not for programs.
    """

    version: Version = 1
    kind: Literal["gateway", "stream", "query", "deliver", "receiver", "serve"]
    id: ShownName
    condition: Condition
    reason: Sentence = ""
    release: ShownName = ""
    started_ms: ShownMs
    told_ms: ShownMs
    interval_ms: Annotated[int, Field(ge=100, le=3_600_000)]
    lag_records: Count | None = None
    lag_ms: Count | None = None
    last_record_ms: ShownMs | None = None
    figures: Annotated[dict[ShownName, Int64], Field(max_length=50)] = field(default_factory=dict)

    @property
    def key(self) -> bytes:
        """The record's key."""
        return status_key(self.kind, self.id)


@record
class BrokerStatus:
    """One broker of a cluster, as a gateway sees it (KIP-35, KIP-885).

    Attributes:
        id: ``cluster/broker``.
        software_name, software_version: empty if unknown; a version may be a range, as ``4.3 or 4.4``.
        source: how that is known: ``declared``, ``jmx``, ``inferred`` or ``unknown``.
        apis: by API key, as text, the lowest and the highest version it takes; empty where it could not be asked.
        reason: why it could not be asked; empty where it could.
        gateway: the gateway that wrote it.
    """

    version: Version = 1
    kind: Literal["broker"] = "broker"
    id: ShownName
    cluster: ShownName
    broker: Id32
    host: ShownName = ""
    port: Annotated[int, Field(ge=0, le=65_535)] = 0
    rack: ShownName = ""
    software_name: ShownName = ""
    software_version: ShownName = ""
    source: ShownName = "unknown"
    apis: Annotated[dict[ShownName, tuple[Int32, Int32]], Field(max_length=500)] = field(default_factory=dict)
    reason: Sentence = ""
    gateway: ShownName = ""
    told_ms: ShownMs
    interval_ms: Annotated[int, Field(ge=100, le=86_400_000)]

    @property
    def key(self) -> bytes:
        """The record's key."""
        return status_key(self.kind, self.id)


def status_key(kind: str, name: str) -> bytes:
    """A record's key: JSON, so that a name may hold anything."""
    return json.dumps([kind, name], separators=(",", ":")).encode()
