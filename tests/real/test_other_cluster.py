"""A gateway whose upstream is a broker of another cluster than its topics' cluster records nobody under the wrong one: it stops."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from contextlib import closing

import kafka
from conftest import PASSWORD, RunningBroker
from patience import LIMIT_S

from clientscope.kafka.access import KafkaAccess
from clientscope.kafka.admin import describe, new_admin
from clientscope.local.process import free_port


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


def test_refuses_to_start_in_front_of_another_cluster(broker: RunningBroker, sasl_broker: RunningBroker) -> None:
    said = said_at_its_end(started(broker.internal, sasl_broker.internal, f"127.0.0.1:{free_port()}"))
    assert f"--upstream {sasl_broker.internal} is a broker of cluster {cluster_id(sasl_broker.internal)}" in said
    assert f"--bootstrap-servers are of cluster {cluster_id(broker.internal)}" in said
    assert "hint: let both name the same cluster" in said


def test_stops_at_the_first_metadata_of_another_clusters_listener_with_sasl(broker: RunningBroker, sasl_broker: RunningBroker) -> None:
    """Before a client has authenticated, a broker doesn't say of which cluster it is."""
    listen = f"127.0.0.1:{free_port()}"
    gateway = started(broker.internal, sasl_broker.client, listen, "--security-protocol", "SASL_PLAINTEXT")
    assert gateway.stdout is not None and "ready" in gateway.stdout.readline()
    sasl = {
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": "PLAIN",
        "sasl_plain_username": "alice",
        "sasl_plain_password": PASSWORD,
    }
    try:
        with contextlib.suppress(kafka.errors.KafkaError), kafka.KafkaConsumer(bootstrap_servers=listen, **sasl) as client:
            client.topics()
    finally:
        said = said_at_its_end(gateway)
    assert f"is a broker of cluster {cluster_id(sasl_broker.internal)}" in said
    assert f"are of cluster {cluster_id(broker.internal)}" in said
