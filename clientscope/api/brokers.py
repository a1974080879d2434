"""API models of brokers. Times are in ms since the epoch, UTC."""

from __future__ import annotations

from pydantic import Field

from clientscope.api.common import Listing, Model


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
