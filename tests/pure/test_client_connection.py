"""The handshake in kafka-python's own clients, against a scripted broker that speaks real bytes."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import kafka
import pytest
from scripted_broker import CLOSE, METADATA, SASL_AUTHENTICATE, SASL_HANDSHAKE, SILENT, ScriptedBroker, error

from clientscope.client import KafkaAdminClient, KafkaConsumer, KafkaProducer
from clientscope.wire.codes import API_VERSIONS, PUSH_CONFIG


@pytest.fixture
def broker() -> Iterator[Callable[..., ScriptedBroker]]:
    brokers: list[ScriptedBroker] = []

    def make(**settings: Any) -> ScriptedBroker:
        brokers.append(ScriptedBroker(**settings))
        return brokers[-1]

    yield make
    for made in brokers:
        made.shutdown()
        made.server_close()


Brokers = Callable[..., ScriptedBroker]


def use(client: kafka.KafkaAdminClient) -> None:
    """One request of the user's, on a connection of its own: the bootstrap connection is closed by then."""
    client.list_topics()


def test_pushes_before_any_request_of_the_users_and_once(broker: Brokers) -> None:
    server = broker()
    with closing(KafkaAdminClient(bootstrap_servers=server.address, client_id="ops")) as client:
        use(client)
    first, second = server.orders()
    assert first[:3] == [API_VERSIONS, PUSH_CONFIG, METADATA]
    assert PUSH_CONFIG not in second
    assert server.instance_ids == {client.client_instance_id}, "the same on every connection"
    (push,) = server.pushes
    assert [(config.config_key, config.config_value, config.is_default) for config in push.configs] == [
        ("client.id", "ops", False),
        ("request.timeout.ms", "30000", True),
    ]


def test_pushes_after_authentication(broker: Brokers) -> None:
    server = broker()
    secret = {"sasl_plain_username": "ops", "sasl_plain_password": "hunter2"}
    settings = {"security_protocol": "SASL_PLAINTEXT", "sasl_mechanism": "PLAIN", **secret}
    with closing(KafkaAdminClient(bootstrap_servers=server.address, **settings)) as client:
        use(client)
    assert server.orders()[0] == [API_VERSIONS, SASL_HANDSHAKE, SASL_AUTHENTICATE, PUSH_CONFIG, METADATA]
    assert "hunter2" not in repr(server.pushes)


def test_pushes_with_one_request_in_flight(broker: Brokers) -> None:
    server = broker()
    with closing(KafkaAdminClient(bootstrap_servers=server.address, max_in_flight_requests_per_connection=1)) as client:
        use(client)
    assert len(server.pushes) == 1


def test_api_versions_of_the_users_own_says_the_same(broker: Brokers) -> None:
    server = broker()
    with closing(KafkaAdminClient(bootstrap_servers=server.address)) as client:
        client.describe_features()
    assert server.orders()[1] == [API_VERSIONS, API_VERSIONS]
    assert server.instance_ids == {client.client_instance_id}


def test_each_client_is_an_instance(broker: Brokers) -> None:
    server = broker()
    for _ in range(2):
        with closing(KafkaAdminClient(bootstrap_servers=server.address)):
            pass
    assert len(server.pushes) == 2
    assert len(server.instance_ids) == 2


@pytest.mark.parametrize(("client_class", "key"), [(KafkaProducer, "acks"), (KafkaConsumer, "fetch.min.bytes")])
def test_producer_and_consumer(broker: Brokers, client_class: Any, key: str) -> None:
    server = broker()
    with closing(client_class(bootstrap_servers=server.address)):
        (push,) = server.pushes
    assert key in [config.config_key for config in push.configs]


def test_disabled_sends_nothing_and_no_id(broker: Brokers) -> None:
    server = broker()
    with closing(KafkaAdminClient(bootstrap_servers=server.address, enable_config_push=False)) as client:
        use(client)
    assert (server.pushes, server.instance_ids, client.client_instance_id) == ([], {None}, None)


def test_a_broker_without_it_is_asked_nothing(broker: Brokers) -> None:
    server = broker(advertises=False)
    with closing(KafkaAdminClient(bootstrap_servers=server.address)) as client:
        use(client)
    assert server.pushes == []
    assert server.instance_ids == {client.client_instance_id}


