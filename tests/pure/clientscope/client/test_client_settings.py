"""Settings that kafka-python's clients push."""

from __future__ import annotations

import ast
from typing import Any

import kafka
import pytest
from golden import cases

from clientscope.catalog.configs import DEFAULT_KEYS, ClientType, Type
from clientscope.client.settings import Collected, ConfigEntry, allowed_keys, collect, collect_dialect, push_enabled, split_keys
from clientscope.errors import SettingsError

CLIENTS = {
    ClientType.PRODUCER: kafka.KafkaProducer,
    ClientType.CONSUMER: kafka.KafkaConsumer,
    ClientType.ADMIN: kafka.KafkaAdminClient,
}


def collected(client_type: ClientType, keys: tuple[str, ...] | None = None, **settings: Any) -> Collected:
    """As if the user had made a client of this type with these settings."""
    config = {**CLIENTS[client_type].DEFAULT_CONFIG, **settings}
    return collect(client_type, config, settings.keys(), DEFAULT_KEYS[client_type] if keys is None else keys)


def test_producer() -> None:
    assert collected(ClientType.PRODUCER, client_id="orders", linger_ms=20) == Collected(
        entries=(
            ConfigEntry("acks", "all", Type.STRING, True),
            ConfigEntry("batch.size", "16384", Type.INT, True),
            # kafka-python has no buffer.memory
            ConfigEntry("client.id", "orders", Type.STRING, False),
            ConfigEntry("compression.type", "none", Type.STRING, True),
            ConfigEntry("delivery.timeout.ms", "120000", Type.INT, True),
            ConfigEntry("enable.idempotence", "true", Type.BOOLEAN, True),
            ConfigEntry("linger.ms", "20", Type.LONG, False),
            ConfigEntry("max.in.flight.requests.per.connection", "5", Type.INT, True),
            ConfigEntry("request.timeout.ms", "30000", Type.INT, True),
            ConfigEntry("retries", "2147483647", Type.INT, True),
        ),
        sensitive=(),
    )


def test_consumer_without_a_group_and_admin() -> None:
    entries = collected(ClientType.CONSUMER, auto_offset_reset="earliest").entries
    assert [entry.key for entry in entries] == [key for key in DEFAULT_KEYS[ClientType.CONSUMER] if key != "group.id"]
    assert ConfigEntry("auto.offset.reset", "earliest", Type.STRING, False) in entries
    default = ConfigEntry("request.timeout.ms", "30000", Type.INT, True)
    assert default in entries
    assert collected(ClientType.ADMIN, client_id="ops").entries == (ConfigEntry("client.id", "ops", Type.STRING, False), default)


@pytest.mark.parametrize(("key", "settings", "expected"), cases(__file__, "values.txt"))
def test_values_as_kafka_writes_them(key: str, settings: str, expected: str) -> None:
    given = ast.literal_eval(settings)
    (entry,) = collected(ClientType.PRODUCER, (key,), **given).entries
    assert (entry.value, entry.is_default) == (expected, key.replace(".", "_") not in given)


def test_f34_a_key_that_is_a_secret_is_held_back_without_its_name() -> None:
    got = collect_dialect("java", ClientType.PRODUCER, {"acks": "all"}, keys=["acks", "sasl.password = hunter2"])
    assert [entry.key for entry in got.entries] == ["acks"]
    assert got.sensitive == ("[redacted]",)


def test_allowed_keys_are_pushed_once_and_in_their_order() -> None:
    got = collected(ClientType.CONSUMER, ("max.poll.records", "check.crcs", "group.id", "max.poll.records"))
    assert [(entry.key, entry.value) for entry in got.entries] == [("max.poll.records", "500"), ("check.crcs", "true")]


