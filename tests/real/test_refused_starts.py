"""Gateways and other processes that refuse to start: wrong secrets and settings (F39), and an upstream of another cluster."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import kafka
import pytest
from conftest import PASSWORD, RunningBroker
from forked import clientscope
from patience import LIMIT_S

from clientscope.kafka.access import KafkaAccess
from clientscope.kafka.admin import describe, new_admin
from clientscope.local.process import free_port

SASL = ("--kafka-security-protocol", "SASL_PLAINTEXT", "--kafka-sasl-mechanism", "PLAIN", "--kafka-sasl-username", "u")
SECRETS = [
    ("gateway", "--digest-key-file", ()),
    ("gateway", "--admin-token-file", ()),
    ("gateway", "--kafka-sasl-password-file", SASL),
    ("stream", "--digest-key-file", ()),
    ("stream", "--kafka-sasl-password-file", SASL),
    ("serve", "--admin-token-file", ()),
    ("serve", "--reader-token-file", ()),
    ("serve", "--kafka-sasl-password-file", SASL),
    ("deliver", "--kafka-sasl-password-file", SASL),
    ("topics", "--kafka-sasl-password-file", SASL),
]
NOWHERE = "127.0.0.1:9"
"""Where no broker is: what is wrong with a secret is said before anything is connected to."""


def refused(folder: Path, command: str, *flags: str) -> str:
    """What a command says that doesn't start."""
    (folder / "receivers.toml").write_text('[[receiver]]\nname = "am"\nkind = "alertmanager"\nurls = ["https://alertmanager.example/"]\n')
    receivers = ("--receivers", str(folder / "receivers.toml")) if command == "deliver" else ()
    ended = clientscope(command, *receivers, *flags)
    assert ended.returncode in (1, 2), ended
    assert "Traceback" not in ended.stderr
    return ended.stderr


@pytest.mark.parametrize(("command", "flag", "more"), SECRETS)
def test_f39_a_secret_that_is_missing_or_open_to_all_ends_the_start(command: str, flag: str, more: tuple[str, ...], tmp_path: Path) -> None:
    path = tmp_path / "secret"
    said = refused(tmp_path, command, "--bootstrap-servers", NOWHERE, flag, str(path), *more)
    assert f"{path}: No such file or directory" in said
    path.write_text("canary-secret-of-forty-characters-or-more\n")
    for mode in (0o604, 0o602, 0o666, 0o644) if flag == "--digest-key-file" else (0o604,):
        path.chmod(mode)
        said = refused(tmp_path, command, "--bootstrap-servers", NOWHERE, flag, str(path), *more)
        assert "every user of this machine may use it" in said
        assert f"hint: chmod 600 {path}" in said
        assert "canary" not in said
        if command == "stream":
            break  # it takes seconds to import Spark


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
