"""Settings that the gateway sees on the wire: those of real clients that push nothing, each set to what is no default."""

from __future__ import annotations

import asyncio
import itertools
import json
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import aiokafka
import confluent_kafka
import kafka
import pytest
from conftest import Installation, RunningBroker, RunningGateway, running_gateway
from observe import eventually, knowing_its_topics, metrics, read_all
from observed_cluster import CANARY, TOPICS, running_cluster

from clientscope.catalog.request_settings import INFERRED, inferred_value, least
from clientscope.client import KafkaProducer
from clientscope.kafka import admin
from clientscope.local.jars import jars
from clientscope.local.java import java
from clientscope.local.process import stop
from clientscope.records.codec import ClientConfigRecord, decode
from clientscope.records.layouts import Origin
from clientscope.records.topics import CONFIGS

PROGRAM = Path(__file__).parent / "clients" / "SetClients.java"
CLOSED = "clientscope_gateway_connections_closed_total", "client_closed"
SOON_S = 30.0


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningBroker]:
    with running_cluster(tmp_path_factory.mktemp("broker")) as broker:
        yield broker


@pytest.fixture(scope="module")
def gateway(cluster: RunningBroker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningGateway]:
    with running_gateway(cluster.internal, cluster.client, tmp_path_factory.mktemp("gateway"), listen=cluster.advertised) as running:
        yield running


def observed(cluster: RunningBroker, client_id: str, is_inferred: bool = False) -> dict[str, str]:
    """The settings of the newest record of one client, of any of its types; without its client.id.

    Args:
        is_inferred: gives the numbers of those that follow from several requests, rather than those that one shows.
    """
    records: dict[bytes, ClientConfigRecord] = {}
    for message in read_all(cluster.internal, CONFIGS):
        assert CANARY not in message.value
        record = decode(ClientConfigRecord, message.value)
        if record.client_id == client_id:
            assert record.origin == Origin.OBSERVED
            assert record.client_address == "127.0.0.1"
            records[message.key] = record
    found = {each.config_key: each.config_value for record in records.values() for each in record.configs}
    found = {key: value for key, value in found.items() if value.startswith(INFERRED) == is_inferred}
    if is_inferred:
        return {key: inferred_value(value) or str(least(value)) for key, value in found.items()}
    assert found.pop("client.id", client_id) == client_id
    return found


def shows(cluster: RunningBroker, client_id: str, expected: dict[str, str]) -> None:
    eventually(lambda: observed(cluster, client_id) == expected, SOON_S)
    assert observed(cluster, client_id) == expected


def resets(cluster: RunningBroker, client_id: str, policy: str) -> None:
    """A consumer has started without an offset."""
    assert eventually(lambda: observed(cluster, client_id, True).get("auto.offset.reset") == policy, SOON_S)


FETCHED = {
    "fetch.min.bytes": "7", "fetch.max.wait.ms": "350", "fetch.max.bytes": "4000000", "max.partition.fetch.bytes": "300000",
    "isolation.level": "read_committed", "client.rack": "eu-1", "allow.auto.create.topics": "false",
}  # fmt: skip


