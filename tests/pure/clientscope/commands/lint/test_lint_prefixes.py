"""Settings under the prefixes of Kafka Connect, Kafka Streams, Spring Boot and Quarkus: their clients, and that no default is judged."""

from __future__ import annotations

import json
from typing import Any

import pytest
from command_runs import Document
from every import every

from clientscope.catalog.configs import ClientType
from clientscope.commands.lint.prefixes import groups, springs_own


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
    (group,) = groups({name: "1"})
    assert (group.client_type, dict(group.names)) == (ClientType(client_type), {kafka_name: name})


NONE = (
    "acks", "producer.name", "my.producer.acks", "producer", "producer.", "spring.kafka.producer.acks", "mp.messaging.outgoing.acks",
    "mp.messaging.outgoing.orders.topic", "KAFKA_TOPIC", "KAFKA_BATCH_SIZE", "KAFKA_CLIENTID", "spec.mirrors[0].config.producer.acks",
    "spring.kafka.producer.properties[linger.ms]",
)  # fmt: skip


def test_other_names_are_nobodys() -> None:
    assert [name for name in NONE if groups({name: "1"})] == []


def test_a_name_with_a_letter_wrong_is_found_alone(lint: Document) -> None:
    for prefix in ("producer.override.", "spring.kafka.producer.properties.", "CONNECT_PRODUCER_"):
        name = prefix + ("LINGER_MSEC" if prefix.endswith("_") else "linger.msec")
        assert findings(lint("x.properties", f"{name}=5\n")) == {("CF101", 1)}
    assert lint("x.properties", "producer.linger.msec=5\n")["files"][0]["skipped"], "an application's own name"


def test_springs_common_settings_are_each_clients() -> None:
    given = [
        "spring.kafka.properties.request.timeout.ms",
        "spring.kafka.producer.properties.acks",
        "spring.kafka.consumer.properties.group.id",
    ]
    producer, consumer = groups(dict.fromkeys(given, "1"))
    assert set(producer.names) == {"request.timeout.ms", "acks"}
    assert set(consumer.names) == {"request.timeout.ms", "group.id"}


def test_a_connectors_overrides_are_judged_under_their_names(lint: Document) -> None:
    text = "name=sink\nconnector.class=X\nconsumer.override.session.timeout.ms=2000\nproducer.override.acks=0\n"
    text += "producer.override.ssl.key.password=hunter2-canary\n"
    document = lint("connector.properties", text)
    assert {("AN202", 3), ("AN101", 4), ("SK001", 5)} <= findings(document)
    by_code = {finding["code"]: finding for finding in document["findings"]}
    assert by_code["AN101"]["settings"][0]["key"] == "producer.override.acks"
    assert all(setting["line"] for finding in every(document["findings"]) for setting in finding["settings"]), "no default is judged"
    assert "canary" not in json.dumps(document)
    assert set(document["files"][0]["client_types"]) == {"producer", "consumer"}


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


BRACKETS = "spring.kafka:\n  properties:\n    '[security.protocol]': SASL_SLL\n  producer:\n    properties:\n      '[linger.ms]': 5\n"


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("worker.properties", WORKER, {("AN101", 4)}),
        ("x.properties", STREAMS, {("AN101", 3), ("AN304", 4), ("AN306", None)}),
        ("x.properties", WHOLE, set()),
        ("x.properties", f"{WHOLE}producer.acks=0\n", {("AN101", 5)}),
        ("connector.yaml", CONNECTOR, {("CF103", 9), ("CF101", 10)}),
        ("compose.yaml", ENVIRONMENT, {("CF103", 4)}),
        ("values.yaml", CHART, {("CF103", 4), ("CF102", 8), ("AN311", 10)}),
        ("application.yaml", BRACKETS, {("CF103", 3)}),
    ],
    ids=[
        "worker's own settings are left alone",
        "streams",
        "whole client",
        "and one apart",
        "connector",
        "compose",
        "chart",
        "names in brackets",
    ],
)
def test_finds_in_each_kind_of_file(lint: Document, name: str, text: str, expected: set[tuple[str, int | None]]) -> None:
    assert findings(lint(name, text)) == expected


