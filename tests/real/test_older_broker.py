"""A gateway in front of brokers older than its clients: Kafka 2.4 and 2.8 with ZooKeeper, 3.6 and 3.9 with KRaft."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from clients.every import CLIENTS
from clients.script import variants, work
from conftest import RunningBroker, RunningGateway, running_broker
from forked import printed
from kafka import KafkaAdminClient
from kafka.admin import ACL, ACLOperation, ACLPermissionType, ResourcePattern, ResourceType
from patience import until
from test_api_versions import CASES, replay, same_but_for_our_key
from test_client_matrix import was_real_work

from clientscope import topics
from clientscope.cluster.api_versions import ask
from clientscope.config import GatewaySettings
from clientscope.errors import EnvironmentProblem
from clientscope.gateway.place import find_place
from clientscope.model.topics import CONFIGS
from clientscope.wire import api_versions
from clientscope.wire.codes import UNSUPPORTED_VERSION
from clientscope.wire.describe_cluster import BrokerSoftware

pytestmark = pytest.mark.matrix

AUTHORIZER = {"authorizer.class.name": "kafka.security.authorizer.AclAuthorizer", "allow.everyone.if.no.acl.found": "true"}
RELEASES = {"broker-2.4": "2.4.1", "broker-2.8": "2.8.2", "broker-3.6": "3.6.2", "broker-3.9": "3.9.2"}


@pytest.fixture(scope="module", params=RELEASES)
def release(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def broker(release: str, folder: Path) -> Iterator[RunningBroker]:
    extra = AUTHORIZER if release == "broker-2.4" else {}
    with running_broker(folder / release, release, extra) as running:
        yield running


@pytest.fixture(scope="module")
def gateway(broker: RunningBroker, folder: Path) -> Iterator[RunningGateway]:
    with broker.gateway(folder / "older", advertised=True) as running:
        yield running


def test_each_answer_is_the_brokers_own_but_for_our_key(broker: RunningBroker, gateway: RunningGateway) -> None:
    """It lacks v5, and answers in v0, with error 35."""
    for payload in CASES.values():
        same_but_for_our_key(broker, gateway, payload)
    assert api_versions.error_code(replay(gateway.address, CASES["v5"])) == UNSUPPORTED_VERSION


@pytest.mark.parametrize("name", CLIENTS)
def test_f05_a_client_of_an_older_broker_sees_the_same_as_direct(
    release: str, broker: RunningBroker, gateway: RunningGateway, name: str
) -> None:
    with CLIENTS[name](broker.internal) as client:
        direct, identity = work(client, "direct"), client.identity
        client.address = gateway.address
        through = work(client, "through", lambda: until(lambda: identity in gateway.connections))
        ways = list(variants(client, ""))
    assert through == direct
    # kafka-python 3.0.12 asks each answer for the type of endpoints, which DescribeCluster has since Kafka 3.7, and ends with a KeyError.
    was_real_work(direct, ways, describes=name != "kafka-python" or release not in ("broker-2.8", "broker-3.6"))
    until(lambda: gateway.connections == {} == broker.connections)


def test_f52_brokers_are_told_as_what_they_are(release: str, broker: RunningBroker, gateway: RunningGateway) -> None:
    """Its id, address and controller, and its release by its API ranges and by its JMX."""
    where = ("--bootstrap-servers", broker.internal, "-o", "jsonl")
    major_minor, full = release.removeprefix("broker-"), RELEASES[release]
    (inferred,) = map(json.loads, printed("brokers", *where).splitlines())
    assert (inferred["software_name"], inferred["software_version"], inferred["source"]) == ("Kafka", major_minor, "inferred")
    assert (inferred["broker"], f"{inferred['host']}:{inferred['port']}", inferred["controller"]) == (1, broker.internal, True)
    (read,) = map(json.loads, printed("brokers", *where, "--jmx", f"1=http://127.0.0.1:{broker.jmx_port}/metrics").splitlines())
    assert (read["software_version"], read["source"], read["problem"]) == (full, "jmx", None)
    (answer,) = ask({"bootstrap_servers": gateway.address}, with_software=True).answers
    assert answer.software == BrokerSoftware(None if release == "broker-2.4" else "Kafka", None), "DescribeCluster came with 2.8"


def test_f52_a_gateway_finds_its_place_and_says_what_the_release_lacks(release: str, broker: RunningBroker) -> None:
    """Who the cluster is and what the listener speaks; a software for DescribeCluster, which came with 2.8, is asked for in vain before."""
    settings = GatewaySettings(bootstrap_servers=broker.internal, upstream=broker.client, gateway_id="place", broker_software_name="Kafka")
    place = find_place(settings)
    assert (place.broker_id, place.listener_name, place.security_protocol) == (1, "CLIENT", "PLAINTEXT")
    assert place.cluster_id == ask({"bootstrap_servers": broker.internal}).cluster_id != ""
    assert [warning.partition(" (")[0] for warning in place.warnings] == ["the broker has no DescribeCluster"] * (release == "broker-2.4")
    assert find_place(settings.model_copy(update={"broker_software_name": ""})).warnings == ()


@pytest.mark.parametrize("release", ["broker-2.4"], indirect=True)
def test_f52_a_right_that_producers_need_before_2_8_is_named_where_it_is_missing(release: str, broker: RunningBroker) -> None:
    """Kafka 2.4 lets only those get a producer id who may do so on the cluster (KIP-679)."""
    topics.verify(broker.internal, reads=[CONFIGS], writes=[CONFIGS])
    cluster = ResourcePattern(ResourceType.CLUSTER, "kafka-cluster")
    other, needed = (
        ACL("User:ANONYMOUS", "*", operation, ACLPermissionType.ALLOW, cluster)
        for operation in (ACLOperation.ALTER, ACLOperation.IDEMPOTENT_WRITE)
    )
    with KafkaAdminClient(bootstrap_servers=broker.internal) as admin:
        try:
            assert not admin.create_acls([other])["failed"]  # from now on what no ACL allows is refused
            topics.verify(broker.internal, reads=[CONFIGS])
            with pytest.raises(EnvironmentProblem, match="no right to IdempotentWrite on the cluster") as caught:
                topics.verify(broker.internal, writes=[CONFIGS])
            assert "--operation IdempotentWrite --cluster" in str(caught.value.hint)
            assert not admin.create_acls([needed])["failed"]
            topics.verify(broker.internal, writes=[CONFIGS])
        finally:
            admin.delete_acls([needed, other])
