"""The handshake in kafka-python's own clients, against a scripted broker that speaks real bytes."""

from __future__ import annotations

import ast
import functools
from collections.abc import Callable
from contextlib import closing
from typing import Any

import kafka
import pytest
from every import every
from golden import cases
from patience import until
from refusals import refused
from scripted_broker import METADATA, ScriptedBroker, error

from clientscope.catalog.configs import DEFAULT_KEYS, ClientType
from clientscope.client import KafkaAdminClient, KafkaConsumer, KafkaProducer
from clientscope.wire.codes import API_VERSIONS, CONFIG_TOO_LARGE, INVALID_CONFIG, PUSH_CONFIG

Brokers = Callable[..., ScriptedBroker]
Warnings = Callable[[], list[str]]


def use(client: kafka.KafkaAdminClient) -> None:
    """One request of the user's, on a connection of its own: the bootstrap connection is closed by then."""
    client.list_topics()


def used(server: ScriptedBroker, **settings: Any) -> KafkaAdminClient:
    """A client of this broker that was used, and is closed."""
    with closing(KafkaAdminClient(bootstrap_servers=server.address, **settings)) as client:
        use(client)
    return client


def with_network_settings(**settings: Any) -> type[KafkaAdminClient]:
    """A client of somebody's who gives kafka-python's network layer what its clients don't take."""

    class Subclass(KafkaAdminClient):
        def _prepare(self, *arguments: Any) -> dict[str, Any]:
            configs = super()._prepare(*arguments)
            return {**configs, "kafka_client": functools.partial(configs["kafka_client"], **settings)}

    return Subclass


@pytest.mark.parametrize(
    ("codes", "pushes", "logged"),
    [((7, 89), 3, 0), *(((code,), 1, 1) for code in (CONFIG_TOO_LARGE, INVALID_CONFIG, 42, 35, 31))],
)  # 7 REQUEST_TIMED_OUT, 89 THROTTLING_QUOTA_EXCEEDED, 42 INVALID_REQUEST, 35 UNSUPPORTED_VERSION, 31 CLUSTER_AUTHORIZATION_FAILED
def test_retriable_errors_alone_are_retried_on_the_same_connection(
    broker: Brokers, codes: tuple[int, ...], pushes: int, logged: int, warnings: Warnings
) -> None:
    """Others are logged, and the client continues."""
    server = broker(script=[error(code, message="why\nnot") for code in codes])
    used(server, retry_backoff_ms=10)
    first, *others = server.orders()
    assert first[: pushes + 1] == [API_VERSIONS] + pushes * [PUSH_CONFIG]
    assert PUSH_CONFIG not in [key for order in others for key in order]
    assert ["'why\\nnot'" in said for said in warnings()] == [True] * logged, "escaped, since a broker wrote it"


def test_pushes_before_any_request_of_the_users_and_once(server: ScriptedBroker) -> None:
    client = used(server, client_id="ops")
    first, second = server.orders()
    assert first[:3] == [API_VERSIONS, PUSH_CONFIG, METADATA]
    assert PUSH_CONFIG not in second
    assert server.instance_ids == {client.client_instance_id}, "the same on every connection"
    (push,) = server.pushes
    assert [(config.config_key, config.config_value, config.is_default) for config in push.configs] == [
        ("client.id", "ops", False),
        ("request.timeout.ms", "30000", True),
    ]


@pytest.mark.parametrize(
    ("client_class", "client_type", "unset"),
    [
        (KafkaProducer, ClientType.PRODUCER, "buffer.memory"),
        (KafkaConsumer, ClientType.CONSUMER, "group.id"),
        (KafkaAdminClient, ClientType.ADMIN, "retries"),
    ],
)
def test_each_client_pushes_the_keys_of_its_type(server: ScriptedBroker, client_class: Any, client_type: ClientType, unset: str) -> None:
    """All of KIP-1324's but the one for which kafka-python has no value."""
    with closing(client_class(bootstrap_servers=server.address)):
        (push,) = server.pushes
    assert {(config.config_key, bool(config.is_default)) for config in push.configs} == {
        (key, True) for key in set(DEFAULT_KEYS[client_type]) - {unset}
    }


