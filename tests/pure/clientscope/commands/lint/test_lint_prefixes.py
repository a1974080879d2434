"""Settings under the prefixes of Kafka Connect, Kafka Streams, Spring Boot and Quarkus: their clients, and that no default is judged."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from clientscope import cli
from clientscope.catalog.configs import ClientType
from clientscope.commands.lint.prefixes import groups, springs_own


def linted(capsys: pytest.CaptureFixture[str], file: Path, text: str, *flags: str) -> dict[str, Any]:
    file.write_text(text)
    cli.main(["lint", str(file), "--output-format", "json", *flags])
    return dict(json.loads(capsys.readouterr().out))


def findings(document: dict[str, Any]) -> set[tuple[str, int]]:
    return {(finding["code"], finding["line"]) for finding in document["findings"]}


@pytest.mark.parametrize(
    ("name", "client_type", "kafka_name"),
    [
        ("producer.acks", "producer", "acks"),
        ("producer.override.acks", "producer", "acks"),
        ("consumer.override.max.poll.records", "consumer", "max.poll.records"),
        ("admin.override.retries", "admin", "retries"),
        ("main.consumer.fetch.min.bytes", "consumer", "fetch.min.bytes"),
        ("spring.kafka.producer.properties.linger.ms", "producer", "linger.ms"),
        ("spring.kafka.streams.properties.acks", "streams", "acks"),
        ("mp.messaging.outgoing.prices-out.acks", "producer", "acks"),
        ("%prod.mp.messaging.incoming.prices.max.poll.records", "consumer", "max.poll.records"),
        ("kafka-streams.application.id", "streams", "application.id"),
        ("kafka.producers.orders.linger.ms", "producer", "linger.ms"),
        ("kafka.consumers.default.max.poll.records", "consumer", "max.poll.records"),
        ("spec.config.producer.override.acks", "producer", "acks"),
        ("spec.config.consumer.max.poll.records", "consumer", "max.poll.records"),
        ("config.producer.override.linger.ms", "producer", "linger.ms"),
        ("CONNECT_PRODUCER_ACKS", "producer", "acks"),
        ("services.connect.environment.CONNECT_CONSUMER_MAX_POLL_RECORDS", "consumer", "max.poll.records"),
    ],
)
def test_a_prefix_says_whose_it_is(name: str, client_type: str, kafka_name: str) -> None:
    (group,) = groups({name: "1"})
    assert (group.client_type, dict(group.names)) == (ClientType(client_type), {kafka_name: name})


@pytest.mark.parametrize(
    "name",
    ["acks", "producer.name", "my.producer.acks", "producer", "producer.", "spring.kafka.producer.acks", "mp.messaging.outgoing.acks"],
)
def test_what_is_none(name: str) -> None:
    assert groups({name: "1"}) == []


def test_springs_common_settings_are_each_clients() -> None:
    given = [
        "spring.kafka.properties.request.timeout.ms",
        "spring.kafka.producer.properties.acks",
        "spring.kafka.consumer.properties.group.id",
    ]
    producer, consumer = groups(dict.fromkeys(given, "1"))
    assert set(producer.names) == {"request.timeout.ms", "acks"}
    assert set(consumer.names) == {"request.timeout.ms", "group.id"}


def test_a_connectors_overrides_are_judged_under_their_names(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = "name=sink\nconnector.class=X\nconsumer.override.session.timeout.ms=2000\nproducer.override.acks=0\n"
    text += "producer.override.ssl.key.password=hunter2-canary\n"
    document = linted(capsys, tmp_path / "connector.properties", text)
    assert {("AN202", 3), ("AN101", 4), ("SK001", 5)} <= findings(document)
    by_code = {finding["code"]: finding for finding in document["findings"]}
    assert by_code["AN101"]["settings"][0]["key"] == "producer.override.acks"
    assert all(setting["line"] for finding in document["findings"] for setting in finding["settings"]), "no default is judged"
    assert "canary" not in json.dumps(document)
    assert set(document["files"][0]["client_types"]) == {"producer", "consumer"}


def test_the_same_leak_of_two_clients_is_two_findings(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    document = linted(
        capsys,
        tmp_path / "x.properties",
        "producer.ssl.key.password=hunter2\nproducer.acks=all\nconsumer.ssl.key.password=hunter2\nconsumer.group.id=g\n",
    )
    leaks = [finding for finding in document["findings"] if finding["code"] == "SK001"]
    assert [finding["line"] for finding in leaks] == [1, 3]
    assert len({finding["fingerprint"] for finding in leaks}) == 2


def test_what_is_not_there_is_not_judged(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    document = linted(capsys, tmp_path / "x.properties", "producer.acks=all\n")
    assert document["findings"] == []
    counts = {row["code"]: row for row in linted(capsys, tmp_path / "x.properties", "producer.acks=all\n", "--statistics")["statistics"]}
    assert (counts["AN101"]["passed"], counts["AN112"]["not_judged"], counts["AN306"]["not_judged"]) == (1, 1, 1)


def test_a_workers_own_settings_are_left_alone_and_its_clients_are_not(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    document = linted(
        capsys, tmp_path / "worker.properties", "key.converter=x\ngroup.id=connect\nsession.timeout.ms=2000\nproducer.acks=0\n"
    )
    assert findings(document) == {("AN101", 4)}


def test_a_streams_file_has_both(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    document = linted(capsys, tmp_path / "x.properties", "application.id=a\nbootstrap.servers=b:1\nproducer.acks=0\nretry.backoff.ms=1\n")
    assert {("AN101", 3), ("AN304", 4)} <= findings(document)


def test_a_whole_client_and_one_under_a_prefix_are_judged_apart(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    whole = "acks=all\ncompression.type=lz4\nclient.id=orders\nlinger.ms=5\n"
    assert findings(linted(capsys, tmp_path / "x.properties", whole)) == set()
    assert findings(linted(capsys, tmp_path / "x.properties", f"{whole}producer.acks=0\n")) == {("AN101", 5)}


def test_yaml_of_spring_and_its_own_names(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = "spring:\n  kafka:\n    producer:\n      batch-size: 1\n      properties:\n        acks: 0\n"
    document = linted(capsys, tmp_path / "application.yaml", text)
    assert findings(document) == {("AN101", 6)}
    (note,) = document["files"][0]["notes"]
    assert note["line"] == 4 and "spring.kafka.producer.batch-size is under a name of Spring Boot's own" in json.dumps(note)
    document = linted(capsys, tmp_path / "application.yaml", "spring:\n  kafka:\n    consumer:\n      groupId: g\n")
    assert "spring.kafka.consumer.groupId is under a name of Spring Boot's own" in document["files"][0]["skipped"]
    assert (
        springs_own({"spring.kafka.producer.properties.acks": "", "spring.kafka.properties.acks": "", "spring.application.name": ""}) == []
    )


def test_other_libraries_have_no_such_prefixes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    document = linted(capsys, tmp_path / "x.properties", "producer.acks=0\n", "--dialect", "librdkafka")
    assert document["files"][0]["skipped"]


def test_a_connectors_resource_is_judged(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = """apiVersion: kafka.strimzi.io/v1
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
    found = linted(capsys, tmp_path / "connector.yaml", text)
    assert {("CF103", 9), ("CF101", 10)} <= findings(found)


def test_compose_has_variables(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = "services:\n  connect:\n    image: connect\n    environment:\n      CONNECT_PRODUCER_ACKS: '2'\n      CONNECT_GROUP_ID: orders\n"
    assert ("CF103", 5) in findings(linted(capsys, tmp_path / "compose.yaml", text))
