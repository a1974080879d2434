"""Real clients for the demo, one per process: ``python -m clientscope.demo.clients NAME --bootstrap HOST:PORT``.

Each runs until SIGTERM or SIGINT, then closes its client and exits 0.  It prints ``NAME: connected`` once it is.  They play the
applications of a fleet: some push their configuration by their class, one by `clientscope.client.push`, some not at all.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import sys
import uuid
from collections.abc import Callable, Generator
from contextlib import closing
from functools import partial
from typing import Any

import kafka

from clientscope.catalog.configs import Type
from clientscope.client import KafkaConsumer, KafkaProducer, push
from clientscope.client.raw import RawClient
from clientscope.local.process import StopRequest

Steps = Generator[float, None, None]
"""A client at work: connected at its first item; each item is how many seconds to pause before its next step."""


def _produce(bootstrap: str, topic: str, **settings: Any) -> Steps:
    producer = KafkaProducer(bootstrap_servers=bootstrap, **settings)
    try:
        producer.send(topic, b"first").get(timeout=30)
        while True:
            yield 0.2
            producer.send(topic, b"order")
    finally:
        producer.close()


def _consume(bootstrap: str, topic: str, **settings: Any) -> Steps:
    consumer = KafkaConsumer(topic, bootstrap_servers=bootstrap, **settings)
    try:
        while True:
            consumer.poll(timeout_ms=200)
            yield 0.0
    finally:
        consumer.close()


def _aiokafka(bootstrap: str, topic: str, client_id: str) -> Steps:
    from aiokafka import AIOKafkaProducer  # noqa: PLC0415 - optional

    async def start() -> AIOKafkaProducer:
        producer = AIOKafkaProducer(bootstrap_servers=bootstrap, client_id=client_id)
        await producer.start()
        return producer

    with asyncio.Runner() as runner:
        producer = runner.run(start())
        try:
            while True:
                runner.run(producer.send_and_wait(topic, b"invoice"))
                yield 0.5
        finally:
            runner.run(producer.stop())


def _confluent(bootstrap: str, topic: str, client_id: str) -> Steps:
    from confluent_kafka import Consumer, libversion, version  # noqa: PLC0415 - optional

    settings = {"bootstrap.servers": bootstrap, "client.id": client_id, "group.id": client_id}
    software = ("confluent-kafka-python", f"{version()}-rdkafka-{libversion()[0]}")
    push(settings, dialect="librdkafka", bootstrap_servers=bootstrap, software=software)
    consumer = Consumer(settings)
    try:
        consumer.list_topics(timeout=30)
        consumer.subscribe([topic])
        while True:
            consumer.poll(0.2)
            yield 0.0
    finally:
        consumer.close()


def _careless(bootstrap: str, _topic: str, client_id: str) -> Steps:
    jaas = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="app" password="demo-only";'
    instance_id = uuid.uuid4()
    with closing(RawClient.connect(bootstrap, client_id)) as client:
        client.api_versions("careless-client", "0.1.0", instance_id)
        client.push_config(
            [
                ("acks", "all", Type.STRING, True),
                ("client.id", client_id, Type.STRING, False),
                ("sasl.jaas.config", jaas, Type.PASSWORD, False),
            ]
        )
        while True:
            yield 30.0
            client.api_versions("careless-client", "0.1.0", instance_id)  # or the broker would close an idle connection


def _visit(bootstrap: str, _topic: str, client_id: str) -> Steps:
    while True:
        with closing(kafka.KafkaAdminClient(bootstrap_servers=bootstrap, client_id=client_id)) as client:
            client.list_topics()
        yield 3.0


CLIENTS: dict[str, Callable[[str, str], Steps]] = {
    "producer": partial(_produce, client_id="orders-producer"),
    "consumer": partial(_consume, client_id="orders-consumer", group_id="orders"),
    "dangerous": partial(_produce, client_id="metrics-firehose", acks=0),
    "aiokafka": partial(_aiokafka, client_id="legacy-billing"),
    "confluent": partial(_confluent, client_id="payments"),
    "careless": partial(_careless, client_id="careless-app"),
    "visitor": partial(_visit, client_id="nightly-report"),
}


def main() -> int:
    """Runs one client; the exit status."""
    parser = argparse.ArgumentParser(prog="python -m clientscope.demo.clients", description="Run one of the demo's clients.")
    parser.add_argument("name", choices=CLIENTS, metavar="NAME", help=", ".join(CLIENTS))
    parser.add_argument("--bootstrap", required=True, metavar="HOST:PORT", help="where the client connects: the gateway")
    parser.add_argument("--topic", default="demo.orders", help="an existing topic (default: %(default)s)")
    options = parser.parse_args()
    logging.basicConfig(level=logging.ERROR)
    try:
        with StopRequest().installed() as stop, closing(CLIENTS[options.name](options.bootstrap, options.topic)) as steps:
            pause = next(steps)
            print(f"{options.name}: connected", flush=True)
            while not stop.wait(pause):
                pause = next(steps)
    except Exception as error:
        print(f"{options.name}: {type(error).__name__}: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