@pytest.mark.matrix
@pytest.mark.parametrize(
    "release", ["2.1", "4.4", *(pytest.param(release, marks=pytest.mark.long_form(only=True)) for release in ("2.8", "3.9"))]
)
@pytest.mark.timeout(200)
def test_java(cluster: RunningBroker, gateway: RunningGateway, release: str) -> None:
    name, path = f"java-{release}", ":".join(str(each) for each in jars(f"client-{release}"))
    subprocess.run([java(), "-Xmx256m", "-cp", path, str(PROGRAM), gateway.address, name], check=True, capture_output=True, timeout=150)
    known = release != "2.1"  # which sends no name, so that it isn't known what its timeouts are
    timeout = {"request.timeout.ms": "21000", "enable.idempotence": "false"} if known else {}
    shows(cluster, f"{name}-plain", {"acks": "1", "compression.type": "gzip", **timeout})
    timeout = {"request.timeout.ms": "22000", "compression.type": "none"} if known else {}
    shows(
        cluster,
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
    shows(cluster, f"{name}-classic", {**fetched, **joined})
    resets(cluster, f"{name}-classic", "earliest")
    if release == "4.4":
        group = {"group.id": f"{name}-new-billing", "group.protocol": "consumer", "group.remote.assignor": "range"}
        shows(cluster, f"{name}-new", {**FETCHED, **group, "max.poll.interval.ms": "91000"})
        resets(cluster, f"{name}-new", "earliest")


@pytest.mark.matrix
def test_a_share_consumer(cluster: RunningBroker, gateway: RunningGateway) -> None:
    path = ":".join(str(each) for each in jars("client-4.4"))
    command = [java(), "-Xmx256m", "-cp", path, str(PROGRAM.with_name("ShareClient.java")), gateway.address]
    subprocess.run(command, check=True, capture_output=True, timeout=100)
    shows(
        cluster,
        "sharing",
        {
            "group.id": "shared", "fetch.min.bytes": "2", "fetch.max.wait.ms": "420", "fetch.max.bytes": "3000000",
            "max.poll.records": "60", "client.rack": "eu-4", "share.acquire.mode": "batch_optimized",
        },
    )  # fmt: skip


def test_kafka_python(cluster: RunningBroker, gateway: RunningGateway) -> None:
    with closing(
        kafka.KafkaProducer(
            bootstrap_servers=gateway.address, client_id="python-orders", acks="all", request_timeout_ms=23_000, compression_type="gzip",
            enable_idempotence=True,
        )
    ) as producer:  # fmt: skip
        producer.send("orders", CANARY * 100).get(30)
        shows(
            cluster,
            "python-orders",
            {"acks": "all", "request.timeout.ms": "23000", "compression.type": "gzip", "enable.idempotence": "true"},
        )
    with closing(
        kafka.KafkaConsumer(
            "orders", bootstrap_servers=gateway.address, client_id="python-billing", group_id="python-billing-group",
            session_timeout_ms=13_000, max_poll_interval_ms=92_000, fetch_min_bytes=3, fetch_max_wait_ms=360, fetch_max_bytes=5_000_000,
            max_partition_fetch_bytes=400_000, isolation_level="read_committed", client_rack="eu-2", auto_offset_reset="earliest",
            group_instance_id="p-1", allow_auto_create_topics=False,
        )
    ) as consumer:  # fmt: skip
        consumer.poll(20_000)
        shows(
            cluster,
            "python-billing",
            {
                "group.id": "python-billing-group", "session.timeout.ms": "13000", "max.poll.interval.ms": "92000", "fetch.min.bytes": "3",
                "fetch.max.wait.ms": "360", "fetch.max.bytes": "5000000", "max.partition.fetch.bytes": "400000",
                "isolation.level": "read_committed", "client.rack": "eu-2", "group.instance.id": "p-1",
                "allow.auto.create.topics": "true",  # kafka-python 3.0.12 keeps the setting from its ClusterMetadata, which has its default
                "partition.assignment.strategy": "range,roundrobin",
            },
        )  # fmt: skip
        resets(cluster, "python-billing", "earliest")


@pytest.mark.matrix
def test_aiokafka(cluster: RunningBroker, gateway: RunningGateway) -> None:
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
        cluster,
        "aio-orders",
        {"acks": "0", "compression.type": "gzip"},  # it sends no name, so that it isn't known what its timeout is
    )
    shows(
        cluster,
        "aio-billing",
        {
            "group.id": "aio-group", "session.timeout.ms": "14000", "fetch.min.bytes": "4", "fetch.max.wait.ms": "370",
            "fetch.max.bytes": "6000000", "max.partition.fetch.bytes": "500000", "isolation.level": "read_committed",
            "group.instance.id": "a-1", "partition.assignment.strategy": "roundrobin", "allow.auto.create.topics": "true",
        },
    )  # fmt: skip
    resets(cluster, "aio-billing", "earliest")


