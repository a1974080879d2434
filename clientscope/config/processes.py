"""Settings of the processes: the gateway, the streaming job, and the page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from clientscope.config.base import HistoryDir, KafkaSettings, Option, Owners, RulesFile
from clientscope.config_types import Address, Folder, HeaderName, HttpUrl, LocalPath, Networks, Ports, Table, check_url


class GatewaySettings(KafkaSettings):
    """Runs a gateway in front of a broker or a cluster: forwards clients' traffic, and records their identities and what they push."""

    section = "gateway"
    listen: Address = Field("127.0.0.1:9092", description="address for clients: the one that the broker's CLIENT listener advertises")
    upstream: Address = Field("127.0.0.1:19091", description="address of the broker's CLIENT listener itself")
    broker_ports: Ports = Field(
        "",
        description="ports of a whole cluster's brokers, as in 9093-9192, one for each broker id: this gateway serves all of them and\n"
        "replaces their addresses in answers (docs/fixed-addresses.md); --listen is then for bootstrap, and --upstream is ignored",
    )
    first_broker_id: int = Field(0, ge=0, description="with --broker-ports: the broker id that has the first port")
    advertised_host: str = Field(
        "", max_length=255, description="with --broker-ports: the gateway's host name, for clients; by default the host in --listen"
    )
    gateway_id: str = Field("", max_length=200, description="name of this gateway in records; by default the value of --listen")
    listener_name: str = Field("CLIENT", description="name of the broker's listener behind this gateway")
    security_protocol: Literal["", "PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"] = Field(
        "", description="security protocol of that listener; by default the gateway asks the broker"
    )
    broker_id: int = Field(-1, ge=-1, description="id of the broker behind this gateway; -1 asks the cluster, if it has one broker")
    broker_software_name: str = Field(
        "",
        max_length=200,
        description="name of the broker's software in DescribeCluster (KIP-885), such as Redpanda;\n"
        "by default Kafka, or null if --broker-jmx shows the version of another product",
    )
    broker_software_version: str = Field("", max_length=200, description="version of that software in DescribeCluster; by default null")
    broker_jmx: Annotated[str, BeforeValidator(check_url), Option(metavar="URL")] = Field(
        "",
        description="the broker's JMX exporter, such as http://127.0.0.1:9404/metrics; DescribeCluster reports the version of its\n"
        "app-info if no software is declared",
    )
    workers: int = Field(1, ge=1, le=64, description="processes that carry clients' traffic, on one port; each uses at most one core")
    ssl_certificate_location: Path | None = Field(
        None, description="certificate chain in PEM; with it, the gateway terminates clients' TLS. SIGHUP reads it again"
    )
    ssl_key_location: Path | None = Field(None, description="private key of that certificate, in PEM, without a passphrase")
    ssl_ca_location: Path | None = Field(
        None, description="certificates in PEM that sign clients' certificates; with it, clients must show one"
    )
    upstream_ssl_ca_location: Path | None = Field(
        None, description="certificates in PEM that sign the broker's; with it, the gateway speaks TLS to the broker"
    )
    upstream_ssl_endpoint_identification_algorithm: Literal["https", "none", ""] = Field(
        "https", description="https: the broker's certificate must name the host in --upstream; none: any name is accepted"
    )
    upstream_ssl_certificate_location: Path | None = Field(None, description="the gateway's own certificate for the broker, in PEM")
    upstream_ssl_key_location: Path | None = Field(None, description="private key of that certificate, in PEM, without a passphrase")
    max_connections: int = Field(10_000, ge=1, description="maximum of open client connections; one more is closed at once")
    max_connections_per_ip: int = Field(0, ge=0, description="maximum of open client connections from one address; 0 sets no limit")
    buffered_max_bytes: int = Field(
        0,
        ge=0,
        description="maximum of bytes buffered for slow receivers by all connections together; above it the gateway reads nothing\n"
        "until the sum has fallen to three quarters. 0 is a quarter of the memory limit, at most 1 GiB",
    )
    unauthenticated_timeout_ms: int = Field(
        30_000, ge=100, description="time after which a client is closed that the broker has not answered or not authenticated"
    )
    connections_max_idle_ms: int = Field(
        660_000, ge=100, description="time after which an idle connection is closed; longer than the broker's own 10 minutes"
    )
    proxy_protocol_from: Networks = Field(
        "",
        description="networks of load balancers, as in 10.0.0.0/8,fd00::/8; each connection from there must begin with a\n"
        "PROXY protocol header (v1 or v2) that has the client's address; headers from other addresses are not accepted",
    )
    upstream_proxy_protocol: bool = Field(
        False,
        description="send clients' addresses to --upstream in a PROXY protocol header (v2), which a Kafka broker itself rejects",
    )
    drain_timeout_ms: int = Field(
        10_000, ge=0, description="time for pending responses after SIGTERM; a second signal ends the process at once"
    )
    metrics_listen: Address = Field("127.0.0.1:9464", description="address of /metrics, /healthz and /readyz; port 0 turns them off")
    admin_listen: Address = Field("127.0.0.1:9465", description="address of /v1/connections, on loopback only; port 0 turns it off")
    admin_token_file: Path | None = Field(
        None,
        description="tokens of people who may PUT /v1/bypass; each line is a name, a space and a token,\n"
        "or a token alone; without it, only signals turn bypass on",
    )
    request_log: str = Field(
        "", description="file for one line of JSON per request, in the form of Kafka's request log; - is stdout; by default off"
    )
    request_log_client_id: str = Field("", description="log only this client.id, or a pattern: 'orders-*'")
    request_log_principal: str = Field("", description="log only this principal, or a pattern: 'User:*'")
    request_log_software: str = Field("", description="log only clients of this software, or a pattern: '*librdkafka*'")
    request_log_address: Networks = Field("", description="log only clients at these addresses or networks: 10.0.0.0/8,fd00::/8")
    request_log_max_bytes: int = Field(
        100 * 1024 * 1024, ge=1024, description="size at which the request log begins a new file; five older files are kept"
    )
    heartbeat_interval_ms: int = Field(5000, ge=100, le=600_000, description="interval at which all counts are published again")
    publish_queue_records: int = Field(
        30_000, ge=10, description="maximum of records that wait for Kafka; further records are dropped and counted"
    )
    client_config_policy_class_name: str = Field(
        "clientscope.policy.publishing.PublishingPolicy",
        description="dotted name of the ClientConfigPolicy that gets each push (KIP-1324); empty turns PushConfig off",
    )
    client_config_max_bytes: int = Field(
        10240, ge=0, le=160_000, description="maximum size of a PushConfig request, in bytes of its body (KIP-1324)"
    )  # a byte takes six in JSON at most, and a topic's record has a MiB
    client_config_policy_configs: Annotated[Table, Option(key="policy")] = Field(
        {},
        repr=False,  # a policy may need a password
        description="more settings for the policy's configure(), KEY=VALUE,KEY=VALUE;\nin TOML the table [gateway.policy]",
    )
    ignore_request_settings: bool = Field(
        False, description="don't record the settings that clients' requests show; by default the first few requests are looked into"
    )
    client_telemetry: bool = Field(
        False,
        description="record clients' own metrics (KIP-714): ask clients that survive it where the broker doesn't, else copy what they\n"
        "push to the broker (docs/telemetry.md)",
    )
    client_telemetry_interval_ms: int = Field(
        60_000, ge=1_000, le=3_600_000, description="with --client-telemetry: interval at which a client pushes its metrics"
    )
    client_telemetry_metrics: str = Field(
        "*",
        max_length=1_000,
        description="with --client-telemetry: prefixes of the metrics to ask for, as in\n"
        "org.apache.kafka.producer.,org.apache.kafka.consumer.; * is all, and an empty text asks for nothing",
    )
    client_telemetry_client_id: str = Field(
        "", description="with --client-telemetry: ask only clients with this client.id, or a pattern: 'orders-*'"
    )
    client_telemetry_principal: str = Field(
        "", description="with --client-telemetry: ask only clients of this principal, or a pattern: 'User:*'"
    )
    client_telemetry_software: str = Field(
        "", description="with --client-telemetry: ask only clients of this software, or a pattern: '*librdkafka*'"
    )
    policy_deadline_ms: int = Field(
        500, ge=50, le=60_000, description="time that the policy may take for one push before its process is killed"
    )
    policy_memory_bytes: int = Field(
        512 * 1024 * 1024, ge=128 * 1024 * 1024, description="address space of the policy's process (RLIMIT_AS)"
    )
    push_rate_per_client: Annotated[float, Option(metavar="N")] = Field(
        1.0,
        gt=0,
        description="PushConfig requests accepted from one client per second, on average;\na client usually pushes once",
    )
    push_burst_per_client: int = Field(10, ge=1, description="PushConfig requests accepted from one client at once")
    push_rate_per_principal: Annotated[float, Option(metavar="N")] = Field(
        50.0,
        gt=0,
        description="PushConfig requests accepted from all clients of one principal per second, on average",
    )
    push_burst_per_principal: int = Field(1000, ge=1, description="PushConfig requests accepted from all clients of one principal at once")
    push_rate_per_address: Annotated[float, Option(metavar="N")] = Field(
        5.0,
        gt=0,
        description="PushConfig requests accepted from one address (IPv6: a /64 network) per second, on average;\n"
        "raise it if many clients share an address: NAT, or a load balancer without the PROXY protocol",
    )
    push_burst_per_address: int = Field(500, ge=1, description="PushConfig requests accepted from one address at once")
    push_rate: Annotated[float, Option(metavar="N")] = Field(
        1000.0,
        gt=0,
        description="PushConfig requests accepted from all clients per second, on average",
    )
    push_burst: int = Field(2000, ge=1, description="PushConfig requests accepted from all clients at once")
    digest_key_file: Path | None = Field(
        None, description="keys of the HMAC digests of redacted values; the first one signs;\nwithout it, no digests are made"
    )


