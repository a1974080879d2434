"""One gateway for a whole cluster whose brokers advertise their own addresses: clients get the same as direct, and connect to it alone."""

from __future__ import annotations

import base64
import json
import os
import re
import signal
import struct
import uuid
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from clients.every import CLIENTS, each_client
from clients.python import Confluent
from clients.script import RECORDS, Client, variants, work
from fixed_cluster import FixedCluster, InFront, Peers, client_pids, gateway_in_front, running_cluster
from forked import clientscope
from frame_bytes import head
from kafka.protocol.metadata import MetadataRequest, MetadataResponse
from observe import by_librdkafka, make_topic, metrics
from patience import meanwhile, until

from clientscope.client.raw import RawClient
from clientscope.demo.watch import jmx_connections
from clientscope.local.jars import jars
from clientscope.readiness.served import known_releases
from clientscope.session.addresses import LAST_FETCH, READ, known


@pytest.fixture(scope="module")
def cluster(folder: Path) -> Iterator[FixedCluster]:
    with running_cluster(folder / "fixed-cluster") as running:
        yield running


@pytest.fixture(scope="module")
def in_front(cluster: FixedCluster, folder: Path) -> Iterator[InFront]:
    with gateway_in_front(cluster.clients, folder / "fixed-gateway") as running:
        yield running


@pytest.mark.matrix
@pytest.mark.timeout(600)  # the first run on a machine downloads and compiles clients
@pytest.mark.parametrize("name", each_client(frozenset(CLIENTS) - {"java 2.8", "java 3.7", "java 3.9"}))
def test_a_client_gets_the_same_through_one_gateway_and_connects_to_it_alone(cluster: FixedCluster, in_front: InFront, name: str) -> None:
    def watched(client: Client, run: str) -> tuple[dict[str, Any], set[int]]:
        """The work, and where it was seen to connect to: whenever a busy machine lets us look, and once while a consumer certainly is."""
        peers = Peers(lambda: client_pids(cluster, in_front.gateway), cluster, in_front)
        with meanwhile(peers.look):
            return work(client, run, peers.look), peers.seen

    with CLIENTS[name](cluster.brokers[1].plan.advertised) as client:
        direct, direct_peers = watched(client, "direct")
        client.address = in_front.address(1)
        through, through_peers = watched(client, "through")
        ways = list(variants(client, ""))
    assert through == direct
    assert [key for key in direct if key.endswith("failed")] == ["unknown topic failed"]
    assert len(direct["consumed"]) == RECORDS * (len(ways) - 1)
    assert len(direct["described"]["nodes"]) == 3
    assert direct_peers <= set(cluster.ports.values())
    assert direct_peers, "it is seen where a client connects to"
    assert through_peers <= set(in_front.ports)
    assert through_peers


TOPIC = "fixed.orders"
FOUND = re.compile("host|port$|endpoint|listener", re.I)
NO_BROKERS = {
    "DescribeGroups", "ConsumerGroupDescribe", "ShareGroupDescribe",  # ClientHost: where a member connects from
    "StreamsGroupDescribe", "StreamsGroupHeartbeat",  # the members' own application.server, for each other
    "DescribeAcls", "DeleteAcls",  # hosts of clients
    "DescribeQuorum",  # listeners of controllers, to which no client of a broker connects
}  # fmt: skip
"""Answers to clients whose hosts and ports are no brokers'."""


