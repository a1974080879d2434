"""API models of connections, clients and one client, and of counts of them. Times are in ms since the epoch, UTC."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from clientscope.api.common import Feed, Listing, Model
from clientscope.findings.record import Finding
from clientscope.gauges import Gauge
from clientscope.records.enums import Origin
from clientscope.risks import Risk
from clientscope.severities import Severity

GroupBy = Literal["application", "owner", "principal", "software", "address", "broker"]
"""What clients are put together by; ``software`` is a name and a version."""

Source = Literal["pushed", "default", "redacted"]


@dataclass(frozen=True, slots=True)
class FindingsSummary:
    """What is open of a client, or stopped; none that is suppressed or of low confidence."""

    worst: Annotated[Severity | None, Field(description="Null where there is none.")]
    count: int


@dataclass(frozen=True, slots=True)
class ConnectionRow:
    """An open connection."""

    cluster: str
    broker: int
    gateway: str
    epoch: int
    connection: int
    listener: str
    security_protocol: str
    address: str
    principal: str | None
    client_id: str | None
    software_name: str
    software_version: str
    instance_id: str | None
    opened_ms: Annotated[int | None, Field(description="Null where it was opened before the records that were read.")]
    seen_ms: Annotated[int, Field(description="When a record first had it.")]
    client: Annotated[str, Field(description="The `key` of its client.")]
    owner: Annotated[str | None, Field(description="The team of its client.")] = None


class Connections(Listing):
    """Open connections, by client id, software and address unless `sort` says otherwise."""

    items: list[ConnectionRow]


@dataclass(frozen=True, slots=True)
class ConnectedClient:
    """Open connections that share an identity, or the last ones that did; `since_ms` is the oldest one's."""

    key: Annotated[str, Field(description="Names this client in addresses; the same as long as its identity is.")]
    cluster: str
    broker: int
    gateway: str
    listener: str
    security_protocol: str
    address: str
    principal: str | None
    client_id: str | None
    software_name: str
    software_version: str
    instance_id: str | None
    application: Annotated[str | None, Field(description="client_id without its instance part.")]
    owner: Annotated[str | None, Field(description="The team that owners.toml names; null where none fits.")]
    connections: int
    since_ms: int
    since_exact: Annotated[bool, Field(description="False where it was opened before the records that were read.")]
    disconnected_ms: Annotated[int | None, Field(description="When it closed its last connection; null while it has one.")]
    opened_per_minute: Annotated[float, Field(description="Connections that it opened in the last five minutes, by minute.")]
    bytes_in_per_second: Annotated[int | None, Field(description="From the client, at the last heartbeat; null where it wasn't measured.")]
    bytes_out_per_second: Annotated[int | None, Field(description="To the client, likewise.")]
    active_ms: Annotated[int | None, Field(description="The last heartbeat of its gateway in whose time any bytes passed.")]
    risks: Annotated[tuple[Risk, ...], Field(description="What may happen by its findings.")]
    findings: Annotated[FindingsSummary | None, Field(description="Null where its configuration was not judged: that is not clean.")]


class ClientList(Listing):
    """Connected clients, by client id, software and address unless `sort` says otherwise."""

    items: list[ConnectedClient]


class GroupFindings(Model):
    """Findings of the judged clients of a group."""

    worst: Severity | None = Field(description="Null where there is none.")
    clients: int = Field(description="How many of them have any.")


class ClientGroup(Model):
    """Connected clients that share something."""

    label: str | None = Field(description="What they share, as it may be shown; null where they have none.")
    q: str = Field(description="The query that leaves just these, put after the one that was asked with.")
    clients: int
    connections: int
    not_judged: int = Field(description="Clients whose configuration was not judged.")
    findings: GroupFindings | None = Field(description="Null where none of them was judged.")


class ClientGroups(Listing):
    """Most connections first unless `sort` says otherwise: label, clients, connections, worst."""

    group: GroupBy
    items: list[ClientGroup]


class FacetValue(Model):
    """One value, and how many clients have it."""

    value: str | None = Field(description="Null where clients have none.")
    clients: int
    q: str = Field(description="The term that leaves just these.")


class Facet(Model):
    """The most frequent values of one field among the clients that `q` leaves."""

    field: str
    values: list[FacetValue]
    others: int = Field(description="Clients that have another value.")
    other_values: int = Field(description="How many other values there are.")


class Facets(Listing):
    """Counts for narrowing a list, whose ``total`` clients they are of."""

    items: list[Facet]


class EffectiveSetting(Model):
    """One setting of a client, under Kafka's name where it has one."""

    key: str
    value: str | None = Field(description="What holds; null where it isn't known, or was withheld.")
    pushed: str | None = Field(
        default=None, description="What the client said, where that isn't `value`: its own spelling, or undone by other settings."
    )
    source: Source = Field(description="`default` is the client library's, pushed by the client or known from its release.")
    reported: bool = Field(description="False of a default that the client left out.")
    type: str | None = Field(description="Of Kafka's ConfigDef.Type, such as INT; null where neither client nor catalogue says.")
    reason: str | None = Field(default=None, description="Why the value was withheld, in one word; null where it wasn't.")
    length: int | None = Field(default=None, description="Of a withheld value, in bytes.")
    digest: str | None = Field(default=None, description="Of a withheld value, under the installation's key, in hexadecimal.")


