"""Every setting of every process, as frozen pydantic models.

A field is, by itself, a flag (``--heartbeat-interval-ms``), an environment variable
(``CLIENTSCOPE_GATEWAY_HEARTBEAT_INTERVAL_MS``) and a TOML key (``heartbeat_interval_ms`` in ``[gateway]``); `config_sources` reads them.
Kafka's own settings stand in ``[kafka]`` under Kafka's own names and hold for every process.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, SecretStr

from clientscope.config_types import Address, Addresses, BootstrapServers, DeclaredSoftware, Networks, SoftwareText, Table, Urls, check_url


class Settings(BaseModel):
    """What one command takes. ``section`` is its TOML table, and the middle of its environment variables.

    Attributes:
        subcommand: where a command is several: its own word after ``section``.
        error_status: the exit status for an error that a person can mend.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    section: ClassVar[str]
    subcommand: ClassVar[str] = ""
    error_status: ClassVar[int] = 1


def _kafka(key: str, **extra: Any) -> dict[str, Any]:
    return {"section": "kafka", "key": key, **extra}


class KafkaSettings(Settings):
    """What every process that connects to Kafka takes; see `clientscope.kafka_access`."""

    bootstrap_servers: BootstrapServers
    kafka_security_protocol: Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"] = Field(
        "PLAINTEXT", description="what listener INTERNAL speaks", json_schema_extra=_kafka("security.protocol")
    )
    kafka_sasl_mechanism: Literal["", "PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"] = Field(
        "", description="how this process authenticates", json_schema_extra=_kafka("sasl.mechanism")
    )
    kafka_sasl_username: str = Field("", description="as whom", json_schema_extra=_kafka("sasl.username"))
    kafka_sasl_password: SecretStr = Field(
        SecretStr(""),
        description="its password; from this variable, or a TOML file that others can't read",
        json_schema_extra=_kafka("sasl.password", secret=True),
    )
    kafka_sasl_password_file: Path | None = Field(
        None, description="a file that holds the password, one line", json_schema_extra=_kafka("sasl.password.file")
    )
    kafka_ssl_ca_location: Path | None = Field(
        None, description="certificates in PEM that sign the brokers'; default is the system's", json_schema_extra=_kafka("ssl.ca.location")
    )
    kafka_ssl_certificate_location: Path | None = Field(
        None, description="this process' own certificate, in PEM", json_schema_extra=_kafka("ssl.certificate.location")
    )
    kafka_ssl_key_location: Path | None = Field(
        None, description="its private key in PEM (PKCS #8), without a passphrase", json_schema_extra=_kafka("ssl.key.location")
    )
    kafka_ssl_endpoint_identification_algorithm: Literal["https", "none", ""] = Field(
        "https",
        description="https: a broker's certificate must name its host; none: any name will do",
        json_schema_extra=_kafka("ssl.endpoint.identification.algorithm"),
    )


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


class ConnectionsSettings(Settings):
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
    json_lines: bool = Field(False, description="one JSON object a line, for machines", json_schema_extra={"flag": "json"})
    watch: bool = Field(False, description="show again every two seconds, until Ctrl-C")


_JSON_LINES = Field(False, description="one JSON object a line, for machines", json_schema_extra={"flag": "json"})


class ApiVersionsSettings(KafkaSettings):
    """Lists which versions of which APIs each broker of a cluster takes, and where brokers differ (KIP-35)."""

    section = "api-versions"
    api: str = Field(
        "all",
        description="all; none, which lists the brokers alone; or names or keys by commas: Produce,Fetch",
        json_schema_extra={"metavar": "APIS"},
    )
    json_lines: bool = _JSON_LINES


class BrokersSettings(KafkaSettings):
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
    json_lines: bool = _JSON_LINES


class PushSettings(Settings):
    """Pushes the configuration of any application's client, from a file with its settings (KIP-1324)."""

    section = "push"
    bootstrap_servers: Addresses = Field("", description="where the client connects: a gateway; empty takes what the file says")
    properties: Path | None = Field(
        None, description="the client's settings: Java properties, JSON or YAML; security settings are taken from it too"
    )
    format: Literal["", "properties", "json", "yaml"] = Field("", description="what the file is; empty goes by its suffix")
    client_type: Literal["", "producer", "consumer", "share-consumer", "admin", "streams"] = Field(
        "",
        description="which client the settings are for; empty is streams where they have an application.id,\n"
        "consumer where they have a group.id, else producer",
    )
    dialect: Literal["java", "librdkafka", "kafka-python", "aiokafka", "kafkajs", "franz-go", "sarama"] = Field(
        "java", description="the client library: whose names, spellings and defaults they are"
    )
    software_name: SoftwareText = Field("", description="the client library's name (KIP-511); empty is the dialect's")
    software_version: SoftwareText = Field(
        "unknown", description="its version, such as 3.9.2: its defaults are pushed for what isn't set; unknown takes the newest"
    )
    allowed_keys: str = Field(
        "",
        description="keys to push, by commas; empty is the file's config.push.allowed.keys, else KIP-1324's",
        json_schema_extra={"metavar": "KEYS"},
    )
    timeout_ms: int = Field(60_000, ge=100, description="how long to try")
    watch: bool = Field(False, description="go on, and push again when the file's content changes")
    dry_run: bool = Field(False, description="show what would be pushed, and connect to nothing")


