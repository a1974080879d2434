"""The client's half through the real gateway to a real broker: the record on clientscope.configs has what the client pushed."""

from __future__ import annotations

import functools
import time
import uuid
from collections.abc import Callable
from contextlib import closing
from typing import Any

import kafka
import pytest
from kafka.protocol import metadata

from clientscope.catalog.configs import Type
from clientscope.client import KafkaAdminClient, KafkaProducer
from clientscope.client.raw import RawClient
from clientscope.records.client_key import instance_of
from clientscope.records.codec import ClientConfigRecord, decode
from clientscope.records.layouts import ValueState
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
                values = [
                    record.value for batch in batches.values() for record in batch if instance_of(record.key.decode()) == str(instance_id)
                ]
                records += [decode(ClientConfigRecord, value) for value in values]
                if records and not batches:
                    break
        return records

    return read


def settings_of(record: Any) -> dict[str, str | None]:
    return {config.config_key: config.config_value for config in record.configs}


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
def test_bad_pushes_get_an_error_and_the_connection_stays_open(
    gateway: Any, configs: list[tuple[str, str, int, bool]], error_code: int
) -> None:
    with RawClient.connect(gateway.address, "raw") as client:
        client.api_versions("raw-client", "1.0", uuid.uuid4())
        assert client.push_config(configs).error_code == error_code
        answer = client.request(metadata.MetadataRequest(version=12, topics=[]), metadata.MetadataResponse)
    assert answer.cluster_id


class Named(KafkaAdminClient):
    """A client that says another name."""

    software: dict[str, str]

    def _prepare(self, *arguments: Any) -> dict[str, Any]:
        configs = super()._prepare(*arguments)
        return {**configs, "kafka_client": functools.partial(configs["kafka_client"], **self.software)}


@pytest.mark.parametrize("through", ["broker", "gateway"])
@pytest.mark.parametrize(
    ("name", "version", "cause"),
    [
        ("bad name", "1.0", "client_software_name 'bad name':"),
        ("good", "1.0-", "client_software_version '1.0-':"),
    ],
)
def test_kip_511_a_name_that_a_broker_refuses_ends_the_client_and_is_named(
    broker: Any, gateway: Any, through: str, name: str, version: str, cause: str
) -> None:
    address = broker.internal if through == "broker" else gateway.address
    Named.software = {"client_software_name": name, "client_software_version": version}
    with pytest.raises(kafka.errors.InvalidRequestError) as raised:
        Named(bootstrap_servers=address)
    assert cause in str(raised.value)


def test_kip_511_a_name_that_a_broker_takes(gateway: Any, pushed: Pushed) -> None:
    Named.software = {"client_software_name": "my-software", "client_software_version": "1.2.3-rc.4"}
    with closing(Named(bootstrap_servers=gateway.address)) as client:
        (record,) = pushed(client.client_instance_id)
    assert (record.client_software_name, record.client_software_version) == ("my-software", "1.2.3-rc.4")