class Configuration(Model):
    """What a client last pushed, and what its library makes of it."""

    pushed_ms: int = Field(description="Kafka's time.")
    origin: Origin
    dialect: str | None = Field(description="The client library whose names and defaults they are; null where it isn't known.")
    client_type: str | None = Field(description="producer, consumer, …, as its settings show; null if they don't.")
    whole: bool = Field(description="Nothing that has a value is missing; else settings that aren't listed may have any value.")
    settings: list[EffectiveSetting]


class SettingChange(Model):
    """One setting that differs from the start before; a withheld value is a word in brackets."""

    key: str
    before: str | None = Field(description="Null where it wasn't there.")
    after: str | None = Field(description="Null where it isn't there any more.")


class Start(Model):
    """One start of an application: what pushed then, and when."""

    instance_id: str | None
    client_id: str | None
    address: str
    software_name: str
    software_version: str
    pushed_ms: int = Field(description="Kafka's time.")


class ClientStart(Start):
    """One start of a client's application, as what changed since the start before."""

    this: bool = Field(description="It is this client's own.")
    changes: list[SettingChange] | None = Field(description="To the start before; null of the oldest, and where one of both is gone.")


class UnjudgedRule(Model):
    """A rule that could not judge a client's last push."""

    code: str
    name: str = Field(description="Empty for a rule that this release doesn't know.")
    why: str = Field(description="What it needs and did not get, in one sentence.")


class ClientDetail(Model):
    """One client, whether it is connected or has just gone."""

    version: int
    feed: Feed
    client: ConnectedClient
    connected: bool = Field(description="False: it has gone, and this is how it was last seen.")
    connections: list[ConnectionRow] = Field(description="The oldest first, at most a hundred.")
    configuration: Configuration | None = None
    why: str | None = Field(default=None, description="Why `configuration` or `starts` is null, in one sentence.")
    findings: list[Finding] | None = Field(description="What to fix first first; null where it was not judged.")
    not_judged_by: list[UnjudgedRule] | None = Field(
        default=None, description="Rules that could not judge its last push; null where no result of it is kept."
    )
    starts: list[ClientStart] | None = Field(default=None, description="The newest first, at most ten; null where they could not be read.")
    starts_of: Literal["client", "application"] = Field(description="`application`: starts at other addresses are among them.")


class GaugeList(Listing):
    """Every series of every gateway, largest first."""

    items: list[Gauge]


class SeriesOfVersion(Model):
    """Connections of one software version, minute by minute."""

    software_name: str
    software_version: str
    connections: list[int | None]


class Series(Model):
    """Numbers by minute; every list is as long as `minutes`, and null is not known, never zero."""

    version: int
    feed: Feed
    minutes: list[int] = Field(description="When each begins; the last one is still going on.")
    connections: list[int | None] = Field(description="Open, at the end of each minute.")
    versions: list[SeriesOfVersion] = Field(description="The eight that had most connections, the most first.")
    other: list[int | None] = Field(description="Connections of all the other versions.")
    opened: list[int | None]
    closed: list[int | None]
    pushes: list[int | None] = Field(description="Pushed configurations, as `pushes` of the overview counts them.")


class ApiRange(Model):
    """One API of Kafka's protocol, and its versions at a broker (KIP-35)."""

    api_key: int
    name: str = Field(description="Kafka's name; empty where it isn't known.")
    lowest: int
    highest: int


class BrokerItem(Model):
    """A broker, as a gateway sees it."""

    cluster: str
    broker: int
    host: str
    port: int
    rack: str
    software_name: str | None = Field(description="Null if unknown.")
    software_version: str | None = Field(description="May be a range, such as 4.3 or 4.4.")
    source: str = Field(description="How that is known: declared, jmx, inferred or unknown.")
    apis: list[ApiRange] | None = Field(description="Null where it could not be asked.")
    reason: str = Field(description="Why it could not be asked; empty where it could.")
    gateway: str = Field(description="Which gateway reports it.")
    told_ms: int = Field(description="Kafka's time of what it said.")
    stale: bool = Field(description="That gateway is silent for longer than it should be: this counts no longer.")


class RangeAt(Model):
    """What brokers say that say the same of an API."""

    brokers: list[int]
    lowest: int | None = Field(description="Null where they don't have it.")
    highest: int | None


class Difference(Model):
    """An API about which brokers of one cluster differ: most often a rolling upgrade seen half way."""

    cluster: str
    api_key: int
    name: str
    ranges: list[RangeAt]


class Brokers(Listing):
    """By cluster and id."""

    items: list[BrokerItem]
    differences: list[Difference]
