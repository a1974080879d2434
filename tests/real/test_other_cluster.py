"""A gateway whose upstream is a broker of another cluster than its topics' cluster records nobody under the wrong one: it stops."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import kafka
import pytest
from conftest import RunningBroker
from patience import LIMIT_S

from clientscope.kafka.access import KafkaAccess
from clientscope.kafka.admin import new_admin
from clientscope.kafka.describe import describe
from clientscope.local.broker import BrokerPlan, EmbeddedBroker
from clientscope.local.process import free_port

PASSWORD = "of-tests-alone"
_PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerPlan]:
    """A broker of another cluster: its listener CLIENT wants SASL, INTERNAL doesn't."""
    folder: Path = tmp_path_factory.mktemp("other-cluster")
    extra = {
        "listener.security.protocol.map": "CLIENT:SASL_PLAINTEXT,INTERNAL:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "sasl.enabled.mechanisms": "PLAIN",
        "listener.name.client.plain.sasl.jaas.config": f'{_PLAIN} required user_a="{PASSWORD}";',
    }
    plan = BrokerPlan(free_port(), free_port(), f"127.0.0.1:{free_port()}", folder / "broker", extra=extra)
    with EmbeddedBroker(plan):
        yield plan


def cluster_id(servers: str) -> str:
    with closing(new_admin(KafkaAccess(servers).client_arguments())) as admin:
        return describe(admin).cluster_id


def started(internal: str, upstream: str, listen: str, *flags: str) -> subprocess.Popen[str]:
    words = ["--bootstrap-servers", internal, "--listen", listen, "--upstream", upstream, "--gateway-id", listen, *flags]
    pages = ["--metrics-listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0"]
    return subprocess.Popen(
        [sys.executable, "-m", "clientscope", "gateway", *words, *pages], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def said_at_its_end(gateway: subprocess.Popen[str]) -> str:
    try:
        _, said = gateway.communicate(timeout=LIMIT_S)
    finally:
        gateway.kill()
    assert gateway.returncode == 2, said
    return said.split("error: ")[1]


def test_refuses_to_start_in_front_of_another_cluster(broker: RunningBroker, other: BrokerPlan) -> None:
    said = said_at_its_end(started(broker.internal, other.internal, f"127.0.0.1:{free_port()}"))
    assert f"--upstream {other.internal} is a broker of cluster {cluster_id(other.internal)}" in said
    assert f"--bootstrap-servers are of cluster {cluster_id(broker.internal)}" in said
    assert "hint: let both name the same cluster" in said


def test_stops_at_the_first_metadata_of_another_clusters_listener_with_sasl(broker: RunningBroker, other: BrokerPlan) -> None:
    """Before a client has authenticated, a broker doesn't say of which cluster it is."""
    listen = f"127.0.0.1:{free_port()}"
    gateway = started(broker.internal, f"127.0.0.1:{other.port}", listen, "--security-protocol", "SASL_PLAINTEXT")
    assert gateway.stdout is not None and "ready" in gateway.stdout.readline()
    sasl = {"security_protocol": "SASL_PLAINTEXT", "sasl_mechanism": "PLAIN", "sasl_plain_username": "a", "sasl_plain_password": PASSWORD}
    try:
        with contextlib.suppress(kafka.errors.KafkaError), closing(kafka.KafkaConsumer(bootstrap_servers=listen, **sasl)) as client:
            client.topics()
    finally:
        said = said_at_its_end(gateway)
    assert f"is a broker of cluster {cluster_id(other.internal)}" in said
    assert f"are of cluster {cluster_id(broker.internal)}" in said
