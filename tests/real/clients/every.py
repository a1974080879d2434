"""Every client library of the tests, by name."""

from __future__ import annotations

from collections.abc import Callable, Container
from functools import partial
from typing import Any

import pytest
from clients.java import JavaClient
from clients.process import FranzGo, KafkaJS, Sarama
from clients.python import Aiokafka, Confluent, KafkaPython
from clients.script import Client

from clientscope.local import jars

CLIENTS: dict[str, Callable[[str], Client]] = {
    "kafka-python": KafkaPython,
    "aiokafka": Aiokafka,
    "confluent-kafka": Confluent,
    "franz-go": FranzGo,
    "sarama": Sarama,
    "kafkajs": KafkaJS,
    **{
        f"java {name.removeprefix('client-')}": partial(JavaClient, configuration=name)
        for name in jars.configurations()
        if name.startswith("client-")
    },
}


def each_client(in_short: Container[str] = frozenset(CLIENTS) - {"java 3.7"}) -> list[Any]:
    """Names for a test's parameters; those that aren't ``in_short`` belong to `make test-matrix`."""
    return [name if name in in_short else pytest.param(name, marks=pytest.mark.matrix) for name in CLIENTS]