def _rules_file(description: str) -> Any:
    return Field(None, description=description, json_schema_extra={"section": "rules", "key": "file", "flag": "rules"})


_OWNERS: Path | None = Field(
    None, description="owners.toml: which team a client is of (docs/lint.md)", json_schema_extra={"section": "rules", "key": "owners"}
)


class LintSettings(Settings):
    """Judges settings files by the rules, without a cluster; exit status 1 for findings, 2 for what is wrong with its use."""

    section = "lint"
    error_status = 2
    paths: tuple[str, ...] = Field(
        description="files, directories (*.properties, *.conf, *.json, *.yaml, *.yml), or - for the standard input",
        json_schema_extra={"positional": True, "several": True, "metavar": "PATH"},
    )
    format: Literal["", "properties", "json", "yaml"] = Field("", description="what named files are; empty goes by the suffix")
    dialect: str = Field(
        "java", description="the client library: whose names, spellings and defaults they are", json_schema_extra={"metavar": "DIALECT"}
    )
    software_version: SoftwareText = Field("unknown", description="its version, such as 3.9.2: for its defaults; unknown takes the newest")
    client_type: Literal["", "producer", "consumer", "share-consumer", "admin", "streams"] = Field(
        "", description="which client the settings are for; empty goes by those that only one kind of client has"
    )
    principal: str = Field("", description="as whom the client authenticates, for assignments, suppressions and owners")
    profile: str = Field(
        "",
        description="apache, msk, eventhubs, low-latency, durable or one of the rules file's;\nempty goes by its assignments",
    )
    rules_file: Path | None = _rules_file("own profiles, their assignments, and suppressions (docs/lint.md)")
    owners: Path | None = _OWNERS
    fail_on: Literal["info", "low", "medium", "high", "critical", "never"] = Field(
        "medium", description="exit with 1 for findings of this severity or worse"
    )
    output_format: Literal["full", "concise", "json", "sarif", "github"] = Field("full", description="how findings are told")
    statistics: bool = Field(False, description="counts per rule too, those that couldn't be judged among them")


_CHECKPOINT_DIR: Path = Field(
    Path("checkpoints"),
    description="where the queries' checkpoints are kept",
    json_schema_extra={"section": "stream"},
)


class StreamSettings(KafkaSettings):
    """The Spark Structured Streaming job: decodes, judges, counts, keeps history."""

    section = "stream"
    master: str = Field("local[2]", description="Spark master; leave it to spark-submit on a cluster")
    driver_memory: str = Field("2g", description="heap of the Spark driver")
    checkpoint_dir: Path = _CHECKPOINT_DIR
    history_dir: Path = Field(Path("data/history"), description="where the Delta tables are kept")
    history_interval_seconds: float = Field(60.0, ge=0, description="how often history and quarantine are written")
    quality: Literal["on", "off"] = Field("on", description="validate samples of history's batches: Great Expectations (docs/quality.md)")
    digest_key_file: Path | None = Field(None, description="keys of the HMAC digests, as the gateways have them; without it, none are made")
    rules_file: Path | None = _rules_file("own profiles, their assignments, and suppressions (docs/lint.md); without it, apache for all")
    owners: Path | None = _OWNERS
    backlog_first: bool = Field(False, description="judge new pushes after a backlog; without it, beside it")
    metrics_listen: Address = Field("127.0.0.1:9466", description="where /metrics, /healthz and /readyz answer; port 0 is off")
    ui_port: int = Field(0, ge=0, le=65535, description="port of Spark's own page; 0 is off")


class CheckpointsVerifySettings(Settings):
    """Checks that checkpoints are whole; asks no broker."""

    section = "checkpoints"
    subcommand = "verify"
    checkpoint_dir: Path = _CHECKPOINT_DIR


class CheckpointsListSettings(KafkaSettings):
    """Lists how far each query is, and what wrote its checkpoint."""

    section = "checkpoints"
    subcommand = "list"
    checkpoint_dir: Path = _CHECKPOINT_DIR
    bootstrap_servers: Addresses = Field(
        "",
        description="with it, how many records each query is behind its topic's end",
        json_schema_extra=_kafka("bootstrap.servers"),
    )


class CheckpointsBackupSettings(Settings):
    """Copies all checkpoints while no job runs, and verifies the copy."""

    section = "checkpoints"
    subcommand = "backup"
    checkpoint_dir: Path = _CHECKPOINT_DIR
    dir: Path = Field(description="where to: a directory that is new, or empty", json_schema_extra={"positional": True})