def test_a_later_node_that_advertises_it_gets_the_push(broker: Brokers) -> None:
    old, new = broker(advertises=False), broker()
    old.brokers = {2: new.port}
    with closing(KafkaAdminClient(bootstrap_servers=old.address)) as client:
        use(client)
    assert old.pushes == []
    assert new.orders()[0][:2] == [API_VERSIONS, PUSH_CONFIG]


def test_a_later_node_that_does_not_advertise_it_is_asked_nothing(broker: Brokers) -> None:
    new, old = broker(script=(CLOSE,)), broker(advertises=False)
    new.brokers = {2: old.port}
    with closing(KafkaAdminClient(bootstrap_servers=new.address)) as client:
        use(client)
    assert len(new.pushes) == 2
    assert old.pushes == []


def test_retriable_errors_and_throttling_are_retried_on_the_same_connection(broker: Brokers) -> None:
    server = broker(script=(error(7), error(89, throttle_ms=300)))
    started = time.monotonic()
    with closing(KafkaAdminClient(bootstrap_servers=server.address, retry_backoff_ms=10)) as client:
        use(client)
    assert server.orders()[0][:5] == [API_VERSIONS, PUSH_CONFIG, PUSH_CONFIG, PUSH_CONFIG, METADATA]
    assert 0.3 < time.monotonic() - started < 2


@pytest.mark.parametrize("code", [1324, 40, 42, 35])
def test_fatal_errors_are_logged_and_the_client_goes_on(broker: Brokers, code: int, caplog: pytest.LogCaptureFixture) -> None:
    server = broker(script=(error(code),))
    with closing(KafkaAdminClient(bootstrap_servers=server.address)) as client:
        use(client)
    assert len(server.pushes) == 1
    # kafka-python has warnings of its own, of a machine that is slow.
    ours = [record for record in caplog.records if record.levelno >= logging.WARNING and record.name.startswith("clientscope")]
    assert [record.name for record in ours] == ["clientscope.client"]


def test_a_long_throttle_does_not_hold_the_client_up(broker: Brokers) -> None:
    server = broker(script=(error(89, throttle_ms=3_600_000),))
    started = time.monotonic()
    with closing(KafkaAdminClient(bootstrap_servers=server.address)) as client:
        use(client)
    assert len(server.pushes) == 1
    assert time.monotonic() - started < 2


def test_an_unanswered_push_takes_half_of_the_connections_time(broker: Brokers) -> None:
    server = broker(script=(SILENT,))
    started = time.monotonic()
    with closing(KafkaAdminClient(bootstrap_servers=server.address, bootstrap_timeout_ms=2000, request_timeout_ms=1500)) as client:
        use(client)
    assert 1 < time.monotonic() - started < 4
    assert len(server.pushes) == 1


def test_a_broker_that_closes_on_every_push_loses_three_connections(broker: Brokers) -> None:
    server = broker(script=(CLOSE,) * 9)
    with closing(KafkaAdminClient(bootstrap_servers=server.address)) as client:
        use(client)
    assert len(server.pushes) == 3


def test_sensitive_keys_are_named_once_and_nothing_left_is_no_request(broker: Brokers, caplog: pytest.LogCaptureFixture) -> None:
    server = broker()
    settings = {"config_push_allowed_keys": "security.protocol, my.secret", "bootstrap_servers": server.address}
    with closing(KafkaAdminClient(**settings)) as client:
        use(client)
    assert server.pushes == []
    (record,) = (record for record in caplog.records if record.name == "clientscope.client")
    assert record.getMessage() == "not pushed, as they are sensitive: 'security.protocol', 'my.secret'"


def test_a_kafka_client_of_the_users_is_left_alone(broker: Brokers) -> None:
    server = broker()
    own = kafka.KafkaAdminClient.DEFAULT_CONFIG["kafka_client"]
    with closing(KafkaAdminClient(bootstrap_servers=server.address, kafka_client=own)) as client:
        use(client)
    assert (server.pushes, server.instance_ids) == ([], {None})


def test_unknown_settings_are_still_refused(broker: Brokers) -> None:
    with pytest.raises(kafka.errors.KafkaConfigurationError, match="nonsense"):
        KafkaAdminClient(bootstrap_servers=broker().address, nonsense=1)
