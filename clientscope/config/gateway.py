"""The gateway's settings."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from clientscope.config.base import KafkaSettings
from clientscope.config_types import Address, Networks, Table, check_url


class GatewaySettings(KafkaSettings):
    """Stands in front of one broker: passes clients' traffic on, and records who they are and what they push."""

    section = "gateway"
    listen: Address = Field("127.0.0.1:9092", description="where clients connect: what the broker's CLIENT listener advertises")
    upstream: Address = Field("127.0.0.1:19091", description="the broker's CLIENT listener itself")
    gateway_id: str = Field("", max_length=200, description="name of this gateway in records; empty takes --listen")
    listener_name: str = Field("CLIENT", description="name of the broker's listener behind this gateway")
    security_protocol: Literal["", "PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"] = Field(
        "", description="what that listener speaks, by Kafka's name; empty asks the broker"
    )
    broker_id: int = Field(-1, ge=-1, description="the broker behind this gateway; -1 asks a cluster that has only one")
    broker_software_name: str = Field(
        "", max_length=200, description="what DescribeCluster says the broker is (KIP-885), such as apache-kafka; empty says nothing"
    )
    broker_software_version: str = Field("", max_length=200, description="its version; empty is null")
    broker_jmx: Annotated[str, BeforeValidator(check_url)] = Field(
        "",
        description="the broker's JMX exporter, such as http://127.0.0.1:9404/metrics: where no software is declared,\n"
        "DescribeCluster says what app-info there says; empty asks nobody",
        json_schema_extra={"metavar": "URL"},
    )
    workers: int = Field(1, ge=1, le=64, description="processes that carry clients' traffic, on one port; each uses one core at most")
    ssl_certificate_location: Path | None = Field(
        None, description="certificate chain in PEM; with it, clients' TLS ends at the gateway. Read again at SIGHUP"
    )
    ssl_key_location: Path | None = Field(None, description="its private key in PEM, without a passphrase")
    ssl_ca_location: Path | None = Field(
        None, description="certificates in PEM that sign clients' certificates; with it, clients must show one"
    )
    ssl_crl_location: Path | None = Field(
        None, description="revocation lists in PEM, one of each authority of clients' certificates: what they revoke is refused"
    )
    upstream_ssl_ca_location: Path | None = Field(
        None, description="certificates in PEM that sign the broker's; with it, the gateway speaks TLS to the broker"
    )
    upstream_ssl_endpoint_identification_algorithm: Literal["https", "none", ""] = Field(
        "https", description="https: the broker's certificate must name the host in --upstream; none: any name will do"
    )
    upstream_ssl_certificate_location: Path | None = Field(None, description="the gateway's own certificate for the broker, in PEM")
    upstream_ssl_key_location: Path | None = Field(None, description="its private key in PEM, without a passphrase")
    max_connections: int = Field(10_000, ge=1, description="most open client connections; one more is closed at once")
    max_connections_per_ip: int = Field(0, ge=0, description="most open client connections of one address; 0 is no limit of its own")
    buffered_max_bytes: int = Field(
        0,
        ge=0,
        description="most bytes that all connections together hold for a side that does not take them; beyond it nothing is read until\n"
        "less is left. 0 is a quarter of the memory limit, and 1 GiB at most",
    )
    unauthenticated_timeout_ms: int = Field(
        30_000, ge=100, description="a client that the broker has not answered, or not authenticated, by then is closed"
    )
    connections_max_idle_ms: int = Field(
        660_000, ge=100, description="a connection without a byte for so long is closed; more than the broker's own 10 minutes"
    )
    proxy_protocol_from: Networks = Field(
        "",
        description="networks of load balancers, as in 10.0.0.0/8,fd00::/8: each connection from there must begin with a\n"
        "PROXY protocol header (v1 or v2), whose address is the client's; from elsewhere none is taken",
    )
    upstream_proxy_protocol: bool = Field(
        False, description="send --upstream the client's address in a PROXY protocol header (v2); a Kafka broker itself takes none"
    )
    drain_timeout_ms: int = Field(10_000, ge=0, description="at SIGTERM, how long answers under way may take; a second signal ends at once")
    metrics_listen: Address = Field("127.0.0.1:9464", description="where /metrics, /healthz and /readyz answer; port 0 is off")
    admin_listen: Address = Field("127.0.0.1:9465", description="where /v1/connections answers, on loopback alone; port 0 is off")
    admin_token_file: Path | None = Field(
        None,
        description="tokens of who may PUT /v1/bypass: in each line a name, a space and a token,\n"
        "or a token alone; without it, only signals turn bypass on",
    )
    request_log: str = Field(
        "", description="file for a line of JSON about each request, in the form of Kafka's request log; - is stdout, empty is off"
    )
    request_log_client_id: str = Field("", description="log only this client.id, or a pattern: 'orders-*'")
    request_log_principal: str = Field("", description="log only this principal, or a pattern: 'User:*'")
    request_log_software: str = Field("", description="log only clients of this software, or a pattern: '*librdkafka*'")
    request_log_address: Networks = Field("", description="log only clients at these addresses or networks: 10.0.0.0/8,fd00::/8")
    request_log_max_bytes: int = Field(
        100 * 1024 * 1024, ge=1024, description="size at which the request log begins its next file; five older ones are kept"
    )
    heartbeat_interval_ms: int = Field(5000, ge=100, le=600_000, description="how often all counts are published again")
    publish_queue_records: int = Field(
        30_000, ge=10, description="most records that wait for Kafka; further ones are dropped, and counted, until it takes them"
    )
    client_config_policy_class_name: str = Field(
        "clientscope.policy.publishing.PublishingPolicy",
        description="the ClientConfigPolicy that gets each push (KIP-1324): a dotted name, or an entry point of\n"
        "clientscope.policies; empty turns PushConfig off",
    )
    client_config_max_bytes: int = Field(10240, ge=0, description="largest PushConfig request taken, in bytes of its body (KIP-1324)")
    client_config_policy_configs: Table = Field(
        {},
        repr=False,  # a policy may need a password
        description="further settings for the policy's configure(), KEY=VALUE,KEY=VALUE;\nin TOML the table [gateway.policy]",
        json_schema_extra={"key": "policy"},
    )
    policy_deadline_ms: int = Field(
        500, ge=50, le=60_000, description="how long the policy may take for one push before its process is killed"
    )
    policy_memory_bytes: int = Field(
        512 * 1024 * 1024, ge=128 * 1024 * 1024, description="address space of the policy's process (RLIMIT_AS)"
    )
    push_rate_per_client: float = Field(
        1.0,
        gt=0,
        json_schema_extra={"metavar": "N"},
        description="PushConfig requests taken from one client, per second in the long run;\na client pushes once in its life",
    )
    push_burst_per_client: int = Field(10, ge=1, description="PushConfig requests taken from one client at once")
    push_rate_per_principal: float = Field(
        50.0,
        gt=0,
        json_schema_extra={"metavar": "N"},
        description="PushConfig requests taken from all clients of one principal, per second in the long run",
    )
    push_burst_per_principal: int = Field(1000, ge=1, description="PushConfig requests taken from all clients of one principal at once")
    push_rate_per_address: float = Field(
        5.0,
        gt=0,
        json_schema_extra={"metavar": "N"},
        description="PushConfig requests taken from one address (IPv6: a network of 64 bits), per second in the long run;\n"
        "more where many clients share one: NAT, or a load balancer without the PROXY protocol",
    )
    push_burst_per_address: int = Field(500, ge=1, description="PushConfig requests taken from one address at once")
    push_rate: float = Field(
        1000.0,
        gt=0,
        json_schema_extra={"metavar": "N"},
        description="PushConfig requests taken from all clients, per second in the long run",
    )
    push_burst: int = Field(2000, ge=1, description="PushConfig requests taken from all clients at once")
    digest_key_file: Path | None = Field(
        None, description="keys of the HMAC digests of redacted values, the first one signs;\nwithout it, none are made"
    )
