"""Settings of the other processes."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import Field

from clientscope.config.base import CHECKPOINT_DIR, OWNERS, KafkaSettings, Settings, rules_file
from clientscope.config_types import Address, HeaderName, HttpUrl, Networks


class BrokerSettings(Settings):
    """A real single-node Kafka broker in KRaft mode, for trying and testing; not for production."""

    section = "broker"
    port: int = Field(19091, ge=1, le=65535, description="port of listener CLIENT, which only gateways connect to")
    internal_port: int = Field(19092, ge=1, le=65535, description="port of listener INTERNAL, for clientscope's own processes")
    advertised: Address = Field("127.0.0.1:9092", description="what CLIENT tells clients to connect to: the gateway's address")
    data_dir: Path = Field(Path("data/broker"), description="where logs and metadata are kept; formatted when it is new")
    jmx_port: int = Field(0, ge=0, le=65535, description="port for the JMX exporter's metrics; 0 is off")


class TopicsSettings(KafkaSettings):
    """Creates clientscope's topics and verifies those that exist."""

    section = "topics"
    partitions: int = Field(1, ge=1, description="of each new topic")
    replication_factor: int = Field(-1, ge=-1, description="of each new topic; -1 takes the broker's default")


class StreamSettings(KafkaSettings):
    """The Spark Structured Streaming job: decodes, judges, counts, keeps history."""

    section = "stream"
    master: str = Field("local[2]", description="Spark master; leave it to spark-submit on a cluster")
    driver_memory: str = Field("2g", description="heap of the Spark driver")
    checkpoint_dir: Path = CHECKPOINT_DIR
    history_dir: Path = Field(Path("data/history"), description="where the Delta tables are kept")
    history_interval_seconds: float = Field(60.0, ge=0, description="how often history and quarantine are written")
    quality: Literal["on", "off"] = Field("on", description="validate samples of history's batches: Great Expectations (docs/quality.md)")
    keep_clients_days: float = Field(
        30.0, gt=0, description="days after which the configuration of a client that was not seen again leaves clientscope.configs"
    )
    digest_key_file: Path | None = Field(None, description="keys of the HMAC digests, as the gateways have them; without it, none are made")
    rules_file: Path | None = rules_file("own profiles, their assignments, and suppressions (docs/lint.md); without it, apache for all")
    owners: Path | None = OWNERS
    backlog_first: bool = Field(False, description="judge new pushes after a backlog; without it, beside it")
    metrics_listen: Address = Field("127.0.0.1:9466", description="where /metrics, /healthz and /readyz answer; port 0 is off")
    ui_port: int = Field(0, ge=0, le=65535, description="port of Spark's own page; 0 is off")


class ServeSettings(KafkaSettings):
    """The live page, the JSON API under /api/v1/, and /metrics."""

    section = "serve"
    listen: Address = Field("127.0.0.1:8324", description="where the page is served; beyond loopback only with tokens or a proxy")
    history_dir: Path | None = Field(
        None, description="the streaming job's Delta tables, which the page's History reads; without it, it shows what the topics keep"
    )
    data_docs_dir: Path = Field(
        Path("data/history/data-docs"),
        description="where the job writes Data Docs, within its history-dir; the page links them",
    )
    external_url: HttpUrl = Field(
        "",
        description="where people reach the page, as in https://kafka.example/clients/; for links and cookies",
        json_schema_extra={"metavar": "URL"},
    )
    admin_token_file: Path | None = Field(
        None, description="tokens of who may close findings too: in each line a name, a space and a token, or a token alone"
    )
    reader_token_file: Path | None = Field(None, description="the same of who may read")
    proxy_user_header: HeaderName = Field(
        "",
        description="header in which a reverse proxy says who asks, as in X-Forwarded-User; believed of trusted-proxies alone",
        json_schema_extra={"metavar": "HEADER"},
    )
    trusted_proxies: Networks = Field(
        "",
        description="addresses of the proxies in front, by commas: 10.0.0.5,192.168.0.0/24; their X-Forwarded-For says where a\n"
        "request comes from, so that wrong tokens lock out an address, and not all that come by the proxy",
    )
    admins: str = Field(
        "", description="of the users that the proxy names, who may close findings, by commas", json_schema_extra={"metavar": "NAMES"}
    )
    loopback_role: Literal["admin", "reader"] = Field(
        "admin", description="what everybody on this machine may do where there are neither tokens nor a proxy"
    )


class DemoSettings(Settings):
    """All of it on this machine: broker, gateway, stream, page, and real clients that come and go."""

    section = "demo"
    seconds: int = Field(0, ge=0, description="end after so long, and fail unless all was seen to work; 0 runs until Ctrl-C")
    json_summary: bool = Field(False, description="print the summary as JSON, as the last line", json_schema_extra={"flag": "json"})
    data_dir: Path | None = Field(None, description="keep the demo's data here; default is a temporary directory")
    gateway_port: int = Field(9092, ge=1, le=65535, description="where the demo's gateway listens, on 127.0.0.1")
    broker_port: int = Field(19091, ge=1, le=65535, description="listener CLIENT of the demo's broker")
    internal_port: int = Field(19092, ge=1, le=65535, description="listener INTERNAL of the demo's broker")
    page_port: int = Field(8324, ge=1, le=65535, description="where the page is served")