@pytest.mark.matrix
def test_every_answer_of_kafka_with_a_brokers_address_is_read_or_not_offered() -> None:
    """By the message schemas in Kafka's own jar."""
    (jar,) = [path for path in jars("client-4.4") if path.name.startswith("kafka-clients-")]
    assert jar.name == f"kafka-clients-{known_releases()[-1]}.jar", "the newest release whose versions are offered"
    addressed: dict[int, tuple[str, str]] = {}
    offered = known()
    with zipfile.ZipFile(jar) as archive:
        schemas = [name for name in archive.namelist() if re.fullmatch(r"common/message/\w+Response\.json", name)]
        for name in schemas:
            schema = _schema(archive, name)
            if "fields" not in schema:
                continue  # gone from Kafka
            structs = {each["name"]: each["fields"] for each in schema.get("commonStructs", [])}
            listeners = _schema(archive, name.replace("Response", "Request"))["listeners"]
            api = schema["name"].removesuffix("Response")
            versions = list(_addresses(schema["fields"], structs))
            if versions and "broker" in listeners and api not in NO_BROKERS:
                addressed[schema["apiKey"]] = (schema["validVersions"], min(versions, key=lambda each: int(each.split("-")[0].strip("+"))))
    assert len(schemas) > 80
    assert set(addressed) == {*READ, 1}
    for key, versions in READ.items():
        valid, first = addressed[key]
        assert versions[-1] == offered[key][1] == int(valid.split("-")[1])
        assert versions[0] == max(int(first.strip("+").split("-")[0]), int(valid.split("-")[0]))
    assert LAST_FETCH == offered[1][1] == int(addressed[1][1].strip("+")) - 1


def _schema(archive: zipfile.ZipFile, name: str) -> Any:
    lines = archive.read(name).decode().splitlines()
    return json.loads("\n".join(line for line in lines if not line.strip().startswith("//")))


def _addresses(fields: Any, structs: Any) -> Iterator[str]:
    """The versions of each field that may be part of an address."""
    for field in fields:
        if FOUND.search(field["name"]) and field["name"] not in ("EndpointType", "EndpointInformationEpoch"):
            yield field["versions"]
        yield from _addresses(field.get("fields") or structs.get(field["type"].removeprefix("[]"), []), structs)


@pytest.fixture(scope="module")
def topic(cluster: FixedCluster) -> Any:
    """The id of `TOPIC`, and which broker leads its only partition."""
    make_topic(cluster.internal, TOPIC, replicas=3)
    with RawClient.connect(cluster.brokers[1].plan.advertised, "raw") as client:
        found = client.request(_metadata(12), MetadataResponse).topics[0]
    return found.topic_id, found.partitions[0].leader_id


def _metadata(version: int) -> Any:
    asked = MetadataRequest.MetadataRequestTopic(version=version, topic_id=None, name=TOPIC)
    return MetadataRequest(version=version, topics=[asked], allow_auto_topic_creation=False)


def _share(key: int, version: int, topic_id: Any, member: bytes) -> bytes:
    """ShareFetch or ShareAcknowledge of one partition."""
    start = head(key, version, 7) + b"\0" + b"\x06group" + b"\x17" + member
    if key == 78:
        asked = struct.pack(">iiiiii", 0, 100, 1, 2**20, 100, 100) + (b"\0\0" if version >= 2 else b"")
    else:
        asked = struct.pack(">i", 1) + (b"\0" if version >= 2 else b"")
    acknowledged = b"\x01" if key == 78 else b"\x02" + struct.pack(">qq", 0, 0) + b"\x02\x01\0"
    partition = struct.pack(">i", 0) + acknowledged + b"\0"
    return start + asked + b"\2" + topic_id.bytes + b"\2" + partition + b"\0" + (b"\x01" if key == 78 else b"") + b"\0"


def _both(cluster: FixedCluster, in_front: InFront, node: int, ask: Callable[[RawClient], Any]) -> tuple[Any, Any]:
    """What a broker answers direct, and through the gateway."""
    answers = []
    for address in (cluster.brokers[node].plan.advertised, in_front.address(node)):
        with RawClient.connect(address, "raw") as client:
            answers.append(ask(client))
    return answers[0], answers[1]