def test_api_versions_of_the_users_own_says_the_same(server: ScriptedBroker) -> None:
    with closing(KafkaAdminClient(bootstrap_servers=server.address)) as client:
        client.describe_features()
    assert server.orders()[1] == [API_VERSIONS, API_VERSIONS]
    assert server.instance_ids == {client.client_instance_id}


def test_sensitive_keys_are_named_once_and_nothing_left_is_no_request(server: ScriptedBroker, warnings: Warnings) -> None:
    settings = {"config_push_allowed_keys": "security.protocol, my.secret", "bootstrap_servers": server.address}
    with closing(KafkaAdminClient(**settings)) as client:
        use(client)
    assert server.pushes == []
    assert warnings() == ["not pushed, as they are sensitive: 'security.protocol', 'my.secret'"]


def test_a_kafka_client_of_the_users_is_left_alone(server: ScriptedBroker) -> None:
    own = kafka.KafkaAdminClient.DEFAULT_CONFIG["kafka_client"]
    used(server, kafka_client=own)
    assert (server.pushes, server.instance_ids) == ([], {None})


def test_unknown_settings_are_still_refused(broker: Brokers) -> None:
    with pytest.raises(kafka.errors.KafkaConfigurationError, match="nonsense"):
        KafkaAdminClient(bootstrap_servers=broker().address, nonsense=1)


def said(server: ScriptedBroker) -> list[list[tuple[int, str, str, Any]]]:
    """What came in ApiVersions requests, by connection."""
    return [
        [
            (request.API_VERSION, request.client_software_name, request.client_software_version, request.client_instance_id)
            for request in requests
            if request.API_KEY == API_VERSIONS
        ]
        for requests in server.connections
    ]


@pytest.mark.parametrize(("newest", "used"), [(3, 3), (None, 0)], ids=["the broker's range", "v0 without a range"])
def test_kip_511_on_unsupported_version_another_is_used(broker: Brokers, newest: int | None, used: int) -> None:
    server = broker(refusals=((35, newest),))
    with closing(KafkaAdminClient(bootstrap_servers=server.address)) as client:
        said_first = (4, "kafka-python", kafka.__version__, client.client_instance_id)
    first, second = said(server)[0]
    assert (first, second[0]) == (said_first, used)
    assert used == 0 or second[1:] == said_first[1:]
    assert server.orders()[0][:3] == [API_VERSIONS, API_VERSIONS, PUSH_CONFIG]


@pytest.mark.parametrize(("newest", "asked"), [(None, [4, 0]), (4, [4]), (99, [4]), (2, [4, 2])])
def test_kip_511_a_broker_that_supports_no_version_is_not_asked_for_ever(broker: Brokers, newest: int | None, asked: list[int]) -> None:
    server = broker(refusals=((35, newest),) * 10_000)
    with pytest.raises(kafka.errors.KafkaTimeoutError):
        KafkaAdminClient(bootstrap_servers=server.address, bootstrap_timeout_ms=300)
    connections = {tuple(version for version, *_ in connection) for connection in said(server)}
    assert tuple(asked) in connections
    assert all(list(one) == asked[: len(one)] for one in every(connections)), "the last one may have been cut off by the client's time"


@pytest.mark.parametrize(
    ("name", "version", "cause"),
    [
        ("bad name", "1.0", "client_software_name 'bad name':"),
        ("good", "-", "client_software_version '-':"),
        ("", "\n", "client_software_name '' and client_software_version '\\n':"),
        ("good", "1.0", "client_software_name 'good', client_software_version '1.0' as invalid"),
    ],
)
def test_kip_511_on_invalid_request_the_client_gives_up_and_names_the_cause(
    broker: Brokers, name: str, version: str, cause: str, warnings: Warnings
) -> None:
    server = broker(refusals=((42, None),) * 100)
    with pytest.raises(kafka.errors.InvalidRequestError) as raised:
        with_network_settings(client_software_name=name, client_software_version=version)(bootstrap_servers=server.address)
    assert cause in str(raised.value)
    assert server.orders() == [[API_VERSIONS]]
    (warning,) = warnings()
    assert cause in warning


