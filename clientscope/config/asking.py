"""Settings of commands that ask a cluster or a gateway."""

from __future__ import annotations

from pydantic import Field

from clientscope.config.base import KafkaSettings, ListingSettings, PageSettings
from clientscope.config_types import Address, DeclaredSoftware, Urls


class ConnectionsSettings(ListingSettings):
    """Lists who is connected to a gateway now."""

    section = "connections"
    admin: Address = Field("127.0.0.1:9465", description="the gateway's --admin-listen")
    software: str = Field("", description="only clients of this software, such as apache-kafka-java, or a pattern: '*librdkafka*'")
    software_version: str = Field(
        "",
        description="only these versions: '<3.0', '>=2.8,<3.9', '3.9.*'; one that can't be compared never matches",
        json_schema_extra={"flag": "version"},
    )
    client_id: str = Field("", description="only this client.id, or a pattern: 'orders-*'")
    principal: str = Field("", description="only this principal, or a pattern: 'User:*'")


class ApiVersionsSettings(ListingSettings, KafkaSettings):
    """Lists which versions of which APIs each broker of a cluster takes, and where brokers differ (KIP-35)."""

    section = "api-versions"
    api: str = Field(
        "all",
        description="all; none, which lists the brokers alone; or names or keys by commas: Produce,Fetch",
        json_schema_extra={"metavar": "APIS"},
    )


class BrokersSettings(ListingSettings, KafkaSettings):
    """Lists a cluster's brokers and what software each runs: declared, read from JMX, or inferred (KIP-885)."""

    section = "brokers"
    software: DeclaredSoftware = Field(
        {},
        description="what brokers are, where you know it: 1=apache-kafka/4.4.0,2=redpanda;\nin TOML the table [brokers.software]",
        json_schema_extra={"metavar": "ID=NAME/VERSION"},
    )
    jmx: Urls = Field(
        {},
        description="brokers' JMX exporters: 1=http://broker-1:9404/metrics; in TOML the table [brokers.jmx]",
        json_schema_extra={"metavar": "ID=URL"},
    )


class ClientsSettings(ListingSettings, PageSettings):
    """Lists who is connected anywhere, with what is wrong with each: the page's list, on a terminal."""

    section = "clients"
    search: tuple[str, ...] = Field(
        (),
        description="as in the page's search box (docs/page.md): software:librdkafka 'version:<2.6' 'finding:>=high'",
        json_schema_extra={"positional": True, "several": True, "metavar": "TERM"},
    )


class TopSettings(PageSettings):
    """The overview, live on this terminal: connections by software version, findings, the health of each process."""

    section = "top"