def test_yaml_of_spring_and_its_own_names(lint: Document) -> None:
    text = "spring:\n  kafka:\n    producer:\n      batch-size: 1\n      properties:\n        acks: 0\n"
    document = lint("application.yaml", text)
    assert findings(document) == {("AN101", 6)}
    (note,) = document["files"][0]["notes"]
    assert note["line"] == 4 and "spring.kafka.producer.batch-size is under a name of Spring Boot's own" in json.dumps(note)
    document = lint("application.yaml", "spring:\n  kafka:\n    consumer:\n      groupId: g\n")
    assert "spring.kafka.consumer.groupId is under a name of Spring Boot's own" in document["files"][0]["skipped"]
    assert (
        springs_own({"spring.kafka.producer.properties.acks": "", "spring.kafka.properties.acks": "", "spring.application.name": ""}) == []
    )


def test_each_document_of_spring_is_a_profile_of_its_own(lint: Document) -> None:
    text = """\
spring.kafka.properties: {request.timeout.ms: 30000}
spring.kafka.producer.properties: {acks: all, linger.ms: 5}
---
spring.config.activate.on-profile: test
spring.kafka.producer.properties: {acks: 0, linger.ms: 5}
"""
    document = lint("application.yaml", text)
    assert findings(document) == {("AN101", 5)}
    assert document["files"][0]["notes"] == [], "a setting of another document isn't set twice"


def skipped(document: dict[str, Any]) -> str:
    return str(document["files"][0]["skipped"])


def test_a_mirror_makers_properties_have_clients_of_each_cluster(lint: Document) -> None:
    text = "clusters = A, B\nA.bootstrap.servers = a:1\nA->B.enabled = true\nacks = 0\nreplication.factor=1\n"
    assert skipped(lint("mm2.properties", text)) == "a MirrorMaker's settings"
    text += "A.producer.acks = 2\nA->B.consumer.auto.offset.reset = erliest\nC.producer.acks = 2\n"
    assert findings(lint("mm2.properties", text)) == {("CF103", 6), ("CF103", 7)}


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("application.conf", 'kafka {\n  acks = "0"\n}\n', "it looks like HOCON"),
        ("application.properties", "logging.level.root=info\nbootstrap.servers=\n", "an application's settings"),
        ("connector.json", '{"name": "a", "config": {}, "connector.class": "X", "acks": "0"}', "a connector's settings"),
        ("x.properties", "distributionUrl=a\nretries=0\nretryBackOffMs=500\n", "no setting of a Kafka client"),
        ("x.properties", "bootstrap.servers=a:1\nconfig.storage.replication.factor=1\n", "a Connect worker's settings"),
    ],
)
def test_what_is_no_clients_file(lint: Document, name: str, text: str, reason: str) -> None:
    assert skipped(lint(name, text)).startswith(reason)


def test_an_unknown_name_is_no_worse_beside_a_mistake(lint: Document) -> None:
    document = lint("x.properties", "acks=all\norders.region=eu\nlinger.msec=5\n{% if x %}\n")
    assert {(each["line"], each["severity"]) for each in document["findings"] if each["code"] == "CF101"} == {(2, "info"), (3, "medium")}
    text = "acks=all\norders.region=eu\nschema.registry.url=a\n"
    document = lint("x.properties", text, "--dialect", "librdkafka")
    assert {(each["line"], each["severity"]) for each in document["findings"] if each["code"] == "CF101"} == {(2, "high"), (3, "info")}


def test_what_an_earlier_release_took_is_no_mistake_where_the_release_is_unknown(lint: Document) -> None:
    text = "application.id=a\nbootstrap.servers=b:1\nprocessing.guarantee=exactly_once\n"
    for version, found in (("", False), ("3.9.2", False), ("4.4.0", True)):
        flags = ["--software-version", version] if version else []
        assert (("CF103", 3) in findings(lint("x.properties", text, *flags))) is found
    assert ("CF103", 3) in findings(lint("x.properties", text.replace("exactly_once", "exactly_twice")))


def test_a_file_of_another_library_has_a_note(lint: Document) -> None:
    text = "bootstrap.servers=a:1\nsasl.mechanisms=PLAIN\nlinger.ms=5\n"
    (note,) = lint("x.properties", text)["files"][0]["notes"]
    assert note == {"line": 2, "text": "every setting of this file is one of librdkafka: --dialect librdkafka judges it as that"}
    assert lint("x.properties", text, "--dialect", "librdkafka")["files"][0]["notes"] == []
    assert lint("x.properties", text + "acks=all\norders.region=eu\n")["files"][0]["notes"] == []
