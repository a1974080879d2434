"""Settings that the gateway sees on the wire: those of real clients that push nothing, each set to what is no default."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import Iterator
from pathlib import Path

import aiokafka
import confluent_kafka
import kafka
import pytest
from conftest import RunningBroker, RunningGateway, running_broker, running_gateway
from kafka.protocol.consumer import FetchRequest, FetchResponse
from observe import count, counts, read_all
from patience import LIMIT_S, until

from clientscope.client.raw import RawClient
from clientscope.local.jars import jars
from clientscope.local.java import java
from clientscope.records.codec import decode
from clientscope.records.config_record import ClientConfigRecord
from clientscope.records.enums import Origin
from clientscope.records.topics import CONFIGS

PROGRAM = Path(__file__).parent / "clients" / "SetClients.java"
CANARY = b"canary-record"
"""Of what clients produce: no record of the gateway's has it."""
TOPICS = {"orders": {"num_partitions": 1, "replication_factor": 1}}


def make_topics(broker: RunningBroker) -> None:
    with kafka.KafkaAdminClient(bootstrap_servers=broker.internal) as admin:
        admin.create_topics(TOPICS, wait_for_metadata=True)


@pytest.fixture(scope="module", autouse=True)
def topics(broker: RunningBroker, gateway: RunningGateway) -> Iterator[None]:
    """Nothing that clients here say is unreadable."""
    make_topics(broker)
    before = counts(gateway, "settings_unread")
    yield
    assert counts(gateway, "settings_unread") == before


def observed(broker: RunningBroker, client_id: str) -> dict[str, str]:
    """The settings of the newest record of one client, of any of its types; without its client.id."""
    records: dict[bytes, ClientConfigRecord] = {}
    for message in read_all(broker.internal, CONFIGS):
        if message.value is None:
            continue
        assert CANARY not in message.value
        record = decode(ClientConfigRecord, message.value)
        if record.client_id == client_id:
            assert record.origin == Origin.OBSERVED
            assert record.client_address == "127.0.0.1"
            records[message.key] = record
    found = {each.key: each.value for record in records.values() for each in record.listed()}
    assert found.pop("client.id", client_id) == client_id
    return found


def shows(broker: RunningBroker, client_id: str, expected: dict[str, str]) -> None:
    until(lambda: observed(broker, client_id), expected)


FETCHED = {
    "fetch.min.bytes": "7", "fetch.max.wait.ms": "350", "fetch.max.bytes": "4000000", "max.partition.fetch.bytes": "300000",
    "isolation.level": "read_committed", "client.rack": "eu-1", "allow.auto.create.topics": "false",
}  # fmt: skip


@pytest.mark.matrix
@pytest.mark.parametrize("release", ["2.1", "4.4", *(pytest.param(release, marks=pytest.mark.matrix) for release in ("2.8", "3.9"))])
def test_java(broker: RunningBroker, gateway: RunningGateway, release: str) -> None:
    name, path = f"java-{release}", ":".join(str(each) for each in jars(f"client-{release}"))
    subprocess.run([java(), "-Xmx256m", "-cp", path, str(PROGRAM), gateway.address, name], check=True, capture_output=True, timeout=LIMIT_S)
    known = release != "2.1"  # which sends no name, so that it isn't known what its timeouts are
    timeout = {"request.timeout.ms": "21000", "enable.idempotence": "false"} if known else {}
    shows(broker, f"{name}-plain", {"acks": "1", "compression.type": "gzip", **timeout})
    timeout = {"request.timeout.ms": "22000", "compression.type": "none"} if known else {}
    shows(
        broker,
        f"{name}-tx",
        {"acks": "all", "transactional.id": f"{name}-t1", "transaction.timeout.ms": "47000", "enable.idempotence": "true", **timeout},
    )
    joined = {"group.id": f"{name}-billing", "session.timeout.ms": "12000"}
    if known:
        joined |= {"max.poll.interval.ms": "90000", "group.instance.id": "billing-1"}
    joined["partition.assignment.strategy"] = "range,cooperative-sticky" if release in ("3.9", "4.4") else "range"
    fetched = FETCHED
    if not known:  # there is no rack before 2.4, and before 2.3 a client always asks for topics to be created
        fetched = {key: value for key, value in FETCHED.items() if key != "client.rack"} | {"allow.auto.create.topics": "true"}
    shows(broker, f"{name}-classic", {**fetched, **joined})
    if release == "4.4":
        group = {"group.id": f"{name}-new-billing", "group.protocol": "consumer", "group.remote.assignor": "range"}
        shows(broker, f"{name}-new", {**FETCHED, **group, "max.poll.interval.ms": "91000"})


