"""How long clients keep idle connections, which the gateway infers from those that they close: real clients, each set to another time."""

from __future__ import annotations

import asyncio
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import aiokafka
import confluent_kafka
import kafka
import pytest
from conftest import RunningBroker, RunningGateway, running_gateway
from observe import eventually, metrics, read_all
from observed_cluster import recorded, running_cluster

from clientscope.catalog.request_settings import inferred_value
from clientscope.local.jars import jars
from clientscope.local.java import java
from clientscope.local.process import stop
from clientscope.records.codec import ClientConnectionRecord, decode
from clientscope.records.layouts import Kind
from clientscope.records.topics import CONNECTIONS

pytestmark = pytest.mark.times

PROGRAM = Path(__file__).parent / "clients" / "IdleClients.java"
KEY = "connections.max.idle.ms"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningBroker]:
    with running_cluster(tmp_path_factory.mktemp("broker")) as broker:
        yield broker


@pytest.fixture(scope="module")
def gateway(cluster: RunningBroker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningGateway]:
    with running_gateway(cluster.internal, cluster.client, tmp_path_factory.mktemp("gateway"), listen=cluster.advertised) as running:
        yield running


def inferred(cluster: RunningBroker) -> dict[str, str]:
    """By client, what its last record says."""
    return {client_id: settings[KEY] for client_id, settings in recorded(cluster.internal).items() if KEY in settings}


def closed_late(cluster: RunningBroker) -> set[str]:
    """The clients that have closed a connection at least 9 s after it was opened."""
    opened: dict[int, int] = {}
    found = set()
    for message in read_all(cluster.internal, CONNECTIONS):
        record = decode(ClientConnectionRecord, message.value)
        opened.setdefault(record.connection_id, record.timestamp_ms)
        if record.kind == Kind.CLOSED and record.reason == "client_closed" and record.timestamp_ms - opened[record.connection_id] >= 9_000:
            found.add(str(record.client_id))
    return found


@contextmanager
def consuming(consume: Callable[[threading.Event], None]) -> Iterator[None]:
    """A consumer in a thread of its own, until the block ends."""
    ended = threading.Event()
    thread = threading.Thread(target=consume, args=(ended,))
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join(30)


@contextmanager
def java_consumer(address: str, name: str, *settings: str) -> Iterator[None]:
    """One that polls all the time; what it doesn't need is its connection to the bootstrap server."""
    path = ":".join(str(each) for each in jars("client-4.4"))
    command = [java(), "-Xmx256m", "-cp", path, str(PROGRAM), address, name, *settings]
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield
    finally:
        stop(child)


# The others have no connection to spare, so they fetch nothing: all their partitions are paused.


def kafka_python(address: str, name: str) -> Callable[[threading.Event], None]:
    def consume(ended: threading.Event) -> None:
        consumer = kafka.KafkaConsumer(
            "orders", bootstrap_servers=address, client_id=name, group_id=name, connections_max_idle_ms=11_500, request_timeout_ms=11_200
        )
        while not ended.is_set():
            consumer.poll(100)
            consumer.pause(*consumer.assignment())
        consumer.close()

    return consume


def librdkafka(address: str, name: str) -> Callable[[threading.Event], None]:
    def consume(ended: threading.Event) -> None:
        settings = {"bootstrap.servers": address, "client.id": name, "group.id": name, KEY: 11_500}
        consumer = confluent_kafka.Consumer(settings)
        consumer.subscribe(["orders"])
        while not ended.is_set():
            consumer.poll(0.1)
            consumer.pause(consumer.assignment())
        consumer.close()

    return consume


def aiokafka_consumer(address: str, name: str) -> Callable[[threading.Event], None]:
    async def consume(ended: threading.Event) -> None:
        consumer = aiokafka.AIOKafkaConsumer(
            "orders", bootstrap_servers=address, client_id=name, group_id=name, connections_max_idle_ms=11_500
        )
        await consumer.start()
        while not ended.is_set():
            await consumer.getmany(timeout_ms=100)
            consumer.pause(*consumer.assignment())
        await consumer.stop()

    return lambda ended: asyncio.run(consume(ended))


def wait_for_another(cluster: RunningBroker, gateway: RunningGateway, name: str) -> None:
    """Waits until a consumer that begins now has shown it; what others show before it is known then."""
    for attempt in range(3):  # on a busy machine it may close another connection at the same time, and then shows nothing
        with consuming(kafka_python(gateway.address, f"{name}-{attempt}")):
            if eventually(lambda each=f"{name}-{attempt}": each in inferred(cluster), 45, 1):
                return
    raise AssertionError(f"{name} has shown nothing")


@pytest.mark.timeout(300)
def test_a_consumer_that_closes_an_idle_connection_shows_how_long_it_keeps_one(cluster: RunningBroker, gateway: RunningGateway) -> None:
    for attempt in range(3):
        with java_consumer(gateway.address, f"idle-java-{attempt}"):
            if eventually(lambda each=f"idle-java-{attempt}": each in inferred(cluster), 45, 1):
                break
    wait_for_another(cluster, gateway, "idle-python")
    found = {client_id.rpartition("-")[0]: text for client_id, text in inferred(cluster).items()}
    numbers = {name: int(inferred_value(found[name]) or 0) for name in ("idle-java", "idle-python")}
    assert 11_000 * 0.99 <= numbers["idle-java"] <= 11_000 * 1.05, found
    assert 11_500 * 0.99 <= numbers["idle-python"] <= 11_500 * 1.05, found


@pytest.mark.long_form(only=True)
@pytest.mark.timeout(300)
def test_where_a_library_may_be_late_or_is_not_known_a_short_time_shows_nothing(cluster: RunningBroker, gateway: RunningGateway) -> None:
    """Java's thread for KIP-848 looks each five seconds, librdkafka takes off up to two; aiokafka sends no name."""
    names = {"idle-new", "idle-librdkafka", "idle-aiokafka"}
    with (
        java_consumer(gateway.address, "idle-new", "group.protocol", "consumer"),
        consuming(librdkafka(gateway.address, "idle-librdkafka")),
        consuming(aiokafka_consumer(gateway.address, "idle-aiokafka")),
    ):
        assert eventually(lambda: names <= closed_late(cluster), 90, 1)
        wait_for_another(cluster, gateway, "after-these")
    assert not names & inferred(cluster).keys()


@pytest.mark.long_form(only=True)
@pytest.mark.timeout(300)
def test_an_application_that_ends_shows_nothing_while_another_of_its_names_stays(cluster: RunningBroker, gateway: RunningGateway) -> None:
    def idle(ended: threading.Event) -> None:
        consumer = kafka.KafkaConsumer("orders", bootstrap_servers=gateway.address, client_id="ending", group_id="ending")
        while not ended.is_set():
            consumer.poll(100)
            consumer.pause(*consumer.assignment())
        consumer.close()

    with consuming(idle):
        with consuming(idle):
            wait_for_another(cluster, gateway, "before-the-end")
        wait_for_another(cluster, gateway, "after-the-end")
        assert "ending" in closed_late(cluster)
    assert "ending" not in inferred(cluster)


def test_no_bound_was_reached(gateway: RunningGateway) -> None:
    found = metrics(gateway.metrics_url)
    assert not [name for name in found if "settings_unread" in name[0] and found[name]]
