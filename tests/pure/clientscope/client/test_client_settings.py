"""Settings that kafka-python's clients push."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

import kafka
import pytest
from golden import cases
from refusals import refused

from clientscope.catalog.configs import DEFAULT_KEYS, ClientType, Type
from clientscope.client.settings import Collected, ConfigEntry, allowed_keys, collect, collect_dialect, push_enabled, split_keys

CLIENTS = {
    ClientType.PRODUCER: kafka.KafkaProducer,
    ClientType.CONSUMER: kafka.KafkaConsumer,
    ClientType.ADMIN: kafka.KafkaAdminClient,
}


def collected(client_type: ClientType, keys: Sequence[str], **settings: Any) -> Collected:
    """As if the user had made a client of this type with these settings."""
    config = {**CLIENTS[client_type].DEFAULT_CONFIG, **settings}
    return collect(client_type, config, settings.keys(), keys)


@pytest.mark.parametrize(("of", "kind", "keys", "settings", "pushed", "held_back"), cases(__file__, "collected.txt"))
def test_what_is_pushed_and_what_is_held_back(of: str, kind: str, keys: str, settings: str, pushed: str, held_back: str) -> None:
    """F34: a key that is a secret is held back without its name."""
    client_type, given = ClientType(kind), ast.literal_eval(settings)
    wanted = keys.split(", ") if keys else DEFAULT_KEYS[client_type]
    got = collect_dialect(of, client_type, given, wanted) if of else collected(client_type, wanted, **given)
    shown = [f"{each.key}={each.value} {each.type.name}{' by default' * each.is_default}" for each in got.entries]
    assert (", ".join(shown), ", ".join(got.sensitive)) == (pushed, held_back)


def test_names_of_classes_are_held_back_whatever_they_are_given_as() -> None:
    keys = ("check.crcs", "key.deserializer", "metric.reporters", "partition.assignment.strategy")
    got = collected(ClientType.CONSUMER, keys, key_deserializer=bytes.decode, metric_reporters=[kafka.KafkaConsumer])
    assert ([entry.key for entry in got.entries], got.sensitive) == (["check.crcs"], keys[1:])


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


@pytest.mark.parametrize("name", ["enable.config.push", "enable_config_push", "enableConfigPush"])
def test_whether_to_push(name: str) -> None:
    assert push_enabled({})
    for value in (True, "true", " True", "1"):
        assert push_enabled({name: value})
    for value in (False, "false", "FALSE ", "no", "0"):
        assert not push_enabled({name: value})
    with refused(r"enable\.config\.push must be true or false"):
        push_enabled({name: "off"})
