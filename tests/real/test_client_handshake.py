"""The client's half through the real gateway to a real broker: what a client pushes is what stands on clientscope.configs."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable
from contextlib import closing
from typing import Any

import kafka
import pytest
from kafka.protocol import metadata

from clientscope.catalog.configs import Type
from clientscope.client import KafkaAdminClient, KafkaConsumer, KafkaProducer
from clientscope.client.raw import RawClient
from clientscope.records.codec import ClientConfigRecord, ValueState, decode
from clientscope.records.topics import CONFIGS
from clientscope.wire.codes import CONFIG_TOO_LARGE, INVALID_CONFIG, INVALID_REQUEST, NONE, PUSH_CONFIG

TOPIC = "test.client.handshake"


@pytest.fixture(scope="module")
def topic(broker: Any) -> str:
    with closing(kafka.KafkaAdminClient(bootstrap_servers=broker.internal)) as admin:
        if TOPIC not in admin.list_topics():
            admin.create_topics({TOPIC: {"num_partitions": 1, "replication_factor": 1}})
    return TOPIC


Pushed = Callable[[uuid.UUID | None], list[Any]]


@pytest.fixture
def pushed(broker: Any) -> Pushed:
    """Records of one client instance: waits up to 10 s for the first, then reads what else there is."""

    def read(instance_id: uuid.UUID | None) -> list[Any]:
        settings = {"bootstrap_servers": broker.internal, "auto_offset_reset": "earliest", "enable_auto_commit": False}
        records: list[Any] = []
        deadline = time.monotonic() + 10
        with closing(kafka.KafkaConsumer(CONFIGS, **settings)) as consumer:
            while time.monotonic() < deadline:
                batches = consumer.poll(timeout_ms=500)
                values = [record.value for batch in batches.values() for record in batch if record.key == str(instance_id).encode()]
                records += [decode(ClientConfigRecord, value) for value in values]
                if records and not batches:
                    break
        return records

    return read


def settings_of(record: Any) -> dict[str, str | None]:
    return {config.config_key: config.config_value for config in record.configs}


def test_producer_pushes_once_on_all_its_connections(gateway: Any, topic: str, pushed: Pushed) -> None:
    with closing(KafkaProducer(bootstrap_servers=gateway.address, client_id="handshake-producer", linger_ms=3)) as producer:
        producer.send(topic, b"a").get(timeout=30)
        (record,) = pushed(producer.client_instance_id)
    assert record.client_instance_id == producer.client_instance_id
    assert (record.client_id, record.client_software_name) == ("handshake-producer", "kafka-python")
    assert settings_of(record)["linger.ms"] == "3"
    is_default = {config.config_key: config.is_default for config in record.configs}
    assert (is_default["linger.ms"], is_default["acks"]) == (False, True)


def test_consumer(gateway: Any, topic: str, pushed: Pushed) -> None:
    settings = {"group_id": "handshake", "auto_offset_reset": "earliest"}
    with closing(KafkaConsumer(topic, bootstrap_servers=gateway.address, **settings)) as consumer:
        consumer.poll(timeout_ms=2000)
        (record,) = pushed(consumer.client_instance_id)
    assert settings_of(record)["group.id"] == "handshake"


def test_admin(gateway: Any, pushed: Pushed) -> None:
    with closing(KafkaAdminClient(bootstrap_servers=gateway.address, client_id="handshake-admin")) as admin:
        assert admin.describe_cluster()["brokers"]
        (record,) = pushed(admin.client_instance_id)
    assert settings_of(record) == {"client.id": "handshake-admin", "request.timeout.ms": "30000"}


def test_disabled_pushes_nothing(gateway: Any, topic: str) -> None:
    with closing(KafkaProducer(bootstrap_servers=gateway.address, enable_config_push=False)) as producer:
        producer.send(topic, b"a").get(timeout=30)
        assert producer.client_instance_id is None


def test_works_unchanged_against_a_broker_that_does_not_advertise_it(broker: Any, topic: str) -> None:
    with closing(KafkaProducer(bootstrap_servers=broker.internal)) as producer:
        assert producer.send(topic, b"a").get(timeout=30).offset >= 0
    with RawClient.connect(broker.internal, "raw") as client:
        answer = client.api_versions("raw-client", "1.0", uuid.uuid4())
    assert answer.error_code == NONE, "tag 1324 is ignored"
    assert PUSH_CONFIG not in [key.api_key for key in answer.api_keys]


def test_a_careless_clients_secret_is_refused_and_redacted(gateway: Any, pushed: Pushed) -> None:
    instance_id = uuid.uuid4()
    secret = 'PlainLoginModule required username="u" password="hunter2-of-this-test";'
    with RawClient.connect(gateway.address, "careless") as client:
        client.api_versions("careless-client", "0.1.0", instance_id)
        answer = client.push_config([("acks", "all", Type.STRING, True), ("sasl.jaas.config", secret, Type.PASSWORD, False)])
        (record,) = pushed(instance_id)
        assert client.api_versions("careless-client", "0.1.0", instance_id).error_code == NONE, "the connection goes on"
    assert answer.error_code == INVALID_CONFIG
    assert "sasl.jaas.config" in answer.error_message
    assert "hunter2" not in answer.error_message
    assert settings_of(record) == {"acks": "all", "sasl.jaas.config": None}
    assert record.configs[1].value_state == ValueState.KEY_PREFIX


@pytest.mark.parametrize(
    ("configs", "error_code"),
    [
        ([], INVALID_REQUEST),
        ([("", "x", 1, False)], INVALID_REQUEST),
        ([("acks", "x", 9, False)], INVALID_REQUEST),
        ([("acks", "x" * 11_000, 1, False)], CONFIG_TOO_LARGE),
    ],
)
def test_bad_pushes_get_an_error_and_the_connection_goes_on(
    gateway: Any, configs: list[tuple[str, str, int, bool]], error_code: int
) -> None:
    with RawClient.connect(gateway.address, "raw") as client:
        client.api_versions("raw-client", "1.0", uuid.uuid4())
        assert client.push_config(configs).error_code == error_code
        answer = client.request(metadata.MetadataRequest(version=12, topics=[]), metadata.MetadataResponse)
    assert answer.cluster_id