# Settings of the streaming job.


class StreamSettings(KafkaSettings):
    """Runs the Spark Structured Streaming job: decodes, judges and counts pushes, and keeps history."""

    section = "stream"
    master: str = Field("local[2]", description="Spark master; on a cluster, set it with spark-submit instead")
    driver_memory: str = Field("2g", description="heap of the Spark driver")
    checkpoint_dir: LocalPath = Field(
        Path("checkpoints"), description="directory on this machine, for Spark's files of one run: where queries are, Kafka has"
    )
    history_dir: HistoryDir
    history_interval_seconds: float = Field(60.0, ge=0, description="interval at which history and quarantine are written")
    client_telemetry: bool = Field(
        False, description="record facts of clients' own metrics, where gateways have --client-telemetry (docs/telemetry.md)"
    )
    quality: Literal["on", "off"] = Field("on", description="validate samples of history with Great Expectations (docs/quality.md)")
    keep_clients_days: float = Field(
        30.0, gt=0, description="days after which the configuration of a client that is gone is removed from clientscope.configs"
    )
    max_clients: int = Field(
        200_000, ge=1, description="clients that findings know at a time, each with some 3 KB of memory; five times as many connections"
    )
    digest_key_file: Path | None = Field(
        None, description="keys of the HMAC digests, the same as the gateways'; without it, no digests are made"
    )
    rules_file: RulesFile
    owners: Owners
    metrics_listen: Address = Field("127.0.0.1:9466", description="address of /metrics, /healthz and /readyz; port 0 turns them off")
    ui_port: int = Field(0, ge=0, le=65535, description="port of Spark's own web UI; 0 turns it off")