@pytest.mark.matrix
@pytest.mark.parametrize(("key", "version"), [(78, 1), (78, 2), (79, 1), (79, 2)])
def test_endpoints_of_the_share_apis_have_other_ports_alone(
    cluster: FixedCluster, in_front: InFront, topic: Any, key: int, version: int
) -> None:
    topic_id, leader = topic
    other = next(node for node in cluster.brokers if node != leader)

    def ask(client: RawClient) -> bytes:
        member = base64.urlsafe_b64encode(uuid.uuid4().bytes)[:22]  # each has a session of its own
        if key == 79:  # of a session, which a fetch opens
            client.send_frame(_share(78, 1, topic_id, member))
            client.receive_frame()
        client.send_frame(_share(key, version, topic_id, member))
        return client.receive_frame()

    direct, through = _both(cluster, in_front, other, ask)
    ports = struct.pack(">i", cluster.ports[leader]), struct.pack(">i", in_front.ports[leader - 1])
    # A broker names the leader to who acknowledges only while it still has the share partition that has moved.
    assert direct.count(ports[0]) == (1 if key == 78 else 0)
    assert through == direct.replace(*ports)


@pytest.mark.matrix
def test_no_version_is_offered_that_is_not_known(cluster: FixedCluster, in_front: InFront) -> None:
    def ranges(client: RawClient) -> dict[int, tuple[int, int]]:
        return {each.api_key: (each.min_version, each.max_version) for each in client.api_versions("raw", "1.0").api_keys}

    direct, through = _both(cluster, in_front, 1, ranges)
    assert through.pop(1324) == (0, 0)
    assert {key: versions for key, versions in direct.items() if through.get(key) != versions} == {1: (4, 18)}
    assert through[1] == (4, 15)


@pytest.mark.matrix
@pytest.mark.parametrize(("last", "outcomes"), [(2, ["ok"] * 3), (0, ["ok", "problem", "problem"])])
def test_doctor_finds_a_gateway_at_each_brokers_port(
    cluster: FixedCluster, in_front: InFront, tmp_path: Path, last: int, outcomes: list[str]
) -> None:
    file = tmp_path / "clientscope.toml"
    file.write_text(
        f'[kafka]\n"bootstrap.servers" = "{cluster.clients}"\n[gateway]\nlisten = "{in_front.gateway.address}"\n'
        f'broker_ports = "{in_front.ports[0]}-{in_front.ports[last]}"\nfirst_broker_id = 1\n'
    )
    found = json.loads(clientscope("doctor", "--config", str(file), "-o", "json").stdout)["results"]
    assert [each["outcome"] for each in found if each["check"] == "listeners"] == outcomes


def test_it_cannot_be_bypassed(cluster: FixedCluster, in_front: InFront) -> None:
    os.kill(in_front.gateway.pid, signal.SIGUSR1)
    for node in cluster.brokers:
        with RawClient.connect(in_front.address(node), "raw") as client:
            found = client.request(MetadataRequest(version=12, topics=[]), MetadataResponse).brokers
        assert {broker.port for broker in found} == set(in_front.ports[:3])
    assert metrics(in_front.gateway.metrics_url)["clientscope_gateway_bypassed",] == 0


def test_gauges_are_each_brokers_own(cluster: FixedCluster, in_front: InFront, topic: Any) -> None:
    """By the brokers' own JMX, of clients that only come through the gateway."""
    _, leader = topic
    identity = Confluent(in_front.address(1)).identity
    producer = by_librdkafka(in_front.gateway.address, TOPIC)
    seen: list[Any] = []

    def agree() -> bool:
        ours = {
            int(labels[1]): int(value)
            for labels, value in metrics(in_front.gateway.metrics_url).items()
            if labels[0] == "clientscope_gateway_client_connections" and labels[2:4] == identity
        }
        theirs = {node: jmx_connections(broker.plan.jmx_port).get(identity, 0) for node, broker in cluster.brokers.items()}
        seen[:] = [ours, theirs]
        return ours == {node: number for node, number in theirs.items() if number} and leader in ours

    until(agree, why=seen)
    producer.close()
