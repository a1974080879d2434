"""kafka-python's own classes after `clientscope.client.install`, against a scripted broker."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import Any

import kafka
import pytest
from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer
from scripted_broker import ScriptedBroker

import clientscope.client
from clientscope.client import client_instance_id, install, uninstall
from clientscope.errors import SettingsError

CLASSES = [KafkaProducer, KafkaConsumer, KafkaAdminClient]
ORIGINALS = [client_class.__init__ for client_class in CLASSES]


@pytest.fixture
def server() -> Iterator[ScriptedBroker]:
    with closing(ScriptedBroker()) as running:
        yield running


@pytest.fixture
def installed() -> Iterator[None]:
    install()
    yield
    uninstall()


def keys(server: ScriptedBroker) -> list[str]:
    (push,) = server.pushes
    return [config.config_key for config in push.configs]


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize(("client_class", "key"), list(zip(CLASSES, ["acks", "fetch.min.bytes", "client.id"], strict=True)))
def test_classes_that_were_imported_before_push(server: ScriptedBroker, client_class: Any, key: str) -> None:
    with closing(client_class(bootstrap_servers=server.address)) as client:
        assert server.instance_ids == {client_instance_id(client)}
    assert key in keys(server)


@pytest.mark.usefixtures("installed")
def test_a_default_is_what_the_user_did_not_set(server: ScriptedBroker) -> None:
    with closing(KafkaProducer(bootstrap_servers=server.address, linger_ms=0)):
        (push,) = server.pushes
    is_default = {config.config_key: config.is_default for config in push.configs}
    assert (is_default["linger.ms"], is_default["acks"]) == (False, True)


@pytest.mark.usefixtures("installed")
def test_subclasses_push_once(server: ScriptedBroker) -> None:
    class Orders(KafkaConsumer):  # type: ignore[misc]
        client_instance_id = "an attribute of theirs"

        def __init__(self, *topics: str, **configs: Any) -> None:
            self.client_instance_id = "set by them"
            super().__init__(*topics, group_id="orders", **configs)

    with closing(Orders("t", bootstrap_servers=server.address)) as client:
        assert client.subscription() == {"t"}
        assert client.client_instance_id == "set by them"
    (push,) = server.pushes
    assert ("group.id", "orders") in [(config.config_key, config.config_value) for config in push.configs]


@pytest.mark.usefixtures("installed")
def test_our_own_classes_still_push_once(server: ScriptedBroker, caplog: pytest.LogCaptureFixture) -> None:
    with closing(clientscope.client.KafkaAdminClient(bootstrap_servers=server.address)) as client:
        assert server.instance_ids == {client.client_instance_id}
    assert len(server.pushes) == 1
    assert [record for record in caplog.records if record.name == "clientscope.client" and record.levelname == "WARNING"] == []
    with closing(clientscope.client.KafkaAdminClient(bootstrap_servers=server.address, enable_config_push=False)):
        assert len(server.pushes) == 1


@pytest.mark.usefixtures("installed")
def test_our_settings_are_taken(server: ScriptedBroker) -> None:
    with closing(KafkaAdminClient(bootstrap_servers=server.address, enable_config_push=False)) as client:
        assert (server.pushes, client_instance_id(client)) == ([], None)
    with closing(KafkaAdminClient(bootstrap_servers=server.address, config_push_allowed_keys=["retry.backoff.ms"])):
        assert keys(server) == ["retry.backoff.ms"]
    with closing(KafkaAdminClient(bootstrap_servers=server.address, embedded=True)):
        assert len(server.pushes) == 1


@pytest.mark.usefixtures("installed")
def test_unknown_settings_are_still_refused(server: ScriptedBroker) -> None:
    for client_class in CLASSES:
        with pytest.raises((ValueError, kafka.errors.KafkaConfigurationError), match="nonsense"):
            client_class(bootstrap_servers=server.address, nonsense=1)
    assert server.connections == []


def test_the_arguments_are_for_clients_that_do_not_set_these(server: ScriptedBroker) -> None:
    try:
        install(enable_config_push=False, config_push_allowed_keys="retry.backoff.ms")
        with closing(KafkaAdminClient(bootstrap_servers=server.address)):
            assert server.pushes == []
        with closing(KafkaAdminClient(bootstrap_servers=server.address, enable_config_push=True)):
            assert keys(server) == ["retry.backoff.ms"]
        install()
        with closing(KafkaAdminClient(bootstrap_servers=server.address)):
            assert [config.config_key for config in server.pushes[1].configs] == ["client.id", "request.timeout.ms"]
    finally:
        uninstall()


def test_installing_many_times_at_once_is_installing_once(server: ScriptedBroker) -> None:
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: install(), range(100)))
    try:
        with closing(KafkaAdminClient(bootstrap_servers=server.address)):
            assert len(server.pushes) == 1
        for client_class, original in zip(CLASSES, ORIGINALS, strict=True):
            assert client_class.__init__ is not original
            assert client_class.__init__.__wrapped__ is original, "patched once, not once per call"
            assert inspect.signature(client_class) == inspect.signature(original).replace(
                parameters=list(inspect.signature(original).parameters.values())[1:]
            )
    finally:
        uninstall()
    assert [client_class.__init__ for client_class in CLASSES] == ORIGINALS


def test_nothing_is_patched_unless_asked_for(server: ScriptedBroker) -> None:
    assert [client_class.__init__ for client_class in CLASSES] == ORIGINALS
    with closing(KafkaAdminClient(bootstrap_servers=server.address)) as client:
        assert (server.pushes, server.instance_ids, client_instance_id(client)) == ([], {None}, None)


@pytest.mark.parametrize("wrong", [{"enable_config_push": "false"}, {"config_push_allowed_keys": 5}, {"config_push_allowed_keys": [5]}])
def test_invalid_arguments_are_refused_at_once(wrong: dict[str, Any]) -> None:
    with pytest.raises(SettingsError, match=next(iter(wrong))):
        install(**wrong)


@pytest.mark.parametrize("client_class", [KafkaProducer, KafkaConsumer, KafkaAdminClient])
def test_invalid_settings_are_refused_and_leave_nothing(client_class: Any) -> None:
    install()
    try:
        with pytest.raises(SettingsError, match="default_api_timeout_ms"):
            client_class(bootstrap_servers="127.0.0.1:1", default_api_timeout_ms="abc")
    finally:
        uninstall()