@pytest.mark.parametrize(
    ("client_type", "keys", "settings", "entries"),
    [
        (
            ClientType.PRODUCER,
            ("acks", "sasl.mechanism", "security.protocol", "partitioner.class", "key.serializer", "client.id", "my.app.key"),
            {"sasl_mechanism": "PLAIN", "key_serializer": str.encode, "client_id": "https://app:hunter2@example.org"},
            ["acks"],
        ),
        # kafka-python's own spelling of a secret is custom.
        (ClientType.PRODUCER, ("sasl.plain.password", "sasl_plain_password"), {"sasl_plain_password": "hunter2"}, []),
        (
            ClientType.CONSUMER,
            ("check.crcs", "metric.reporters", "partition.assignment.strategy"),
            {"metric_reporters": [kafka.KafkaConsumer]},
            ["check.crcs"],
        ),
    ],
    ids=["by prefix, type, word and shape", "in kafka-python's spelling", "names of classes in lists"],
)
def test_sensitive_settings_are_held_back(
    client_type: ClientType, keys: tuple[str, ...], settings: dict[str, Any], entries: list[str]
) -> None:
    got = collected(client_type, keys, **settings)
    assert ([entry.key for entry in got.entries], got.sensitive) == (entries, keys[len(entries) :])


def test_a_dialects_setting_given_at_its_default_is_not_a_default() -> None:
    (entry,) = collect_dialect("java", ClientType.PRODUCER, {"linger.ms": 5}, ["linger.ms"]).entries
    assert entry == ConfigEntry("linger.ms", "5", Type.LONG, False)
    (entry,) = collect_dialect("java", ClientType.PRODUCER, {"linger.ms": None}, ["linger.ms"]).entries
    assert entry == ConfigEntry("linger.ms", "5", Type.LONG, True)


@pytest.mark.parametrize(("dialect", "text"), cases(__file__, "allowed_keys.txt"))
def test_allowed_keys_in_any_spelling(dialect: str, text: str) -> None:
    settings = ast.literal_eval(text)
    assert [entry.key for entry in collect_dialect(dialect, ClientType.PRODUCER, settings).entries] == ["linger.ms", "acks"]
    assert collect_dialect(dialect, ClientType.PRODUCER, settings, ["retry.backoff.ms"]).entries[0].key == "retry.backoff.ms"


def test_the_allowed_keys_themselves_are_pushed_only_if_listed() -> None:
    settings = {"config.push.allowed.keys": "acks,config.push.allowed.keys"}
    entries = collect_dialect("java", ClientType.PRODUCER, settings).entries
    assert entries[1] == ConfigEntry("config.push.allowed.keys", "acks,config.push.allowed.keys", Type.LIST, False)
    assert collect_dialect("java", ClientType.PRODUCER, {"config.push.allowed.keys": ""}) == Collected((), ())
    assert allowed_keys({}) is None
    assert split_keys(" a,, b ") == split_keys(("a", "", "b ")) == ["a", "b"]


def test_a_dialects_secrets_are_held_back_whether_set_or_not() -> None:
    keys = ("sasl.jaas.config", "ssl.key.password", "key.serializer", "my.key", "client.id", "sasl_plain_password")
    settings = {"sasl.jaas.config": "hunter2", "my.key": "x", "client.id": "AKIA" + "A" * 16}
    assert collect_dialect("java", ClientType.PRODUCER, settings, keys) == Collected((), keys)
    assert collect_dialect("aiokafka", ClientType.PRODUCER, {"sasl_plain_password": "hunter2"}, ["sasl_plain_password"]) == Collected(
        (), ("sasl_plain_password",)
    )


def test_embedded_clients_settings_of_streams_are_custom() -> None:
    keys = ["producer.linger.ms", "main.consumer.max.poll.records", "num.stream.threads"]
    got = collect_dialect("java", ClientType.STREAMS, {"producer.linger.ms": 1}, keys)
    assert got == Collected((ConfigEntry("num.stream.threads", "1", Type.INT, True),), tuple(keys[:2]))


@pytest.mark.parametrize("name", ["enable.config.push", "enable_config_push", "enableConfigPush"])
def test_whether_to_push(name: str) -> None:
    assert push_enabled({})
    for value in (True, "true", " True", "1"):
        assert push_enabled({name: value})
    for value in (False, "false", "FALSE ", "no", "0"):
        assert not push_enabled({name: value})
    with pytest.raises(SettingsError, match=r"enable\.config\.push must be true or false"):
        push_enabled({name: "off"})
