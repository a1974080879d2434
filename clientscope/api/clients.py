"""API models of connections, clients and one client, and of counts of them. Times are in ms since the epoch, UTC."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from clientscope.api.common import DESCRIBED, Feed, Listing, model
from clientscope.model.client import Client
from clientscope.model.enums import Origin
from clientscope.model.finding import Finding
from clientscope.model.gauge import Gauge
from clientscope.model.setting import Setting
from clientscope.risks import Risk
from clientscope.severities import Severity

GroupBy = Literal["application", "owner", "principal", "software", "address", "broker"]
"""What clients are put together by; ``software`` is a name and a version."""


@model
class FindingsSummary:
    """What is open of a client, or stopped; none that is suppressed or of low confidence."""

    worst: Severity | None
    """Null where there is none."""
    count: int


@model
class ConnectionRow(Client):
    """An open connection, and whose it is."""

    epoch: int
    connection: int
    listener: str
    security_protocol: str
    opened_ms: int | None
    """Null where it was opened before the records that were read."""
    seen_ms: int
    """When a record first had it."""
    owner: str | None = None
    """The team of its client."""


@model
class Connections(Listing):
    """Open connections, by client id, software and address unless `sort` says otherwise."""

    items: list[ConnectionRow]


@model
class ClientRow(Client):
    """Open connections that share an identity, or the last ones that did; `since_ms` is the oldest one's."""

    listener: str
    security_protocol: str
    application: str | None
    """client_id without its instance part."""
    owner: str | None
    """The team that owners.toml names; null where none fits."""
    connections: int
    since_ms: int
    since_exact: bool
    """False where it was opened before the records that were read."""
    disconnected_ms: int | None
    """When it closed its last connection; null while it has one."""
    opened_per_minute: float
    """Connections that it opened in the last five minutes, by minute."""
    bytes_in_per_second: int | None
    """From the client, at the last heartbeat; null where it wasn't measured."""
    bytes_out_per_second: int | None
    """To the client, likewise."""
    active_ms: int | None
    """The last heartbeat of its gateway in whose time any bytes passed."""
    risks: tuple[Risk, ...]
    """What may happen by its findings."""
    findings: FindingsSummary | None
    """Null where its configuration was not judged: that is not clean."""


@model
class ClientList(Listing):
    """Connected clients, by client id, software and address unless `sort` says otherwise."""

    items: list[ClientRow]


@model
class GroupFindings:
    """Findings of the judged clients of a group."""

    worst: Severity | None
    """Null where there is none."""
    clients: int
    """How many of them have any."""


@model
class ClientGroup:
    """Connected clients that share something."""

    label: str | None
    """What they share, as it may be shown; null where they have none."""
    q: str
    """The query that leaves just these, put after the one that was asked with."""
    clients: int
    connections: int
    not_judged: int
    """Clients whose configuration was not judged."""
    findings: GroupFindings | None
    """Null where none of them was judged."""


@model
class ClientGroups(Listing):
    """Most connections first unless `sort` says otherwise: label, clients, connections, worst."""

    group: GroupBy
    items: list[ClientGroup]


@model
class FacetValue:
    """One value, and how many clients have it."""

    value: str | None
    """Null where clients have none."""
    clients: int
    q: str
    """The term that leaves just these."""


@model
class Facet:
    """The most frequent values of one field among the clients that `q` leaves."""

    field: str
    values: list[FacetValue]
    others: int
    """Clients that have another value."""
    other_values: int
    """How many other values there are."""


@model
class Facets(Listing):
    """Counts for narrowing a list, whose ``total`` clients they are of."""

    items: list[Facet]


@dataclass(frozen=True, slots=True)
class EffectiveSetting(Setting):
    """One setting of a client, under Kafka's name where it has one, with the value that holds."""

    __pydantic_config__ = DESCRIBED

    pushed: str | None = None
    """What the client said, where that isn't `value`: its own spelling, or undone by other settings."""
    reported: bool = True
    """False of a default that the client left out, and that is known from its library's release."""


