"""The catalogue's defaults of Kafka's Java clients, against the ConfigDefs in the clients' own jars."""

from __future__ import annotations

import re
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from clients.java import JavaClient

from clientscope.catalog import sensitive
from clientscope.catalog.configs import TYPES, ClientType, Type
from clientscope.catalog.dialects import dialect
from clientscope.catalog.settings import Allowed, Facts, Library, libraries, numbers
from clientscope.local import jars
from clientscope.records.enums import ValueState

sys.path.append(str(Path(__file__).parents[1] / "fixtures"))

import catalogue_java
from catalogue import Found, library

pytestmark = pytest.mark.matrix

CLASS_LISTS = ("metric.reporters", "partition.assignment.strategy")
"""Redacted in pushes, but known as defaults."""


def defined(java: Any, config: Any) -> dict[str, str]:
    """What isn't empty, may be pushed or is a list of classes, and is in the catalogue, in Kafka's text."""
    definition = java.common.config.ConfigDef
    found = {}
    for key, config_key in dict(config.configDef().configKeys()).items():
        value = config.configDef().defaultValues().get(key)
        text = "" if value is None else definition.convertToString(value, config_key.type())
        if text and key in TYPES and (sensitive.reason(key, text, TYPES[key]) is ValueState.PRESENT or key in CLASS_LISTS):
            assert TYPES[key] is Type[config_key.type().name()], key
            found[key] = text.replace("class ", "")
    return found


@pytest.mark.parametrize("configuration", ["client-2.8", "client-3.9", "client-4.4"])
def test_defaults_are_those_of_the_jar(configuration: str) -> None:
    with closing(JavaClient("127.0.0.1:1", configuration)) as client:
        _, version = client.identity
        clients = client.kafka.clients
        configs = {
            ClientType.PRODUCER: clients.producer.ProducerConfig,
            ClientType.CONSUMER: clients.consumer.ConsumerConfig,
            ClientType.ADMIN: clients.admin.AdminClientConfig,
        }
        for client_type, config in configs.items():
            expected = defined(client.kafka, config)
            if "share.acquire.mode" in expected:
                expected["share.acquire.mode"] = expected["share.acquire.mode"].lower()
            assert dialect("java").defaults_of(client_type, version) == expected


@pytest.mark.parametrize("configuration", ["client-2.8", "client-3.9", "client-4.4"])
def test_the_catalogue_is_that_of_the_jar(configuration: str) -> None:
    """Names, types, defaults, validators and deprecations of a release, as its ConfigDefs have them."""
    paths = jars.jars(configuration)
    release = next(found[1] for path in paths if (found := re.fullmatch(r"kafka-clients-(.+)\.jar", path.name)))
    [read] = catalogue_java.read({release: paths})
    made = Library("java", library(Found({release: catalogue_java.kinds_of(read["clients"], release)})))
    for kind in ("producer", "consumer", "share-consumer", "admin"):
        assert _facts(libraries()["java"], kind, release) == _facts(made, kind, release)


def _facts(of: Library, kind: str, release: str) -> dict[str, Facts]:
    settings = [setting for name in sorted(of.names) if (setting := of.setting(name))]
    found = {setting.name: facts for setting in settings if (facts := setting.now(kind, numbers(release)))}
    return {name: facts._replace(allowed=_unordered(facts.allowed)) for name, facts in found.items()}


def _unordered(allowed: Allowed | None) -> Allowed | None:
    """Words in an order of their own: in some releases they are a set."""
    return allowed and allowed._replace(words=tuple(sorted(allowed.words)))
