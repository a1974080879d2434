"""Pushes through the real gateway: what ``clientscope push`` says and records, and each push counted by its answer (KIP-1324, Metrics)."""

from __future__ import annotations

import os
import re
import select
import signal
import uuid
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from conftest import RunningBroker
from forked import clientscope
from observe import configurations, counts
from patience import until

from clientscope.catalog.configs import DEFAULT_KEYS, ClientType
from clientscope.client.raw import RawClient
from clientscope.wire.codes import THROTTLING_QUOTA_EXCEEDED
from clientscope.wire.messages import PushConfigRequest, PushConfigResponse

PUSHED = re.compile(r"pushed (\d+) settings? of .+ \(streams, apache-kafka-java 4\.3\.0, client instance ([0-9a-f-]{36})\).*\n")


def test_kafka_streams_from_java_properties(broker: Any, gateway: Any, tmp_path: Path) -> None:
    path = tmp_path / "streams.properties"
    path.write_text(
        f"bootstrap.servers={gateway.address}\napplication.id=orders-enricher\nclient.id=enricher-1\n"
        "num.stream.threads=4\nprocessing.guarantee=exactly_once_v2\nproducer.linger.ms=50\nstate.dir=/var/lib/streams\n"
        "sasl.jaas.config=hunter2\nconsumer.sasl.jaas.config=hunter2\n"
    )
    ended = clientscope("push", "--properties", str(path), "--software-version", "4.3.0")
    assert (ended.returncode, ended.stderr) == (0, "")
    said = PUSHED.fullmatch(ended.stdout)
    assert said is not None, ended.stdout
    (record,) = until(lambda: configurations(broker.internal, instance_id=uuid.UUID(said[2])))
    assert (record.client_id, record.software_name, record.software_version) == ("enricher-1", "apache-kafka-java", "4.3.0")
    found = {config.key: (config.value, config.type, config.origin) for config in record.listed()}
    assert list(found) == list(DEFAULT_KEYS[ClientType.STREAMS])
    assert found["application.id"] == ("orders-enricher", "string", "set")
    assert found["num.stream.threads"] == ("4", "int", "set")
    assert found["processing.guarantee"] == ("exactly_once_v2", "string", "set")
    assert found["commit.interval.ms"] == ("100", "long", "default")
    assert found["num.standby.replicas"] == ("0", "int", "default")
    assert len(found) == int(said[1])


def test_a_broker_without_a_gateway(broker: Any, tmp_path: Path) -> None:
    path = tmp_path / "client.properties"
    path.write_text(f"bootstrap.servers={broker.internal}\n")
    ended = clientscope("push", "--properties", str(path))
    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr.startswith("error: no broker here supports PushConfig: ")
    assert "\nhint: the bootstrap servers must lead to a gateway" in ended.stderr


LARGE = 150_000


def error_of(connected: RawClient) -> int:
    """Of the next answer."""
    return int(PushConfigResponse.decode(connected.receive_frame(), version=0, header=True).error_code)


def test_a_push_that_the_gateway_is_too_busy_for_is_counted_too(broker: RunningBroker, tmp_path: Path) -> None:
    """The main process stands still, and takes none of what its worker reports: 16 MiB wait, and the next push is sent away."""
    flags = (
        "--workers", "1", "--client-config-max-bytes", str(LARGE + 1_000), "--push-burst-per-address", "1000",
        "--policy-deadline-ms", "20000",
    )  # fmt: skip
    setting = PushConfigRequest.Config(version=0, config_key="client.rack", config_value="x" * LARGE, config_type=1, is_default=False)
    large = PushConfigRequest(version=0, configs=[setting])
    with broker.gateway(tmp_path, *flags) as gateway, ExitStack() as stack:
        clients = [stack.enter_context(gateway.named(f"busy-{number}", instance=uuid.uuid4())) for number in range(150)]
        os.kill(gateway.pid, signal.SIGSTOP)
        try:
            for each in clients:
                each.send(large)
            until(lambda: select.select([each.socket for each in clients], [], [], 0)[0], why="none is sent away")
        finally:
            os.kill(gateway.pid, signal.SIGCONT)
        codes = Counter(map(error_of, clients))
        assert codes[THROTTLING_QUOTA_EXCEEDED] >= 1
        until(lambda: sum(counts(gateway, "pushes_answered").values()), len(clients))
        assert counts(gateway, "pushes_answered")["throttling_quota_exceeded"] == codes[THROTTLING_QUOTA_EXCEEDED]
        assert counts(gateway, "pushes_refused")["busy"] >= 1