def test_librdkafka(cluster: RunningBroker, gateway: RunningGateway) -> None:
    producer = confluent_kafka.Producer(
        {"bootstrap.servers": gateway.address, "client.id": "rd-orders", "acks": "1", "request.timeout.ms": 25_000,
         "compression.type": "lz4"}
    )  # fmt: skip
    producer.produce("orders", CANARY * 100)
    producer.flush(20)
    shows(cluster, "rd-orders", {"acks": "1", "request.timeout.ms": "25000", "compression.type": "lz4", "enable.idempotence": "false"})
    consumer = confluent_kafka.Consumer(
        {"bootstrap.servers": gateway.address, "client.id": "rd-billing", "group.id": "rd-group", "session.timeout.ms": 20_000,
         "max.poll.interval.ms": 120_000, "fetch.min.bytes": 9, "fetch.wait.max.ms": 380, "fetch.max.bytes": 7_000_000,
         "fetch.message.max.bytes": 600_000, "isolation.level": "read_uncommitted", "client.rack": "eu-3", "auto.offset.reset": "earliest",
         "partition.assignment.strategy": "cooperative-sticky", "group.instance.id": "r-1"}
    )  # fmt: skip
    consumer.subscribe(["orders"])
    consumer.consume(1, timeout=20)
    shows(
        cluster,
        "rd-billing",
        {
            "group.id": "rd-group", "session.timeout.ms": "20000", "max.poll.interval.ms": "120000", "fetch.min.bytes": "9",
            "fetch.max.wait.ms": "380", "fetch.max.bytes": "7000000", "max.partition.fetch.bytes": "600000",
            "isolation.level": "read_uncommitted", "client.rack": "eu-3", "group.instance.id": "r-1",
            "partition.assignment.strategy": "cooperative-sticky",
        },
    )  # fmt: skip
    resets(cluster, "rd-billing", "earliest")
    consumer.close()


PACES = {
    "java": {"heartbeat.interval.ms": 1100, "auto.commit.interval.ms": 1300, "metadata.max.age.ms": 1700},
    "python": {"heartbeat.interval.ms": 1200, "auto.commit.interval.ms": 1500},
    "rd": {"heartbeat.interval.ms": 2000, "auto.commit.interval.ms": 1400},
    "sender": {"metadata.max.age.ms": 1600},
}
"""What the consumers of `inferred` are set to, the Java one by its program; and a producer of kafka-python, which has a thread for it."""

RUNS = itertools.count()
"""Of `inferred`, in all tries of a test: a group that has an offset asks for none."""


def inferred(cluster: RunningBroker, gateway: RunningGateway, run: str) -> dict[str, dict[str, str]]:
    """What follows from the times of three libraries' requests, by those of `PACES`."""
    names = {library: f"paced-{library}{run}" for library in PACES}
    path = ":".join(str(each) for each in jars("client-4.4"))
    command = [java(), "-Xmx256m", "-cp", path, str(PROGRAM), gateway.address, names["java"], "pace"]
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    name = names["rd"]
    consumer = confluent_kafka.Consumer({"bootstrap.servers": gateway.address, "client.id": name, "group.id": name, **PACES["rd"]})
    consumer.subscribe(["orders"])
    found: dict[str, dict[str, str]] = {}
    with (
        closing(kafka.KafkaProducer(bootstrap_servers=cluster.internal)) as producer,
        closing(
            kafka.KafkaProducer(
                bootstrap_servers=gateway.address, client_id=names["sender"], metadata_max_age_ms=PACES["sender"]["metadata.max.age.ms"]
            )
        ) as sender,
        closing(
            knowing_its_topics(
                kafka.KafkaConsumer(
                    "orders", bootstrap_servers=gateway.address, client_id=names["python"], group_id=names["python"],
                    heartbeat_interval_ms=PACES["python"]["heartbeat.interval.ms"],
                    auto_commit_interval_ms=PACES["python"]["auto.commit.interval.ms"],
                )
            )
        ) as paced,
    ):  # fmt: skip
        sender.send("orders", CANARY).get(timeout=20)

        def all_are_known() -> bool:
            until_s = time.monotonic() + 4  # kafka-python commits while it polls: looking at the topic all the time would delay that
            while time.monotonic() < until_s:
                producer.send("orders", CANARY)  # librdkafka commits only what is new
                paced.poll(50)
                consumer.poll(0.05)
            unknown = [library for library in PACES if not found.get(library, {}).keys() >= PACES[library].keys()]
            found.update((library, observed(cluster, names[library], True)) for library in unknown)
            return all(found[library].keys() >= PACES[library].keys() for library in PACES)

        eventually(all_are_known, 45)
    consumer.close()
    stop(child)
    return found


@pytest.mark.times
@pytest.mark.timeout(400)
def test_intervals_are_inferred(cluster: RunningBroker, gateway: RunningGateway) -> None:
    found: dict[tuple[str, str], str] = {}
    wanted = {(library, key): value for library, settings in PACES.items() for key, value in settings.items()}
    for _ in range(4):  # where a busy machine makes a client's intervals irregular, nothing is inferred of it
        of_run = inferred(cluster, gateway, f"{next(RUNS)}x")
        found |= {(library, key): value for library, settings in of_run.items() for key, value in settings.items()}
        if found.keys() >= wanted.keys():
            break
    assert {found.get((library, "auto.offset.reset")) for library in PACES if library != "sender"} == {"latest"}, "the default of all"
    far = {which: found.get(which) for which, value in wanted.items() if not 0.8 * value <= int(found.get(which, 0)) <= 1.5 * value}
    assert not far, "on a busy machine they are later"


