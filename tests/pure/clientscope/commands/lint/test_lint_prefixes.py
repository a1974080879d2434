"""Settings under the prefixes of Kafka Connect, Kafka Streams, Spring Boot and Quarkus: their clients, and that no default is judged."""

from __future__ import annotations

from typing import Any

import pytest
from command_runs import Document
from golden import is_golden
from lint_reports import judged

from clientscope.catalog.configs import ClientType
from clientscope.commands.lint.findings import MOST, Ignored, read_comments
from clientscope.commands.lint.reading import prefix_groups


def findings(document: dict[str, Any]) -> set[tuple[str, int | None]]:
    return {(finding["code"], finding["line"]) for finding in document["findings"]}


@pytest.mark.parametrize(
    ("name", "client_type", "kafka_name"),
    [
        ("producer.acks", "producer", "acks"),
        ("producer.override.acks", "producer", "acks"),
        ("consumer.override.max.poll.records", "consumer", "max.poll.records"),
        ("spring.kafka.producer.properties.linger.ms", "producer", "linger.ms"),
        ("spring.kafka.streams.properties.acks", "streams", "acks"),
        ("mp.messaging.outgoing.prices-out.acks", "producer", "acks"),
        ("%prod.mp.messaging.incoming.prices.max.poll.records", "consumer", "max.poll.records"),
        ("kafka-streams.application.id", "streams", "application.id"),
        ("kafka.producers.orders.linger.ms", "producer", "linger.ms"),
        ("spec.config.producer.override.acks", "producer", "acks"),
        ("config.producer.override.linger.ms", "producer", "linger.ms"),
        ("CONNECT_PRODUCER_ACKS", "producer", "acks"),
        ("spec.clusters[1].config.producer.acks", "producer", "acks"),
        ("spec.mirrors[0].sourceConnector.config.producer.override.acks", "producer", "acks"),
        ("spec.mirrors[12].checkpointConnector.config.target.admin.retries", "admin", "retries"),
        ("spec.producer.config.acks", "producer", "acks"),
        ("[3].spec.config.producer.acks", "producer", "acks"),
        ("services.a.environment.SPRING_KAFKA_PRODUCER_PROPERTIES_LINGER_MS", "producer", "linger.ms"),
        ("spec.template.spec.containers[0].env.CONNECT_PRODUCER_ACKS", "producer", "acks"),
        ("KAFKA_MAX_POLL_RECORDS", "consumer", "max.poll.records"),
        ("env.KAFKA_REQUEST_TIMEOUT_MS", "admin", "request.timeout.ms"),
    ],
)
def test_a_prefix_says_whose_it_is(name: str, client_type: str, kafka_name: str) -> None:
    (group,) = prefix_groups({name: "1"})
    assert (group.client_type, dict(group.names)) == (ClientType(client_type), {kafka_name: name})


NONE = (
    "acks", "producer.name", "my.producer.acks", "producer", "producer.", "spring.kafka.producer.acks", "mp.messaging.outgoing.acks",
    "mp.messaging.outgoing.orders.topic", "KAFKA_TOPIC", "KAFKA_BATCH_SIZE", "KAFKA_CLIENTID", "spec.mirrors[0].config.producer.acks",
    "spring.kafka.producer.properties[linger.ms]",
)  # fmt: skip


def test_other_names_are_nobodys() -> None:
    assert [name for name in NONE if prefix_groups({name: "1"})] == []


def test_springs_common_settings_are_each_clients() -> None:
    given = [
        "spring.kafka.properties.request.timeout.ms",
        "spring.kafka.producer.properties.acks",
        "spring.kafka.consumer.properties.group.id",
    ]
    producer, consumer = prefix_groups(dict.fromkeys(given, "1"))
    assert set(producer.names) == {"request.timeout.ms", "acks"}
    assert set(consumer.names) == {"request.timeout.ms", "group.id"}


CONNECTS = {
    "acks": "1", "retries": "0", "max.in.flight.requests.per.connection": "10", "linger.ms": "5",
}  # fmt: skip
"""Beside Connect's own enable.idempotence=false (Worker.baseProducerConfigs) the producer starts with all of these."""


@pytest.mark.parametrize("prefix", ["producer.", "producer.override.", "spring.kafka.producer.properties."])
@pytest.mark.parametrize("version", ["3.9.2", "4.1.0", ""])
def test_what_a_frameworks_own_setting_allows_is_not_refused(prefix: str, version: str, lint: Document) -> None:
    text = "".join(f"{prefix}{key}={value}\n" for key, value in CONNECTS.items()) + "consumer.override.enable.auto.commit=true\n"
    if prefix == "producer.override.":  # Debezium's connectors are configured so
        text += "connector.class=io.debezium.connector.postgresql.PostgresConnector\n"
    flags = ["--software-version", version] if version else []
    document = lint("x.properties", text, *flags)
    assert not {"CF104", "AN102", "AN104"} & {code for code, _ in findings(document)}
    said = {code for code, _ in findings(lint("x.properties", f"{text}{prefix}enable.idempotence=true\n", *flags))}
    assert "CF104" in said, "with that, the producer does refuse"