@model
class Configuration:
    """What a client last pushed, and what its library makes of it."""

    pushed_ms: int
    """Kafka's time."""
    origin: Origin
    dialect: str | None
    """The client library whose names and defaults they are; null where it isn't known."""
    client_type: str | None
    """producer, consumer, …, as its settings show; null if they don't."""
    whole: bool
    """Nothing that has a value is missing; else settings that aren't listed may have any value."""
    settings: list[EffectiveSetting]


@model
class SettingChange:
    """One setting that differs from the start before; a withheld value is a word in brackets."""

    key: str
    before: str | None
    """Null where it wasn't there."""
    after: str | None
    """Null where it isn't there any more."""


@model
class Start(Client):
    """One start of an application: what pushed then, and when."""

    pushed_ms: Annotated[int, Field(description="Kafka's time.")]


@model
class ClientStart(Start):
    """One start of a client's application, as what changed since the start before."""

    this: bool
    """It is this client's own."""
    changes: list[SettingChange] | None
    """To the start before; null of the oldest, and where one of both is gone."""


@model
class UnjudgedRule:
    """A rule that could not judge a client's last push."""

    code: str
    name: str
    """Empty for a rule that this release doesn't know."""
    why: str
    """What it needs and did not get, in one sentence."""


@model
class ClientDetail:
    """One client, whether it is connected or has just gone."""

    version: int
    feed: Feed
    client: ClientRow
    connected: bool
    """False: it has gone, and this is how it was last seen."""
    connections: list[ConnectionRow]
    """The oldest first, at most a hundred."""
    configuration: Configuration | None = None
    why: str | None = None
    """Why `configuration` or `starts` is null, in one sentence."""
    findings: list[Finding] | None
    """What to fix first first; null where it was not judged."""
    not_judged_by: list[UnjudgedRule] | None = None
    """Rules that could not judge its last push; null where no result of it is kept."""
    starts: list[ClientStart] | None = None
    """The newest first, at most ten; null where they could not be read."""
    starts_of: Literal["client", "application"]
    """`application`: starts at other addresses are among them."""


@model
class GaugeList(Listing):
    """Every series of every gateway, largest first."""

    items: list[Gauge]


@model
class SeriesOfVersion:
    """Connections of one software version, minute by minute."""

    software_name: str
    software_version: str
    connections: list[int | None]


@model
class Series:
    """Numbers by minute; every list is as long as `minutes`, and null is not known, never zero."""

    version: int
    feed: Feed
    minutes: list[int]
    """When each begins; the last one is still going on."""
    connections: list[int | None]
    """Open, at the end of each minute."""
    versions: list[SeriesOfVersion]
    """The eight that had most connections, the most first."""
    other: list[int | None]
    """Connections of all the other versions."""
    opened: list[int | None]
    closed: list[int | None]
    pushes: list[int | None]
    """Pushed configurations, as `pushes` of the overview counts them."""


@model
class ApiRange:
    """One API of Kafka's protocol, and its versions at a broker (KIP-35)."""

    api_key: int
    name: str
    """Kafka's name; empty where it isn't known."""
    lowest: int
    highest: int


@model
class BrokerItem:
    """A broker, as a gateway sees it."""

    cluster: str
    broker: int
    host: str
    port: int
    rack: str
    software_name: str | None
    """Null if unknown."""
    software_version: str | None
    """May be a range, such as 4.3 or 4.4."""
    source: str
    """How that is known: declared, jmx, inferred or unknown."""
    apis: list[ApiRange] | None
    """Null where it could not be asked."""
    reason: str
    """Why it could not be asked; empty where it could."""
    gateway: str
    """Which gateway reports it."""
    told_ms: int
    """Kafka's time of what it said."""
    stale: bool
    """That gateway is silent for longer than it should be: this counts no longer."""


@model
class RangeAt:
    """What brokers say that say the same of an API."""

    brokers: list[int]
    lowest: int | None
    """Null where they don't have it."""
    highest: int | None


@model
class Difference:
    """An API about which brokers of one cluster differ: most often a rolling upgrade seen half way."""

    cluster: str
    api_key: int
    name: str
    ranges: list[RangeAt]


@model
class Brokers(Listing):
    """By cluster and id."""

    items: list[BrokerItem]
    differences: list[Difference]
