"""Every client library of the tests, by name."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from clients.java import JavaClient
from clients.process import FranzGo, KafkaJS, Sarama
from clients.python import Aiokafka, Confluent, KafkaPython
from clients.script import Client

from clientscope.local.jars import JAVA_CLIENTS

CLIENTS: dict[str, Callable[[str], Client]] = {
    "kafka-python": KafkaPython,
    "aiokafka": Aiokafka,
    "confluent-kafka": Confluent,
    "franz-go": FranzGo,
    "sarama": Sarama,
    "kafkajs": KafkaJS,
    **{f"java {name.removeprefix('client-')}": partial(JavaClient, configuration=name) for name in JAVA_CLIENTS},
}