def test_the_same_leak_of_two_clients_is_two_findings(lint: Document) -> None:
    document = lint(
        "x.properties",
        "producer.ssl.key.password=hunter2\nproducer.acks=all\nconsumer.ssl.key.password=hunter2\nconsumer.group.id=g\n",
    )
    leaks = [finding for finding in document["findings"] if finding["code"] == "SK001"]
    assert [finding["line"] for finding in leaks] == [1, 3]
    assert len({finding["fingerprint"] for finding in leaks}) == 2


WORKER = "key.converter=x\ngroup.id=connect\nsession.timeout.ms=2000\nproducer.acks=0\n"
STREAMS = "application.id=a\nbootstrap.servers=b:1\nproducer.acks=0\nretry.backoff.ms=1\n"
WHOLE = "acks=all\ncompression.type=lz4\nclient.id=orders\nlinger.ms=5\n"
CONNECTOR = """apiVersion: kafka.strimzi.io/v1
kind: KafkaConnector
metadata:
  name: orders
spec:
  class: org.example.Sink
  config:
    topics: orders
    consumer.override.auto.offset.reset: erliest
    producer.override.linger.msec: 5
    producer.override.acks: all
"""
CHART = """\
replicaCount: 2
extraEnv:
  - name: SPRING_KAFKA_PRODUCER_PROPERTIES_COMPRESSION_TYPE
    value: zst
  - name: KAFKA_PASSWORD
    valueFrom: {secretKeyRef: {name: kafka, key: password}}
connect:
  env: {CONNECT_CONSUMER_MAX_POLL_RECORDS: "0"}
  envVars:
    - {name: CONNECT_PRODUCER_ENABLE_IDEMPOTENCE, value: "maybe"}
"""
ENVIRONMENT = "services:\n  connect:\n    environment:\n      CONNECT_PRODUCER_ACKS: '2'\n      CONNECT_GROUP_ID: orders\n"