@pytest.mark.matrix
def test_a_share_consumer(broker: RunningBroker, gateway: RunningGateway) -> None:
    path = ":".join(str(each) for each in jars("client-4.4"))
    command = [java(), "-Xmx256m", "-cp", path, str(PROGRAM.with_name("ShareClient.java")), gateway.address]
    subprocess.run(command, check=True, capture_output=True, timeout=LIMIT_S)
    shows(
        broker,
        "sharing",
        {
            "group.id": "shared", "fetch.min.bytes": "2", "fetch.max.wait.ms": "420", "fetch.max.bytes": "3000000",
            "max.poll.records": "60", "client.rack": "eu-4", "share.acquire.mode": "batch_optimized",
        },
    )  # fmt: skip


def test_kafka_python(broker: RunningBroker, gateway: RunningGateway) -> None:
    with kafka.KafkaProducer(
            bootstrap_servers=gateway.address, client_id="python-orders", acks="all", request_timeout_ms=23_000, compression_type="gzip",
            enable_idempotence=True,
        ) as producer:  # fmt: skip
        producer.send("orders", CANARY * 100).get(LIMIT_S)
    expected = {"acks": "all", "request.timeout.ms": "23000", "compression.type": "gzip", "enable.idempotence": "true"}
    shows(broker, "python-orders", expected)
    with kafka.KafkaConsumer(
            "orders", bootstrap_servers=gateway.address, client_id="python-billing", group_id="python-billing-group",
            session_timeout_ms=13_000, max_poll_interval_ms=92_000, fetch_min_bytes=3, fetch_max_wait_ms=360, fetch_max_bytes=5_000_000,
            max_partition_fetch_bytes=400_000, isolation_level="read_committed", client_rack="eu-2", auto_offset_reset="earliest",
            group_instance_id="p-1", allow_auto_create_topics=False,
        ) as consumer:  # fmt: skip
        consumer.poll(20_000)
    shows(
        broker,
        "python-billing",
        {
            "group.id": "python-billing-group", "session.timeout.ms": "13000", "max.poll.interval.ms": "92000", "fetch.min.bytes": "3",
            "fetch.max.wait.ms": "360", "fetch.max.bytes": "5000000", "max.partition.fetch.bytes": "400000",
            "isolation.level": "read_committed", "client.rack": "eu-2", "group.instance.id": "p-1",
            "allow.auto.create.topics": "true",  # kafka-python 3.0.12 keeps the setting from its ClusterMetadata, which has its default
            "partition.assignment.strategy": "range,roundrobin",
        },
    )  # fmt: skip


@pytest.mark.matrix
def test_aiokafka(broker: RunningBroker, gateway: RunningGateway) -> None:
    async def both() -> None:
        producer = aiokafka.AIOKafkaProducer(
            bootstrap_servers=gateway.address, client_id="aio-orders", acks=0, request_timeout_ms=24_000, compression_type="gzip"
        )
        await producer.start()
        await producer.send_and_wait("orders", CANARY * 100)
        consumer = aiokafka.AIOKafkaConsumer(
            "orders", bootstrap_servers=gateway.address, client_id="aio-billing", group_id="aio-group", session_timeout_ms=14_000,
            fetch_min_bytes=4, fetch_max_wait_ms=370, fetch_max_bytes=6_000_000, max_partition_fetch_bytes=500_000,
            isolation_level="read_committed", auto_offset_reset="earliest", group_instance_id="a-1",
        )  # fmt: skip
        await consumer.start()
        await asyncio.wait_for(consumer.getone(), 30)
        await consumer.stop()
        await producer.stop()

    asyncio.run(both())
    shows(
        broker,
        "aio-orders",
        {"acks": "0", "compression.type": "gzip"},  # it sends no name, so that it isn't known what its timeout is
    )
    shows(
        broker,
        "aio-billing",
        {
            "group.id": "aio-group", "session.timeout.ms": "14000", "fetch.min.bytes": "4", "fetch.max.wait.ms": "370",
            "fetch.max.bytes": "6000000", "max.partition.fetch.bytes": "500000", "isolation.level": "read_committed",
            "group.instance.id": "a-1", "partition.assignment.strategy": "roundrobin", "allow.auto.create.topics": "true",
        },
    )  # fmt: skip