PIPELINES = {"java": (20, 20_000), "python": (9, 25_000), "rd": (12, 30_000)}
"""Requests in flight and bytes of a batch that the producers of the next test are set to; the Java one by its program."""


@contextmanager
def sending_java(address: str, name: str) -> Iterator[None]:
    """A Java producer that sends faster than a broker answers, for which it has given up idempotence."""
    path = ":".join(str(each) for each in jars("client-3.9"))
    command = [java(), "-Xmx256m", "-cp", path, str(PROGRAM), address, name, "pipeline"]
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield
    finally:
        stop(child)


def send_librdkafka(address: str, name: str) -> confluent_kafka.Producer:
    """A producer that has sent faster than a broker answers."""
    in_flight, batch_size = PIPELINES["rd"]
    producer = confluent_kafka.Producer(
        {"bootstrap.servers": address, "client.id": name, "max.in.flight": in_flight, "batch.size": batch_size, "linger.ms": 5}
    )
    for _ in range(500):
        producer.produce("piped", CANARY * 300)
    assert not producer.flush(60)
    return producer


def send_kafka_python(address: str, name: str) -> None:
    in_flight, batch_size = PIPELINES["python"]
    with closing(
        kafka.KafkaProducer(
            bootstrap_servers=address, client_id=name, enable_idempotence=False, max_in_flight_requests_per_connection=in_flight,
            batch_size=batch_size, linger_ms=5, acks="all",
        )
    ) as producer:  # fmt: skip
        for _ in range(500):
            producer.send("piped", CANARY * 300)
        producer.flush(60)


@pytest.mark.times
@pytest.mark.timeout(300)
def test_requests_in_flight_and_batches_are_inferred_and_never_above_what_is_set(cluster: RunningBroker, gateway: RunningGateway) -> None:
    names = {library: f"piped-{library}" for library in PIPELINES}
    found: dict[str, tuple[int, int]] = {}

    def all_are_known() -> bool:
        send_librdkafka(gateway.address, names["rd"])  # each time over a new connection
        send_kafka_python(gateway.address, names["python"])
        for library, name in names.items():
            settings = observed(cluster, name, True)
            found[library] = int(settings.get("max.in.flight.requests.per.connection", 1)), int(settings.get("batch.size", 0))
        return all(in_flight > (1 if library == "python" else 5) and batch for library, (in_flight, batch) in found.items())

    with sending_java(gateway.address, names["java"]):
        eventually(all_are_known, 120, 2)
    for library, (in_flight, batch_size) in PIPELINES.items():
        assert (1 if library == "python" else 5) < found[library][0] <= in_flight, found
        assert batch_size / 2 < found[library][1] <= batch_size, found


def test_connections_of_one_client_that_differ_are_one_client(cluster: RunningBroker, gateway: RunningGateway) -> None:
    """As librdkafka's topics may differ in acks, and two instances with one client.id on a host."""
    producers = [
        kafka.KafkaProducer(
            bootstrap_servers=gateway.address, client_id="differing", acks=acks, request_timeout_ms=21_000, enable_idempotence=False
        )
        for acks in (0, 1, "all")
    ]
    for producer in producers:
        producer.send("orders", CANARY)
        producer.flush(20)
    shows(cluster, "differing", {"acks": "0 | 1 | all", "request.timeout.ms": "21000", "enable.idempotence": "false"})
    for producer in producers:
        producer.close()


@pytest.mark.matrix
def test_a_consumer_without_a_rack_shows_it_where_the_broker_has_one(tmp_path: Path) -> None:
    with (
        running_cluster(tmp_path / "broker", {"broker.rack": "eu-1"}) as broker,
        running_gateway(broker.internal, broker.client, tmp_path, listen=broker.advertised) as gateway,
    ):
        with closing(kafka.KafkaProducer(bootstrap_servers=gateway.address)) as producer:
            producer.send("orders", CANARY).get(30)
        for client_id, rack in (("without", ""), ("within", "eu-1")):
            with closing(
                kafka.KafkaConsumer(
                    "orders", bootstrap_servers=gateway.address, client_id=client_id, auto_offset_reset="earliest", client_rack=rack
                )
            ) as consumer:
                assert eventually(lambda one=consumer: bool(one.poll(500)), 30)
            assert eventually(lambda who=client_id, where=rack: observed(broker, who).get("client.rack") == where, SOON_S)