class CheckpointsResetSettings(KafkaSettings):
    """Starts one query anew: moves its checkpoint aside, never deletes it, and says where the job's next start begins."""

    section = "checkpoints"
    subcommand = "reset"
    query: str = Field(
        description="gauges, results, history_pushes or history_connections; see checkpoints/README.md on what is repeated",
        json_schema_extra={"positional": True},
    )
    checkpoint_dir: Path = _CHECKPOINT_DIR
    to_offsets: str = Field(
        "",
        description="""begin there: JSON, as in '{"0": 42}' (partition and offset), or a file that holds it;\n"""
        "a partition that isn't named begins at its beginning",
        json_schema_extra={"metavar": "JSON|FILE", "flag_only": True},
    )
    to_time: str = Field(
        "", description="begin with the records of this time, ISO 8601", json_schema_extra={"metavar": "TIME", "flag_only": True}
    )
    to_earliest: bool = Field(False, description="begin with all that the topic holds; the default", json_schema_extra={"flag_only": True})


class ServeSettings(KafkaSettings):
    """The live page, the JSON API under /api/v1/, and /metrics."""

    section = "serve"
    listen: Address = Field("127.0.0.1:8324", description="where the page is served")
    data_docs_dir: Path = Field(
        Path("data/history/data-docs"),
        description="where the job writes Data Docs, within its history-dir; the page links them",
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


def _filter(description: str, metavar: str = "PATTERN") -> Any:
    """Only ever given with the command: one that stood in a file would hide findings from everybody, silently."""
    return Field("", description=description, json_schema_extra={"metavar": metavar, "flag_only": True})


_ONCE: dict[str, Any] = {"flag_only": True}
_BY = "who decides; empty is the user of this machine"
_WHY = "a sentence for who reads it later; never a secret"
_PREFIXES = "first digits of findings' fingerprints, at least 6"


class FindingsListSettings(KafkaSettings):
    """Lists what is wrong, what to fix first first: the findings that are open, and leaks that stopped but must still be rotated."""

    section = "findings"
    subcommand = "list"
    output: Literal["table", "wide", "json", "jsonl", "csv", "name"] = Field(
        "table", description="how they are told; name is their fingerprints alone", json_schema_extra={"short": "o"}
    )
    state: str = _filter("only these, by commas: open, stopped, resolved, closed; default is open,stopped", "STATES")
    severity: Literal["", "info", "low", "medium", "high", "critical"] = Field(
        "", description="only those of this severity or worse", json_schema_extra=_ONCE
    )
    code: str = _filter("only of this rule, or a pattern: 'SK*'")
    principal: str = _filter("only of this principal, or a pattern: 'User:*'")
    client_id: str = _filter("only of this client.id, or a pattern: 'orders-*'")
    every: bool = Field(
        False, description="in every state, and those that a suppression hides", json_schema_extra={"flag": "all", "flag_only": True}
    )
    limit: int = Field(0, ge=0, description="list at most so many; 0 lists all")


class FindingsShowSettings(KafkaSettings):
    """Shows all that is known of one finding."""

    section = "findings"
    subcommand = "show"
    fingerprint: str = Field(description="first digits of its fingerprint, at least 6", json_schema_extra={"positional": True})
    output: Literal["text", "json"] = Field("text", description="how it is told", json_schema_extra={**_ONCE, "short": "o"})


class FindingsCloseSettings(KafkaSettings):
    """Closes findings by a person's decision: who, when and why stand in clientscope.decisions, which the streaming job applies."""

    section = "findings"
    subcommand = "close"
    fingerprints: tuple[str, ...] = Field(
        description=_PREFIXES, json_schema_extra={"positional": True, "several": True, "metavar": "FINGERPRINT"}
    )
    resolution: Literal["", "rotated", "test-value", "not-a-secret", "accepted"] = Field(
        "",
        description="rotated: the secret is another now, and pushing it again reopens the finding;\n"
        "test-value, not-a-secret: it stays closed; these three are for leaks;\n"
        "accepted: the risk is known and taken, --until a date",
        json_schema_extra={**_ONCE, "flag": "as"},
    )
    why: str = Field("", description=_WHY, json_schema_extra=_ONCE)
    until: str = Field(
        "", description="last day, in UTC, on which accepted counts, as in 2026-12-31", json_schema_extra={**_ONCE, "metavar": "DATE"}
    )
    by: str = Field("", description=_BY, json_schema_extra=_ONCE)


class FindingsReopenSettings(KafkaSettings):
    """Takes decisions back, so that the findings are open again, or whatever they are without a decision."""

    section = "findings"
    subcommand = "reopen"
    fingerprints: tuple[str, ...] = Field(
        description=_PREFIXES, json_schema_extra={"positional": True, "several": True, "metavar": "FINGERPRINT"}
    )
    why: str = Field("", description=_WHY, json_schema_extra=_ONCE)
    by: str = Field("", description=_BY, json_schema_extra=_ONCE)


ALL: tuple[type[Settings], ...] = (
    BrokerSettings,
    TopicsSettings,
    GatewaySettings,
    ConnectionsSettings,
    ApiVersionsSettings,
    BrokersSettings,
    PushSettings,
    LintSettings,
    StreamSettings,
    CheckpointsListSettings,
    CheckpointsVerifySettings,
    CheckpointsBackupSettings,
    CheckpointsResetSettings,
    ServeSettings,
    FindingsListSettings,
    FindingsShowSettings,
    FindingsCloseSettings,
    FindingsReopenSettings,
    DemoSettings,
)
