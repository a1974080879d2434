"""Clients' own telemetry through a gateway that asks for it (KIP-714): real clients work as without, and what they push is recorded.

Some releases do not survive being asked (librdkafka 2.5.0 aborts its application), and must not be asked.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from clients.every import CLIENTS
from clients.script import work
from conftest import RunningBroker, RunningGateway, running_gateway, start_broker
from observe import metrics, read_all

from clientscope.records.codec import ClientTelemetryRecord, decode
from clientscope.records.telemetry import unpack
from clientscope.records.topics import TELEMETRY
from clientscope.session.telemetry import survives
from clientscope.wire.telemetry import GZIP

ASKING = ("--client-telemetry", "--client-telemetry-interval-ms", "1000")


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningBroker]:
    """One that leads its clients to the gateway below, and takes no telemetry itself."""
    started, running = start_broker(tmp_path_factory.mktemp("telemetry-broker"))
    yield running
    started.stop()


@pytest.fixture(scope="module")
def gateway(broker: RunningBroker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningGateway]:
    """A gateway that asks for telemetry each second."""
    with running_gateway(
        broker.internal, broker.client, tmp_path_factory.mktemp("telemetry"), *ASKING, listen=broker.advertised
    ) as running:
        yield running


def telemetry(broker: RunningBroker, client_id: str) -> list[ClientTelemetryRecord]:
    records = [decode(ClientTelemetryRecord, message.value) for message in read_all(broker.internal, TELEMETRY)]
    return [record for record in records if record.client_id == client_id]


def names(record: ClientTelemetryRecord) -> set[str]:
    from opentelemetry.proto.metrics.v1.metrics_pb2 import MetricsData

    data = MetricsData.FromString(unpack(GZIP, record.metrics))
    return {metric.name for of in data.resource_metrics for scope in of.scope_metrics for metric in scope.metrics}


def answers(url: str) -> dict[str, float]:
    """The gateway's answers to telemetry, by error."""
    counts = metrics(url)
    print({k: v for k, v in counts.items() if "telemetry" in k[0]})
    return {key[1]: count for key, count in counts.items() if key[0] == "clientscope_gateway_telemetry_answered_total"}


@pytest.mark.timeout(600)  # the first run on a machine downloads and compiles clients
@pytest.mark.parametrize("name", CLIENTS)
def test_a_client_does_the_same_work_whether_it_is_asked_or_not(broker: Any, gateway: Any, name: str) -> None:
    with CLIENTS[name](broker.internal) as client:
        direct = work(client, "direct")
        client.address = gateway.address
        through = work(client, "through")
        identity, client_id = client.identity, client.client_id
    assert through == direct
    asked = survives(*identity)
    answers(gateway.metrics_url)
    found = telemetry(broker, client_id)
    assert bool(found) == asked
    for record in found:
        print(record.client_software_name, record.terminating, len(record.metrics), len(unpack(GZIP, record.metrics)), len(names(record)))
        assert names(record)
        assert (record.client_software_name, record.client_software_version) == identity
