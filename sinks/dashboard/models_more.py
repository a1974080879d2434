"""What the API says of brokers, of the last hours, and of who asks.  Times are in ms since the epoch, UTC."""

from __future__ import annotations

from datetime import date
from typing import Annotated, Literal

from pydantic import ConfigDict, Field, SecretStr

from clientscope.findings.decisions import Resolution
from sinks.dashboard.models import Feed, Listing, Model

Role = Literal["reader", "admin"]
Authentication = Literal["none", "token", "proxy"]


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
    software_name: str | None = Field(description="Null where nobody knows.")
    software_version: str | None = Field(description="May be a range, such as 4.3 or 4.4.")
    source: str = Field(description="How that is known: declared, jmx, inferred or unknown.")
    apis: list[ApiRange] | None = Field(description="Null where it could not be asked.")
    reason: str = Field(description="Why it could not be asked; empty where it could.")
    gateway: str = Field(description="Which gateway says so.")
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
    pushes: list[int | None] = Field(description="Configurations judged.")


class Me(Model):
    """Who asks, and what they may do."""

    name: str | None = Field(description="Null before signing in.")
    role: Role | None
    authentication: Authentication = Field(description="`token`: sign in with `login`; `proxy`: a reverse proxy says who it is.")
    external_url: str | None = Field(description="Where this page is reached from elsewhere; null where nobody said.")


class Input(Model):
    """What a request brings: nothing else than what is asked for."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Login(Input):
    """A token, to be exchanged for a cookie."""

    token: Annotated[SecretStr, Field(max_length=1_024)]


class CloseRequest(Input):
    """A decision about a finding, as ``clientscope findings close`` takes it."""

    resolution: Resolution
    why: Annotated[str, Field(max_length=4_000, description="A sentence for who reads it later; never a secret.")]
    until: Annotated[str | None, Field(max_length=32, description="Last day, in UTC, of `accepted`: 2026-12-31.")] = None


class AcceptRequest(Input):
    """The risk is known and taken, until a date."""

    why: Annotated[str, Field(max_length=4_000)]
    until: Annotated[str, Field(max_length=32, description="Last day, in UTC: 2026-12-31.")]


class ReopenRequest(Input):
    """Takes a decision back."""

    why: Annotated[str, Field(max_length=4_000)]


class DecisionTaken(Model):
    """What was written; the streaming job applies it within seconds."""

    fingerprint: str
    resolution: Resolution | None = Field(description="Null where a decision was taken back.")
    by: str
    why: str
    until: date | None
    at_ms: int
    warnings: list[str] = Field(description="What you may not have thought of.")