def test_librdkafka(broker: RunningBroker, gateway: RunningGateway) -> None:
    producer = confluent_kafka.Producer(
        {"bootstrap.servers": gateway.address, "client.id": "rd-orders", "acks": "1", "request.timeout.ms": 25_000,
         "compression.type": "lz4"}
    )  # fmt: skip
    producer.produce("orders", CANARY * 100)
    producer.flush(LIMIT_S)
    del producer
    shows(broker, "rd-orders", {"acks": "1", "request.timeout.ms": "25000", "compression.type": "lz4", "enable.idempotence": "false"})
    consumer = confluent_kafka.Consumer(
        {"bootstrap.servers": gateway.address, "client.id": "rd-billing", "group.id": "rd-group", "session.timeout.ms": 20_000,
         "max.poll.interval.ms": 120_000, "fetch.min.bytes": 9, "fetch.wait.max.ms": 380, "fetch.max.bytes": 7_000_000,
         "fetch.message.max.bytes": 600_000, "isolation.level": "read_uncommitted", "client.rack": "eu-3", "auto.offset.reset": "earliest",
         "partition.assignment.strategy": "cooperative-sticky", "group.instance.id": "r-1"}
    )  # fmt: skip
    consumer.subscribe(["orders"])
    consumer.consume(1, timeout=LIMIT_S)
    consumer.close()
    shows(
        broker,
        "rd-billing",
        {
            "group.id": "rd-group", "session.timeout.ms": "20000", "max.poll.interval.ms": "120000", "fetch.min.bytes": "9",
            "fetch.max.wait.ms": "380", "fetch.max.bytes": "7000000", "max.partition.fetch.bytes": "600000",
            "isolation.level": "read_uncommitted", "client.rack": "eu-3", "group.instance.id": "r-1",
            "partition.assignment.strategy": "cooperative-sticky",
        },
    )  # fmt: skip


def test_connections_of_one_client_that_differ_are_one_client(broker: RunningBroker, gateway: RunningGateway) -> None:
    """As librdkafka's topics may differ in acks, and two instances with one client.id on a host."""
    producers = [
        kafka.KafkaProducer(
            bootstrap_servers=gateway.address, client_id="differing", acks=acks, request_timeout_ms=21_000, enable_idempotence=False
        )
        for acks in (0, 1, "all")
    ]
    for producer in producers:
        producer.send("orders", CANARY)
        producer.flush(LIMIT_S)
    shows(broker, "differing", {"acks": "0 | 1 | all", "request.timeout.ms": "21000", "enable.idempotence": "false"})
    for producer in producers:
        producer.close()


@pytest.mark.matrix
def test_a_consumer_without_a_rack_shows_it_where_the_broker_has_one(tmp_path: Path) -> None:
    with (
        running_broker(tmp_path / "broker", extra={"broker.rack": "eu-1"}) as broker,
        running_gateway(broker.internal, broker.client, tmp_path, listen=broker.advertised) as gateway,
    ):
        make_topics(broker)
        with kafka.KafkaProducer(bootstrap_servers=gateway.address) as producer:
            producer.send("orders", CANARY).get(LIMIT_S)
        for client_id, rack in (("without", ""), ("within", "eu-1")):
            with kafka.KafkaConsumer(
                "orders", bootstrap_servers=gateway.address, client_id=client_id, auto_offset_reset="earliest", client_rack=rack
            ) as consumer:
                until(lambda one=consumer: one.poll(500))
            until(lambda who=client_id, where=rack: observed(broker, who).get("client.rack") == where)


def test_without_it_nothing_is_recorded(broker: RunningBroker, gateway: RunningGateway, tmp_path: Path) -> None:
    fetch = FetchRequest(version=4, replica_id=-1, max_wait_ms=0, min_bytes=7, max_bytes=1000, isolation_level=0, topics=[])
    with running_gateway(broker.internal, broker.client, tmp_path, "--ignore-request-settings") as ignoring:
        for client_id, address in (("unobserved", ignoring.address), ("observed", gateway.address)):
            with RawClient.connect(address, client_id) as client:
                client.api_versions("fetching", "1.0")
                client.request(fetch, FetchResponse)
        until(lambda: observed(broker, "observed").get("fetch.min.bytes"), "7", why="a client that leaves is recorded at once")
        until(lambda: count(ignoring, "connections_closed", "client_closed"), 1)
        assert observed(broker, "unobserved") == {}