# Settings of the page and its API.


class ServeSettings(KafkaSettings):
    """Serves the live page, the JSON API under /api/v1/, and /metrics."""

    section = "serve"
    listen: Address = Field("127.0.0.1:8324", description="address of the page; beyond loopback it requires tokens or a proxy")
    history_dir: Annotated[Folder | None, Option(metavar="PATH")] = Field(
        None, description="directory of the streaming job's Delta tables, for the page's History; by default History shows the topics only"
    )
    data_docs_dir: Path = Field(
        Path("data/history/data-docs"), description="directory of the job's Data Docs, within its history-dir; the page links them"
    )
    owners: Owners
    external_url: Annotated[HttpUrl, Option(metavar="URL")] = Field(
        "", description="public address of the page, as in https://kafka.example/clients/; for links and cookies"
    )
    admin_token_file: Path | None = Field(
        None, description="tokens of people who may also close findings; each line is a name, a space and a token, or a token alone"
    )
    reader_token_file: Path | None = Field(None, description="tokens of people who may only read, in the same form")
    proxy_user_header: Annotated[HeaderName, Option(metavar="HEADER")] = Field(
        "", description="header in which a reverse proxy names the user, as in X-Forwarded-User; accepted from trusted-proxies only"
    )
    trusted_proxies: Networks = Field(
        "",
        description="addresses of the proxies in front, separated by commas: 10.0.0.5,192.168.0.0/24; their X-Forwarded-For\n"
        "names the client, so that wrong tokens lock out one address instead of the whole proxy",
    )
    admins: Annotated[str, Option(metavar="NAMES")] = Field(
        "", description="users named by the proxy who may close findings, separated by commas"
    )
    loopback_role: Literal["admin", "reader"] = Field(
        "admin", description="role of every user of this machine if there are neither tokens nor a proxy"
    )