def test_kip_511_invalid_request_of_one_broker_is_that_brokers_where_another_took_the_name(broker: Brokers) -> None:
    first, second = broker(), broker(refusals=((42, None),))
    first.brokers = {2: second.port}
    with closing(KafkaAdminClient(bootstrap_servers=first.address)) as client:
        with pytest.raises(kafka.errors.InvalidRequestError, match="client_software_name 'kafka-python'"):
            use(client)
        use(client)
    assert len(second.connections) == 2


def test_exactly_one_request_more_is_sent_where_it_is_advertised_and_wanted(broker: Brokers) -> None:
    def orders(has_id: bool = True, advertises: bool = True, **settings: Any) -> list[list[int]]:
        server = broker(advertises=advertises)
        with closing(KafkaAdminClient(bootstrap_servers=server.address, **settings)) as client:
            use(client)
            assert (server.instance_ids, client.client_instance_id is not None) == ({client.client_instance_id}, has_id)
        return server.orders()

    without = orders(has_id=False, enable_config_push=False)
    assert orders(advertises=False) == without
    pushing = orders()
    assert pushing[0].pop(1) == PUSH_CONFIG
    assert pushing == without


def test_pushes_once_though_connections_close_for_being_idle(server: ScriptedBroker) -> None:
    with closing(KafkaAdminClient(bootstrap_servers=server.address, connections_max_idle_ms=100)) as client:
        for connections in (2, 3, 4):
            use(client)
            assert len(server.connections) == connections
            until(lambda: client._manager._conns, {}, why="closed by the client")
    assert len(server.pushes) == 1
    assert server.instance_ids == {client.client_instance_id}


def test_listed_settings_of_ours_are_pushed_like_kafkas(server: ScriptedBroker) -> None:
    keys = "config.push.allowed.keys,enable.config.push,default.api.timeout.ms,retry.backoff.max.ms"
    with closing(KafkaAdminClient(bootstrap_servers=server.address, config_push_allowed_keys=keys, retry_backoff_max_ms=700)):
        (push,) = server.pushes
    assert [(config.config_key, config.config_value, config.is_default) for config in push.configs] == [
        ("config.push.allowed.keys", keys, False),
        ("enable.config.push", "true", True),
        ("default.api.timeout.ms", "60000", True),
        ("retry.backoff.max.ms", "700", False),
    ]


@pytest.mark.parametrize("client_class", [KafkaProducer, KafkaConsumer, KafkaAdminClient])
@pytest.mark.parametrize(("name", "value"), cases(__file__, "invalid_settings.txt"))
def test_invalid_settings_are_refused_with_a_hint(client_class: Any, name: str, value: str) -> None:
    with refused(name) as raised:
        client_class(bootstrap_servers="127.0.0.1:1", **{name: ast.literal_eval(value)})
    assert raised.value.hint


@pytest.mark.parametrize("value", [5000, 5000.0, "5000"])
def test_a_timeout_may_be_text_as_in_a_file(server: ScriptedBroker, value: Any) -> None:
    with closing(KafkaAdminClient(bootstrap_servers=server.address, default_api_timeout_ms=value, retry_backoff_max_ms=0)):
        assert len(server.pushes) == 1


@pytest.mark.parametrize("knows", [True, False])
def test_an_embedded_client_pushes_nothing_and_says_the_outer_ones_id_if_any(server: ScriptedBroker, knows: bool) -> None:
    with closing(KafkaAdminClient(bootstrap_servers=server.address)) as outer:
        outer_id = outer.client_instance_id if knows else None
        for embedding in (KafkaProducer, KafkaConsumer, KafkaAdminClient):
            with closing(embedding(bootstrap_servers=server.address, embedded=outer_id or True)) as inner:
                assert inner.client_instance_id == outer_id
    assert (len(server.pushes), server.instance_ids) == (1, {outer.client_instance_id, outer_id})