def test_nothing_was_unreadable(gateway: RunningGateway) -> None:
    found = metrics(gateway.metrics_url)
    assert not [name for name in found if "settings_unread" in name[0] and found[name]]


def test_without_it_nothing_is_recorded(tmp_path: Path) -> None:
    with (
        running_cluster(tmp_path / "broker") as broker,
        running_gateway(broker.internal, broker.client, tmp_path, "--ignore-request-settings", listen=broker.advertised) as gateway,
    ):
        with closing(kafka.KafkaProducer(bootstrap_servers=gateway.address, client_id="unobserved", acks=1)) as producer:
            producer.send("orders", CANARY).get(30)
        assert eventually(lambda: metrics(gateway.metrics_url).get(CLOSED, 0) >= 1, SOON_S), "a client that leaves is recorded at once"
        assert not read_all(broker.internal, CONFIGS)


def detail(installation: Installation, client_id: str) -> dict[str, Any]:
    """All about a connected client; empty while the page doesn't list it."""
    for each in get(installation, "clients?limit=1000")["items"]:
        if each["client_id"] == client_id:
            found: dict[str, Any] = get(installation, f"clients/{quote(each['key'], safe='')}")
            return found
    return {}


def get(installation: Installation, path: str) -> Any:
    with urllib.request.urlopen(f"{installation.page_url}api/v1/{path}", timeout=10) as response:
        return json.load(response)


def shown(installation: Installation, client_id: str) -> tuple[str, str, set[str]] | None:
    """Origin of a client's configuration, its acks, and what was found."""
    found = detail(installation, client_id)
    if not found or found["configuration"] is None or found["findings"] is None:
        return None
    acks = {each["key"]: each["value"] for each in found["configuration"]["settings"]}["acks"]
    return found["configuration"]["origin"], acks, {each["code"] for each in found["findings"] if each["state"] == "open"}


def many_in_flight_are_found(installation: Installation) -> None:
    """Of librdkafka, which isn't idempotent by default, and of Java, which was silently made not to be."""
    address, wanted = installation.gateway.address, {"piped-rd": {"AN105"}, "piped-java": {"AN104", "AN105"}}
    kept = []

    def found() -> bool:
        kept[:] = [send_librdkafka(address, "piped-rd")]  # connected until the next one is
        for name, codes in wanted.items():
            levels = {each["code"]: each["severity"] for each in detail(installation, name).get("findings") or ()}
            if {levels.get(code) for code in codes} != {"info"}:
                return False
        return True

    with sending_java(address, "piped-java"):
        assert eventually(found, 150, 2)
        for name in wanted:
            settings = {each["key"]: each["value"] for each in detail(installation, name)["configuration"]["settings"]}
            assert settings["max.in.flight.requests.per.connection"].startswith("~at least ")


@pytest.mark.times
@pytest.mark.timeout(400)
def test_rules_judge_it_the_page_shows_it_and_what_is_pushed_comes_first(installation: Installation) -> None:
    with admin.connected(installation.broker.internal) as client:
        client.create_topics(TOPICS)
    address = installation.gateway.address
    with closing(kafka.KafkaProducer(bootstrap_servers=address, client_id="careless-1", acks=0)) as silent:
        silent.send("orders", CANARY)
        silent.flush(20)
        assert eventually(lambda: shown(installation, "careless-1") not in (None, ("observed", "0", set())), 90)
        origin, acks, codes = shown(installation, "careless-1") or ("", "", set())
        assert (origin, acks) == ("observed", "0")
        assert "AN101" in codes
        # Another instance under the same name pushes, and its requests are those of the first one too.
        with KafkaProducer(bootstrap_servers=address, client_id="careless-1", acks="all") as pushing:
            pushing.partitions_for("orders")
            assert eventually(lambda: (shown(installation, "careless-1") or ("",))[0] == "pushed", 90)
            assert eventually(lambda: "AN405" in (shown(installation, "careless-1") or ("", "", set()))[2], 90)
            assert (shown(installation, "careless-1") or ("", ""))[1] == "all"
    many_in_flight_are_found(installation)
    installation.processes.check()
