"""Gateways and other processes that refuse to start: wrong secrets and settings (F39), and an upstream of another cluster."""

from __future__ import annotations

from contextlib import closing, suppress
from pathlib import Path

import kafka
import pytest
from conftest import PASSWORD, RunningBroker, RunningGateway, running_processes
from forked import refused
from golden import cases
from patience import until

from clientscope.errors import EnvironmentProblem
from clientscope.kafka.access import KafkaAccess
from clientscope.kafka.admin import describe, new_admin
from clientscope.local.process import free_port

SASL = ("--kafka-security-protocol", "SASL_PLAINTEXT", "--kafka-sasl-mechanism", "PLAIN", "--kafka-sasl-username", "u")
NOWHERE = "127.0.0.1:9"
"""Where no broker is: what is wrong with a secret is said before anything is connected to."""


@pytest.mark.parametrize(("command", "flag"), cases(__file__, "secrets.txt"))
def test_f39_a_secret_that_is_missing_or_open_to_all_ends_the_start(command: str, flag: str, tmp_path: Path) -> None:
    path, receivers = tmp_path / "secret", tmp_path / "receivers.toml"
    receivers.write_text('[[receiver]]\nname = "am"\nkind = "alertmanager"\nurls = ["https://alertmanager.example/"]\n')
    words = [command, "--bootstrap-servers", NOWHERE, flag, str(path), *(SASL if "sasl" in flag else ())]
    words += ["--receivers", str(receivers)] if command == "deliver" else []
    said = refused(*words)
    assert f"{path}: No such file or directory" in said
    path.write_text("canary-secret-of-forty-characters-or-more\n")
    for mode in (0o604, 0o602, 0o666, 0o644) if flag == "--digest-key-file" else (0o604,):
        path.chmod(mode)
        said = refused(*words)
        assert "every user of this machine may use it" in said
        assert f"hint: chmod 600 {path}" in said
        assert "canary" not in said
        if command == "stream":
            break  # it takes seconds to import Spark


def cluster_id(servers: str) -> str:
    with closing(new_admin(KafkaAccess(servers).client_arguments())) as admin:
        return describe(admin).cluster_id


def test_refuses_to_start_in_front_of_another_cluster(broker: RunningBroker, sasl_broker: RunningBroker) -> None:
    said = refused(*RunningGateway(f"127.0.0.1:{free_port()}").arguments(broker.internal, sasl_broker.internal))
    assert f"--upstream {sasl_broker.internal} is a broker of cluster {cluster_id(sasl_broker.internal)}" in said
    assert f"--bootstrap-servers are of cluster {cluster_id(broker.internal)}" in said
    assert "hint: let both name the same cluster" in said


def test_stops_at_the_first_metadata_of_another_clusters_listener_with_sasl(
    broker: RunningBroker, sasl_broker: RunningBroker, tmp_path: Path
) -> None:
    """Before a client has authenticated, a broker doesn't say of which cluster it is."""
    gateway = RunningGateway(f"127.0.0.1:{free_port()}")
    sasl = {
        "security_protocol": "SASL_PLAINTEXT", "sasl_mechanism": "PLAIN", "sasl_plain_username": "alice", "sasl_plain_password": PASSWORD,
    }  # fmt: skip
    with running_processes(tmp_path) as processes:
        processes.start("gateway", *gateway.arguments(broker.internal, sasl_broker.client, "--security-protocol", "SASL_PLAINTEXT"))
        processes.await_ready("gateway")
        with suppress(kafka.errors.KafkaError), kafka.KafkaConsumer(bootstrap_servers=gateway.address, **sasl) as client:
            client.topics()
        with pytest.raises(EnvironmentProblem, match="gateway ended with status 2") as caught:
            until(lambda: processes.check("gateway"))
    said = str(caught.value)
    assert f"is a broker of cluster {cluster_id(sasl_broker.internal)}" in said
    assert f"are of cluster {cluster_id(broker.internal)}" in said