SPRING = "spring:\n  kafka:\n    producer:\n      batch-size: 1\n      properties:\n        acks: 0\n"
BRACKETS = "spring.kafka:\n  properties:\n    '[security.protocol]': SASL_SLL\n  producer:\n    properties:\n      '[linger.ms]': 5\n"
PROFILES = """\
spring.kafka.properties: {request.timeout.ms: 30000}
spring.kafka.producer.properties: {acks: all, linger.ms: 5}
---
spring.config.activate.on-profile: test
spring.kafka.producer.properties: {acks: 0, linger.ms: 5}
"""
OVERRIDES = """\
name=sink
connector.class=X
consumer.override.session.timeout.ms=2000
producer.override.acks=0
producer.override.ssl.key.password=hunter2-canary
"""
MIRROR = "clusters = A, B\nA.bootstrap.servers = a:1\nA->B.enabled = true\nacks = 0\nreplication.factor=1\n"
OF_MIRROR = f"{MIRROR}A.producer.acks = 2\nA->B.consumer.auto.offset.reset = erliest\nC.producer.acks = 2\n"
MISTAKE = "acks=all\norders.region=eu\nlinger.msec=5\n{% if x %}\n"
REGISTRY = "acks=all\norders.region=eu\nschema.registry.url=a\n"
EARLIER = "application.id=a\nbootstrap.servers=b:1\nprocessing.guarantee=exactly_once\n"
LIBRDKAFKA = "bootstrap.servers=a:1\nsasl.mechanisms=PLAIN\nlinger.ms=5\n"
FILES: dict[str, tuple[str, str, str]] = {
    "a worker, whose own settings are left alone": ("worker.properties", WORKER, ""),
    "streams": ("x.properties", STREAMS, ""),
    "a whole client": ("x.properties", WHOLE, ""),
    "a whole client and one apart": ("x.properties", f"{WHOLE}producer.acks=0\n", ""),
    "a connector": ("connector.yaml", CONNECTOR, ""),
    "a connector's overrides, under their names": ("connector.properties", OVERRIDES, ""),
    "compose": ("compose.yaml", ENVIRONMENT, ""),
    "a chart": ("values.yaml", CHART, ""),
    "names in brackets are whole names": ("application.yaml", BRACKETS, ""),
    "names of Spring's own": ("application.yaml", SPRING, ""),
    "names of Spring's own alone": ("application.yaml", "spring:\n  kafka:\n    consumer:\n      groupId: g\n", ""),
    "each document of Spring is a profile, so nothing is set twice": ("application.yaml", PROFILES, ""),
    "a MirrorMaker": ("mm2.properties", MIRROR, ""),
    "a MirrorMaker with clients of each cluster": ("mm2.properties", OF_MIRROR, ""),
    **{
        f"a name with a letter wrong under {prefix}": ("x.properties", f"{prefix}{name}=5\n", "")
        for prefix, name in (
            ("producer.override.", "linger.msec"), ("spring.kafka.producer.properties.", "linger.msec"),
            ("CONNECT_PRODUCER_", "LINGER_MSEC"),
            ("producer.", "linger.msec"),
        )
    },
    "an unknown name is no worse beside a mistake": ("x.properties", MISTAKE, ""),
    "a name of another library is": ("x.properties", REGISTRY, "--dialect librdkafka"),
    **{
        f"a word of an earlier release, for {version or 'an unknown one'}": (
            "x.properties", EARLIER, version and f"--software-version {version}",
        )
        for version in ("", "3.9.2", "4.4.0")
    },
    "a word of no release": ("x.properties", EARLIER.replace("exactly_once", "exactly_twice"), ""),
    "every setting is one of librdkafka": ("x.properties", LIBRDKAFKA, ""),
    "judged as librdkafka": ("x.properties", LIBRDKAFKA, "--dialect librdkafka"),
    "not every setting is one of librdkafka": ("x.properties", f"{LIBRDKAFKA}acks=all\norders.region=eu\n", ""),
    "HOCON": ("application.conf", 'kafka {\n  acks = "0"\n}\n', ""),
    "an application": ("application.properties", "logging.level.root=info\nbootstrap.servers=\n", ""),
    "a connector's own settings": ("connector.json", '{"name": "a", "config": {}, "connector.class": "X", "acks": "0"}', ""),
    "no client": ("x.properties", "distributionUrl=a\nretries=0\nretryBackOffMs=500\n", ""),
    "a Connect worker": ("x.properties", "bootstrap.servers=a:1\nconfig.storage.replication.factor=1\n", ""),
}  # fmt: skip


def test_finds_in_each_kind_of_file(lint: Document) -> None:
    text = "".join(f"{title}\n{judged(lint(name, source, *flags.split()))}\n" for title, (name, source, flags) in FILES.items())
    assert "canary" not in text and is_golden(text, __file__, "files.txt")


PRODUCER = ("--client-type", "producer")


IGNORED = {
    "a.properties": [
        "client.id=orders\n# clientscope: ignore[CF103, AN101] a test of errors\n\n# another\nacks=2\n",
        "client.id=orders\n! clientscope: ignore[CF103] a test of errors\nacks = 2\n",
        # A finding without a place is ignored from anywhere.
        "# clientscope: ignore[AN306] it is named elsewhere\nacks=all\n",
        # Other comments, and those of other settings, ignore nothing.
        "# clientscope: ignore[CF103]\nacks=2\n",
        "# clientscope: ignore[everything] a reason\nacks=2\n",
        "# clientscope: ignore[CF101] another rule\nacks=2\n",
        "# ignore[CF103] not ours\nacks=2\n",
        "# clientscope: ignore[CF103] this one\nacks=2\ncompression.type=zst\n",
        # A secret is not ignored so.
        'acks=all\n# clientscope: ignore[SK001] a test\'s\nsasl.jaas.config=org.example.Module required password="canary-1";\n',
    ],
    "a.yaml": [
        "client.id: orders\nacks: 2  # clientscope: ignore[CF103] a test of errors\n",
        "client.id: orders\n# clientscope: ignore[CF103] a test of errors\nacks: 2\n",
    ],
}


def test_comments_that_ignore_findings(lint: Document) -> None:
    text = ""
    for name, source in ((name, source) for name, sources in IGNORED.items() for source in sources):
        text += f"{name}\n{source}\n{judged(lint(name, source, *PRODUCER))}\n"
    assert is_golden(text, __file__, "comments.txt")


def test_comments_are_bounded_and_a_value_of_a_properties_file_is_none() -> None:
    ignored, notes = read_comments(b"# clientscope: ignore[CF103] why\nacks=2\n" * (MOST + 5), "yaml")
    assert (len(ignored), ignored[0], len(notes)) == (MOST, Ignored("CF103", 1, 2, "why"), 1)
    assert read_comments(b"client.id=a # clientscope: ignore[CF103] b\n", "properties") == ([], [])
