"""clientscope push through the real gateway: the settings of a file are those in the record on clientscope.configs."""

from __future__ import annotations

import re
import subprocess
import uuid
from pathlib import Path
from typing import Any

from conftest import running_gateway
from forked import clientscope
from observe import configurations
from patience import until

from clientscope.catalog.configs import DEFAULT_KEYS, ClientType

PUSHED = re.compile(r"pushed (\d+) settings? of (\S+) \((.+), client instance ([0-9a-f-]{36})\)(.*)\n")


def run(path: Path, *flags: str) -> subprocess.CompletedProcess[str]:
    return clientscope("push", "--properties", str(path), *flags)


def pushed(ended: subprocess.CompletedProcess[str]) -> re.Match[str]:
    """The one line that a push says."""
    assert (ended.returncode, ended.stderr) == (0, "")
    match = PUSHED.fullmatch(ended.stdout)
    assert match is not None, ended.stdout
    return match


def test_kafka_streams_from_java_properties(broker: Any, gateway: Any, tmp_path: Path) -> None:
    path = tmp_path / "streams.properties"
    path.write_text(
        f"bootstrap.servers={gateway.address}\napplication.id=orders-enricher\nclient.id=enricher-1\n"
        "num.stream.threads=4\nprocessing.guarantee=exactly_once_v2\nproducer.linger.ms=50\nstate.dir=/var/lib/streams\n"
        "sasl.jaas.config=hunter2\nconsumer.sasl.jaas.config=hunter2\n"
    )
    said = pushed(run(path, "--software-version", "4.3.0"))
    assert said[3] == "streams, apache-kafka-java 4.3.0"
    (record,) = until(lambda: configurations(broker.internal, client_instance_id=uuid.UUID(said[4])))
    assert (record.client_id, record.client_software_name, record.client_software_version) == ("enricher-1", "apache-kafka-java", "4.3.0")
    found = {config.key: (config.value, config.type, config.default) for config in record.listed()}
    assert list(found) == list(DEFAULT_KEYS[ClientType.STREAMS])
    assert found["application.id"] == ("orders-enricher", "string", False)
    assert found["num.stream.threads"] == ("4", "int", False)
    assert found["processing.guarantee"] == ("exactly_once_v2", "string", False)
    assert found["commit.interval.ms"] == ("100", "long", True)
    assert found["num.standby.replicas"] == ("0", "int", True)
    assert len(found) == int(said[1])


def test_a_broker_without_a_gateway(broker: Any, tmp_path: Path) -> None:
    path = tmp_path / "client.properties"
    path.write_text(f"bootstrap.servers={broker.internal}\n")
    ended = run(path)
    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr.startswith("error: no broker here supports PushConfig: ")
    assert "\nhint: the bootstrap servers must lead to a gateway" in ended.stderr


def test_a_push_that_the_gateway_refuses(broker: Any, tmp_path: Path) -> None:
    path = tmp_path / "client.properties"
    path.write_text("client.id=refused\n")
    with running_gateway(broker.internal, broker.client, tmp_path, "--client-config-max-bytes", "20", listen="") as small:
        ended = run(path, "--bootstrap-servers", small.address)
    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr.startswith("error: the push was refused: ")
    assert "CONFIG_TOO_LARGE" in ended.stderr
