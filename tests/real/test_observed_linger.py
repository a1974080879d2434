"""linger.ms of real producers, by the times in their batches, and metadata.max.age.ms of real clients of several brokers."""

from __future__ import annotations

import itertools
import random
import subprocess
import time
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import confluent_kafka
import kafka
import pytest
from conftest import RunningBroker, RunningGateway, running_gateway, start_broker
from fixed_cluster import gateway_in_front, running_cluster
from observe import eventually
from observed_cluster import CANARY, recorded

from clientscope.catalog.request_settings import BETWEEN, inferred_value, least
from clientscope.local.jars import jars
from clientscope.local.java import java
from clientscope.local.process import stop

pytestmark = pytest.mark.times

PROGRAM = Path(__file__).parent / "clients" / "LingerClient.java"
KINDS = {"short": 40, "long": 150, "none": 0, "busy": 40}
"""linger.ms of one producer each; the last one sends as fast as it can."""
LONG = pytest.mark.long_form(only=True)
LIBRARIES = ("rd", pytest.param("java", marks=LONG), pytest.param("python", marks=LONG))
AGES_MS = {"java": 1700, "python": 1500}
RUNS = itertools.count()
BURSTS = 25
SOON_S = 30.0

Send = Callable[[bytes], object]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningBroker]:
    started, broker = start_broker(tmp_path_factory.mktemp("broker"))
    try:
        create(broker.internal, "gathered", partitions=1)
        yield broker
    finally:
        started.stop()


@pytest.fixture(scope="module")
def gateway(cluster: RunningBroker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningGateway]:
    with running_gateway(cluster.internal, cluster.client, tmp_path_factory.mktemp("gateway"), listen=cluster.advertised) as running:
        yield running


def create(internal: str, name: str, partitions: int) -> None:
    with closing(kafka.KafkaAdminClient(bootstrap_servers=internal)) as client:
        client.create_topics({name: {"num_partitions": partitions, "replication_factor": 1}}, wait_for_metadata=True)


def gather(kind: str, send: Send, flush: Callable[[], object]) -> None:
    """Bursts that are longer than linger.ms, with pauses between them; or as many records as there can be."""
    random_ = random.Random(KINDS[kind])  # noqa: S311
    for _ in range(BURSTS):
        mean_s = random_.choice((0.0015, 0.003, 0.005))
        until_s = time.monotonic() + 2.2 * KINDS[kind] / 1000 + 0.02
        for number in itertools.count():
            if number == 4000 if kind == "busy" else time.monotonic() > until_s:
                break
            if kind != "busy":
                time.sleep(random_.expovariate(1 / mean_s))
            send(CANARY * random_.randint(1, 9))
        if kind != "busy":
            time.sleep(random_.uniform(0.3, 0.4))
    flush()


def gather_librdkafka(address: str, name: str, kind: str) -> None:
    producer = confluent_kafka.Producer({"bootstrap.servers": address, "client.id": f"{name}-{kind}", "linger.ms": KINDS[kind]})

    def send(value: bytes) -> None:
        while True:
            producer.poll(0)
            try:
                return producer.produce("gathered", value)
            except BufferError:
                producer.poll(0.1)

    gather(kind, send, lambda: producer.flush(30))


def gather_kafka_python(address: str, name: str, kind: str) -> None:
    with closing(kafka.KafkaProducer(bootstrap_servers=address, client_id=f"{name}-{kind}", linger_ms=KINDS[kind])) as producer:
        gather(kind, lambda value: producer.send("gathered", value), producer.flush)


def gather_java(address: str, name: str, kinds: Collection[str]) -> None:
    path = ":".join(str(each) for each in jars("client-4.4"))
    wanted = [str(each) for kind in kinds for each in (kind, KINDS[kind])]
    subprocess.run([java(), "-Xmx256m", "-cp", path, str(PROGRAM), address, name, *wanted], check=True, capture_output=True, timeout=120)


def lingers(cluster: RunningBroker, gateway: RunningGateway, library: str, kinds: Collection[str]) -> dict[str, str]:
    """What follows of one producer of each of these kinds, over new connections."""
    name = f"gathering-{library}-{next(RUNS)}"
    if library == "java":
        gather_java(gateway.address, name, kinds)
    else:
        run = gather_librdkafka if library == "rd" else gather_kafka_python
        with ThreadPoolExecutor() as pool:
            list(pool.map(lambda kind: run(gateway.address, name, kind), kinds))
    assert eventually(lambda: recorded(cluster.internal).keys() >= {f"{name}-{kind}" for kind in kinds}, SOON_S)
    found = recorded(cluster.internal)
    return {kind: found[f"{name}-{kind}"].get("linger.ms", "") for kind in kinds}


@pytest.mark.timeout(600)
@pytest.mark.parametrize("library", LIBRARIES)
def test_a_range_has_what_a_producer_is_set_to(cluster: RunningBroker, gateway: RunningGateway, library: str) -> None:
    found: set[str] = set()
    for number in range(10):  # where a busy machine makes a client late, nothing follows of it
        kinds = set(KINDS) if number == 0 else {"short", "long"} - found
        for kind, text in lingers(cluster, gateway, library, kinds).items():
            assert not text or kind in ("short", "long"), (kind, text)
            if text:
                words = text.split(" ")
                assert (words[0], inferred_value(text)) == ("~between", None)
                assert int(words[1]) == least(text)
                assert int(words[1]) <= KINDS[kind] <= int(words[3]) <= 1.5 * KINDS[kind], text
                found.add(kind)
        if found == {"short", "long"}:
            break
    assert found == {"short", "long"}


def refresh_kafka_python(address: str, name: str) -> kafka.KafkaProducer:
    producer = kafka.KafkaProducer(bootstrap_servers=address, client_id=name, metadata_max_age_ms=AGES_MS["python"])
    for partition in range(3):  # each has another leader, so that there are three connections
        producer.send("spread", CANARY, partition=partition).get(timeout=30)
    return producer


@LONG
@pytest.mark.timeout(400)
def test_the_age_of_metadata_of_a_client_that_asks_three_brokers(tmp_path: Path) -> None:
    with running_cluster(tmp_path / "cluster") as cluster, gateway_in_front(cluster, tmp_path) as in_front:
        create(cluster.internal, "spread", partitions=3)
        address = in_front.address(1)
        path = ":".join(str(each) for each in jars("client-4.4"))
        command = [java(), "-Xmx128m", "-cp", path, str(PROGRAM), address, "refreshing-java", str(AGES_MS["java"])]
        child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        found: dict[str, set[str]] = {}

        def all_are_known() -> bool:
            settings = recorded(cluster.internal)
            for library in AGES_MS:
                text = settings.get(f"refreshing-{library}", {}).get("metadata.max.age.ms", "")
                found[library] = set(filter(None, text.split(BETWEEN)))
            return all(any("multiples" in text for text in texts) for texts in found.values())

        with closing(refresh_kafka_python(address, "refreshing-python")):
            eventually(all_are_known, 180, 2)
        stop(child)
    for library, texts in found.items():
        assert any("multiples" in text for text in texts), found
        numbers = [int(inferred_value(text) or 0) for text in texts]
        assert all(0.95 * AGES_MS[library] <= number <= 1.2 * AGES_MS[library] for number in numbers), found
