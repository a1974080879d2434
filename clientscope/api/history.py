"""API models of the time before the topics begin, read from history's tables. Times are in ms since the epoch, UTC."""

from __future__ import annotations

from dataclasses import field
from typing import Annotated

from pydantic import Field

from clientscope.api.clients import EffectiveSetting, SeriesOfVersion, SettingChange, Start
from clientscope.api.common import model
from clientscope.model.client import Client
from clientscope.model.fields import ShownName
from clientscope.model.finding import Finding


@model
class PastThere:
    """Whether there is any history here."""

    configured: bool
    """False: start serve with --history-dir, the streaming job's."""


@model
class PastSteps:
    """A time asked about, in steps."""

    from_ms: int
    to_ms: int
    step_ms: int
    points: Annotated[list[int], Field(description="When each step begins.")]


@model
class PastSeries(PastSteps):
    """Connections over time; every list is as long as `points`, and null is a step of which nothing was recorded, never zero."""

    connections: list[int | None]
    """The most that were open at once in a step, by the minute; with `q`, all that were open at any moment of it."""
    versions: list[SeriesOfVersion]
    """The eight that had most connections in all; the most of each in a step, so they may add up to more than `connections`."""
    other: list[int | None]
    """The most at once of all other versions together."""


NOT_SHARED = frozenset({"key", "broker", "gateway", "instance_id"})
"""What clients of the past aren't told apart by."""


@model
class PastClientRow(Client):
    """Connections that shared an identity but for `NOT_SHARED`, which are null or empty."""

    application: str | None
    """client_id without its instance part."""
    owner: str | None = None
    """The team that owners.toml names; null where none fits."""
    brokers: list[int] = field(default_factory=list)
    """Ids of those that it was connected to."""
    first_seen_ms: int
    """Within the time asked about; its beginning where it was connected then."""
    last_seen_ms: int
    """Within the time asked about; its end where it was connected then."""
    connections: int
    """That ended in that time or were open at its end; one at least."""
    open: int
    """Of them those that were open at its end."""


_COMPLETE = "Until when history has all of it: `to_ms`, or earlier where the job hasn't written the rest yet; null for nothing."


@model
class PastSpan:
    """A time asked about."""

    from_ms: int
    to_ms: int
    complete_ms: Annotated[int | None, Field(description=_COMPLETE)] = None


@model
class PastListing(PastSpan):
    """A list of what was in a time asked about."""

    total: Annotated[int, Field(description="Length of the whole list.")]
    offset: Annotated[int, Field(description="How many of them come before `items`.")]


@model
class PastClients(PastListing):
    """Clients that were connected, those seen last first unless `sort` says otherwise."""

    items: list[PastClientRow]


@model
class PastStart(Start):
    """One configuration that a client pushed at its start, as what changed since the one before."""

    seen: bool = False
    """In a difference: settings that its requests showed, rather than a start."""
    client_type: str | None
    """producer, consumer, …, as its settings show; null if they don't."""
    setting_count: int
    """How many it pushed."""
    redacted_count: int
    """How many of them were withheld."""
    first: bool
    """Nothing in the time asked about comes before it that it could be compared with."""
    changes: list[SettingChange] | None
    """To the push before of the same kind of client, of its client.id if there is one; null where there is none near."""
    pushed: list[EffectiveSetting] | None = None
    """What it pushed; null where that was not asked for."""


@model
class PastStarts(PastListing):
    """The newest first."""

    items: list[PastStart]


@model
class PastDifference:
    """The newest start of clients in a period against the newest one before it: those that changed in the same way together.

    Of a client that pushes nothing: what was last seen of its requests, if a setting or its software was seen otherwise before.
    """

    client_type: str | None
    """producer, consumer, …, as its settings show; null if they don't."""
    principal: ShownName | None
    clients: int
    """How many client.ids changed so."""
    client_ids: list[ShownName | None]
    """At most ten of them."""
    before: PastStart | None
    """Of the first of them, or of another client.id of its application; null where there is none in the 30 days before."""
    after: PastStart
    """Of the first of them."""
    changes: list[SettingChange] | None
    """Of settings; empty where none differs, null where there is no `before`."""


@model
class PastDifferences(PastSpan):
    """What a period has changed, the newest first."""

    unread: int
    """Records of that time that were not compared, since they are too many."""
    items: list[PastDifference]


@model
class PastFact:
    """A fact from clients' own metrics over time."""

    name: str
    """The column of the table `client_facts`; docs/telemetry.md has them all."""
    curve: str
    """What it is of; facts of one curve belong together."""
    line: str
    """Which of the curve's it is; empty where there is one."""
    unit: str
    setting: str
    """Kafka's name of the setting that limits or explains it; empty for none."""
    values: list[float | None]
    """As long as `points`; null is a step in which no client said it, never zero."""


@model
class PastFactsOfKind:
    """What producers or consumers said."""

    kind: str
    """producer or consumer."""
    instances: int
    """How many instances pushed metrics; rates and counts are of all together."""
    facts: list[PastFact]
    """Those that any of them said."""


@model
class PastClientFacts(PastSteps):
    """Facts from clients' own metrics (KIP-714)."""

    recorded: bool
    """Whether the job has ever recorded clients' metrics: it does with `--client-telemetry`."""
    kinds: list[PastFactsOfKind]
    """Empty where nothing was pushed in that time."""


@model
class PastFindings:
    """What to fix first first, unless `sort` says otherwise; each as the table has it, without settings, clients, places and evidence."""

    total: int
    """Length of the whole list."""
    offset: int
    """How many of them come before `items`."""
    items: list[Finding]
