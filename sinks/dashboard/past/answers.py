"""Answers that cross the pipe between serve and the process that reads the past, as JSON has them.

Their fields are those of `clientscope.api.history`, which says what each means.
"""

from __future__ import annotations

from typing import Any, NotRequired, TypedDict, final

from clientscope.results import OriginName
from sinks.dashboard.past.problems import Kind


class SeriesOfSoftware(TypedDict):
    """Connections of one version of a client library, a number for each step."""

    software_name: str
    software_version: str
    connections: list[int | None]


class SeriesAnswer(TypedDict):
    """Connections over time; `clientscope.api.history.PastSeries`."""

    from_ms: int
    to_ms: int
    step_ms: int
    points: list[int]
    connections: list[int | None]
    versions: list[SeriesOfSoftware]
    other: list[int | None]


class SeenClient(TypedDict):
    """Connections that shared an identity; `clientscope.api.history.PastClient`."""

    client_id: str | None
    application: str | None
    owner: str | None
    brokers: list[int]
    principal: str | None
    address: str
    software_name: str
    software_version: str
    first_seen_ms: int
    last_seen_ms: int
    connections: int
    open: int


class ClientsAnswer(TypedDict):
    """A part of a list of clients; ``total`` is the length of the whole list."""

    total: int
    items: list[SeenClient]
    complete_ms: NotRequired[int | None]


class SeenChange(TypedDict):
    """A setting that differs from the push before; `clientscope.api.clients.SettingChange`."""

    key: str
    before: str | None
    after: str | None


class SeenStart(TypedDict):
    """A pushed configuration; `clientscope.api.history.PastStart`."""

    instance_id: str | None
    client_id: str | None
    principal: str | None
    address: str
    software_name: str
    software_version: str
    pushed_ms: int
    origin: OriginName
    client_type: str | None
    settings: int
    redacted: int
    first: bool
    changes: list[SeenChange] | None
    pushed: list[dict[str, Any]] | None


class StartsAnswer(TypedDict):
    """A part of a list of pushed configurations; ``total`` is the length of the whole list."""

    total: int
    items: list[SeenStart]
    complete_ms: NotRequired[int | None]


class SeenDifference(TypedDict):
    """Starts of alike clients against the ones before; `clientscope.api.history.PastDifference`."""

    client_type: str | None
    principal: str | None
    clients: int
    client_ids: list[str | None]
    before: SeenStart | None
    after: SeenStart
    changes: list[SeenChange] | None


class DifferencesAnswer(TypedDict):
    """All differences that were found; ``unread`` counts the records that were not compared."""

    unread: int
    items: list[SeenDifference]
    complete_ms: NotRequired[int | None]


class FactOverTime(TypedDict):
    """A fact, a number for each step; `clientscope.api.history.PastFact`."""

    name: str
    curve: str
    line: str
    unit: str
    setting: str
    values: list[float | None]


class FactsOfKind(TypedDict):
    """What producers or consumers said; `clientscope.api.history.PastFactsOfKind`."""

    kind: str
    instances: int
    facts: list[FactOverTime]


class ClientFactsAnswer(TypedDict):
    """Facts of clients' own metrics; `clientscope.api.history.PastClientFacts`."""

    from_ms: int
    to_ms: int
    step_ms: int
    points: list[int]
    recorded: bool
    kinds: list[FactsOfKind]


class FindingState(TypedDict):
    """A recorded state of a finding; `clientscope.api.history.PastFinding`."""

    fingerprint: str
    revision: int
    code: str
    name: str
    kind: str
    severity: str
    confidence: str
    state: str
    message: str
    principal: str | None
    client_id: str | None
    group: str | None
    client_count: int
    reopened: int
    owner: str | None
    decided_as: str | None
    decided_by: str | None
    recorded_ms: int
    first_seen_ms: int
    last_seen_ms: int
    opened_ms: int
    ended_ms: int | None


class FindingsAnswer(TypedDict):
    """A part of a list of findings; ``total`` is the length of the whole list."""

    total: int
    items: list[FindingState]


PastAnswer = SeriesAnswer | ClientsAnswer | StartsAnswer | DifferencesAnswer | ClientFactsAnswer | FindingsAnswer


@final
class QueryFault(TypedDict):
    """The fields of a `clientscope.query.QueryError`."""

    detail: str
    position: int
    length: int
    expected: list[str]


@final
class ReadFault(TypedDict):
    """The fields of a `sinks.dashboard.past.problems.NoAnswer`; ``reason`` is for the log alone."""

    kind: Kind
    detail: str
    hint: str
    reason: str


class PastReply(TypedDict, total=False):
    """A line of the process's output: either of the two."""

    answer: PastAnswer
    error: QueryFault | ReadFault
