"""Settings that the gateway sees on the wire: those of real clients that push nothing, each set to what is no default."""

from __future__ import annotations

import asyncio
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import aiokafka
import confluent_kafka
import kafka
import pytest
from conftest import RunningBroker, RunningGateway, running_broker
from kafka.protocol.consumer import FetchRequest, FetchResponse
from observe import await_count, counts, make_topic, read_all, write
from patience import LIMIT_S, until
from programs import ran

from clientscope.client.raw import RawClient
from clientscope.local.jars import jars
from clientscope.local.java import java
from clientscope.model.codec import decode
from clientscope.model.enums import Origin
from clientscope.model.push import Push
from clientscope.model.topics import CONFIGS

PROGRAM = Path(__file__).parent / "clients" / "SetClients.java"
CASES = tomllib.loads(Path(__file__).with_suffix(".toml").read_text())
CANARY = b"canary-record"
"""Of what clients produce: no record of the gateway's has it."""


@pytest.fixture(scope="module", autouse=True)
def topics(broker: RunningBroker, gateway: RunningGateway) -> Iterator[None]:
    """Nothing that clients here say is unreadable."""
    make_topic(broker.internal, "orders")
    before = counts(gateway, "settings_unread")
    yield
    assert counts(gateway, "settings_unread") == before


def observed(broker: RunningBroker, client_id: str) -> dict[str, str]:
    """The settings of the newest record of one client, of any of its types; without its client.id."""
    records: dict[bytes, Push] = {}
    for message in read_all(broker.internal, CONFIGS):
        if message.value is None:
            continue
        assert CANARY not in message.value
        record = decode(Push, message.value)
        if record.client_id == client_id:
            assert record.origin == Origin.OBSERVED
            assert record.address == "127.0.0.1"
            records[message.key] = record
    found = {each.key: each.value for record in records.values() for each in record.listed()}
    assert found.pop("client.id", client_id) == client_id
    return found


def shows(broker: RunningBroker, client_id: str) -> None:
    until(lambda: observed(broker, client_id), CASES["shown"][client_id])


@pytest.mark.matrix
@pytest.mark.parametrize("release", ["2.1", "2.8", "3.9", "4.4"])
def test_java(broker: RunningBroker, gateway: RunningGateway, release: str) -> None:
    name, path = f"java-{release}", ":".join(str(each) for each in jars(f"client-{release}"))
    ran(java(), "-Xmx256m", "-cp", path, PROGRAM, gateway.address, name)
    for kind in ("plain", "tx", "classic", *["new"] * (release == "4.4")):
        shows(broker, f"{name}-{kind}")


@pytest.mark.matrix
def test_a_share_consumer(broker: RunningBroker, gateway: RunningGateway) -> None:
    path = ":".join(str(each) for each in jars("client-4.4"))
    ran(java(), "-Xmx256m", "-cp", path, PROGRAM.with_name("ShareClient.java"), gateway.address)
    shows(broker, "sharing")


def of_python(gateway: RunningGateway, client_id: str) -> dict[str, Any]:
    return {"bootstrap_servers": gateway.address, "client_id": client_id, **CASES["given"][client_id]}


def test_kafka_python(broker: RunningBroker, gateway: RunningGateway) -> None:
    with kafka.KafkaProducer(**of_python(gateway, "python-orders")) as producer:
        producer.send("orders", CANARY * 100).get(LIMIT_S)
    shows(broker, "python-orders")
    with kafka.KafkaConsumer("orders", **of_python(gateway, "python-billing")) as consumer:
        consumer.poll(20_000)
    shows(broker, "python-billing")


@pytest.mark.matrix
def test_aiokafka(broker: RunningBroker, gateway: RunningGateway) -> None:
    async def both() -> None:
        async with aiokafka.AIOKafkaProducer(**of_python(gateway, "aio-orders")) as producer:
            await producer.send_and_wait("orders", CANARY * 100)
            async with aiokafka.AIOKafkaConsumer("orders", **of_python(gateway, "aio-billing")) as consumer:
                await asyncio.wait_for(consumer.getone(), 30)

    asyncio.run(both())
    shows(broker, "aio-orders")
    shows(broker, "aio-billing")


def test_librdkafka(broker: RunningBroker, gateway: RunningGateway) -> None:
    def settings(client_id: str) -> dict[str, Any]:
        return {"bootstrap.servers": gateway.address, "client.id": client_id, **CASES["given"][client_id]}

    producer = confluent_kafka.Producer(settings("rd-orders"))
    producer.produce("orders", CANARY * 100)
    producer.flush(LIMIT_S)
    del producer
    shows(broker, "rd-orders")
    consumer = confluent_kafka.Consumer(settings("rd-billing"))
    consumer.subscribe(["orders"])
    consumer.consume(1, timeout=LIMIT_S)
    consumer.close()
    shows(broker, "rd-billing")


@pytest.mark.matrix
def test_a_consumer_without_a_rack_shows_it_where_the_broker_has_one(tmp_path: Path) -> None:
    with (
        running_broker(tmp_path / "broker", extra={"broker.rack": "eu-1"}) as broker,
        broker.gateway(tmp_path, advertised=True) as gateway,
    ):
        make_topic(broker.internal, "orders")
        write(gateway.address, "orders", (None, CANARY))
        for client_id, rack in (("without", ""), ("within", "eu-1")):
            with kafka.KafkaConsumer(
                "orders", bootstrap_servers=gateway.address, client_id=client_id, auto_offset_reset="earliest", client_rack=rack
            ) as consumer:
                until(lambda one=consumer: one.poll(500))
            until(lambda who=client_id, where=rack: observed(broker, who).get("client.rack") == where)


def test_without_it_nothing_is_recorded(broker: RunningBroker, gateway: RunningGateway, tmp_path: Path) -> None:
    fetch = FetchRequest(version=4, replica_id=-1, max_wait_ms=0, min_bytes=7, max_bytes=1000, isolation_level=0, topics=[])
    with broker.gateway(tmp_path, "--ignore-request-settings") as ignoring:
        for client_id, address in (("unobserved", ignoring.address), ("observed", gateway.address)):
            with RawClient.connect(address, client_id) as client:
                client.api_versions("fetching", "1.0")
                client.request(fetch, FetchResponse)
        until(lambda: observed(broker, "observed").get("fetch.min.bytes"), "7", why="a client that leaves is recorded at once")
        await_count(ignoring, "connections_closed", "client_closed", 1)
        assert observed(broker, "unobserved") == {}
