"""KIP-1324's "Test Plan", heading by heading, in its order, as far as it takes a real broker and a real gateway.

What a scripted broker shows as well is in tests/pure/clientscope/client and commands/push: startup, retries, timeouts, throttling, large
payloads, each client's type, and which brokers get the push while some advertise it; clients of Kafka Streams: test_pushes.py. A broker
that supports the push is a broker behind a gateway, and one that doesn't is the same broker without.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import kafka
import pytest
from conftest import RunningBroker, RunningGateway
from observe import configurations, connection_records, make_topic
from patience import LIMIT_S, until

from clientscope.client import KafkaProducer
from clientscope.client.raw import RawClient
from clientscope.model.enums import Origin
from clientscope.wire.codes import PUSH_CONFIG

TOPIC = "test.plan"


@pytest.fixture(scope="module", autouse=True)
def topic(broker: RunningBroker) -> str:
    make_topic(broker.internal, TOPIC)
    return TOPIC


@pytest.fixture(scope="module")
def without_policy(broker: RunningBroker, folder: Path) -> Iterator[RunningGateway]:
    """A gateway whose ``client.config.policy.class.name`` is null."""
    flags = ("--client-config-policy-class-name", "")
    with broker.gateway(folder / "without-policy", *flags) as running:
        yield running


@pytest.fixture(scope="module")
def processed(folder: Path) -> Path:
    """The file in which the custom policy writes the clients that it was called for."""
    return folder / "processed"


@pytest.fixture(scope="module")
def custom_policy(broker: RunningBroker, processed: Path) -> Iterator[RunningGateway]:
    """A gateway with a policy of an operator's own."""
    flags = ("--client-config-policy-configs", f"processed.file={processed}")
    with broker.gateway(processed.parent, *flags, policy="publishing_policies.AcksAll") as running:
        yield running


def pushed(broker: RunningBroker, instance_id: uuid.UUID | None, expected: int = 1) -> list[Any]:
    """The pushes of a client instance that were published; a push that Kafka is slow to acknowledge is answered before."""
    assert instance_id is not None
    until(lambda: len(configurations(broker.internal, instance_id=instance_id)) >= expected)
    return configurations(broker.internal, instance_id=instance_id, origin=Origin.PUSHED)


def advertises(address: str) -> bool:
    with RawClient.connect(address, "plan") as client:
        return PUSH_CONFIG in [key.api_key for key in client.api_versions("plan", "1.0").api_keys]


def use(client: Any) -> None:
    """A request of the user's, on a connection that the bootstrap hasn't made."""
    if isinstance(client, kafka.KafkaProducer):
        assert client.send(TOPIC, b"a").get(LIMIT_S).offset >= 0
    elif isinstance(client, kafka.KafkaConsumer):
        assert client.end_offsets([kafka.TopicPartition(TOPIC, 0)])
    else:
        assert client.list_topics() is not None


def warnings_of(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.name == "clientscope.client" and record.levelno >= logging.WARNING]


# Integration Tests: Happy Path


def test_complete_handshake_with_success(broker: RunningBroker, gateway: RunningGateway) -> None:
    with KafkaProducer(bootstrap_servers=gateway.address, client_id="plan-happy", linger_ms=3) as producer:
        use(producer)
        (record,) = pushed(broker, producer.client_instance_id)
    assert record.instance_id == str(producer.client_instance_id)
    said = record.client_id, record.software_name, record.software_version
    assert said == ("plan-happy", "kafka-python", kafka.__version__)
    configs = {config.key: (config.value, config.type, config.origin) for config in record.listed()}
    assert configs["linger.ms"] == ("3", "long", "set")
    assert configs["acks"] == ("all", "string", "default")
    until(lambda: connection_records(broker.internal, client_id="plan-happy"))
    identified = {record.instance_id for record in connection_records(broker.internal, client_id="plan-happy")}
    assert identified == {str(producer.client_instance_id)}, "the same on every connection"


# Integration Tests: Broker Configuration


def test_brokers_with_a_policy_alone_advertise_apis_in_api_versions(
    broker: RunningBroker, gateway: RunningGateway, custom_policy: RunningGateway, without_policy: RunningGateway
) -> None:
    """Old brokers don't either."""
    addresses = (gateway.address, custom_policy.address, without_policy.address, broker.internal, broker.client)
    assert [advertises(address) for address in addresses] == [True, True, False, False, False]


# System Tests: Policy


@pytest.mark.usefixtures("gateway")
def test_policy_processes_each_push_and_client_receives_invalid_config_with_its_message(
    broker: RunningBroker, custom_policy: RunningGateway, processed: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The client continues, and doesn't push again, although its next connection is to another gateway, which would accept a push."""
    for settings, accepted in (({}, 1), ({"acks": 1}, 0)):
        with KafkaProducer(bootstrap_servers=custom_policy.address, **settings) as producer:
            use(producer)
        assert processed.read_text().splitlines().count(str(producer.client_instance_id)) == 1
        assert len(pushed(broker, producer.client_instance_id, accepted)) == accepted
    (warning,) = warnings_of(caplog)
    assert "InvalidConfigurationError: 'acks is 1, and must be all'" in warning
