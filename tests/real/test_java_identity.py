"""Identity of Java's clients with authentication and a broker that collects telemetry: real clients, a real broker, a real reporter.

With SASL Java asks for ApiVersions twice: v0 from its authenticator, then the full request (KIP-511). Where a broker has a telemetry
reporter (KIP-714), its answer to GetTelemetrySubscriptions gives the client an instance id, and with `--client-telemetry` the gateway
copies what the client pushes.
"""

from __future__ import annotations

import base64
import json
import uuid
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from clients.java import JavaClient, Jvm, py4j_jar
from conftest import RunningGateway, running_gateway, sasl
from every import every
from frame_bytes import head
from kafka.protocol.admin import IncrementalAlterConfigsRequest, IncrementalAlterConfigsResponse
from observe import OwnMetrics, connection_records, counts, make_topic, own_metrics
from patience import eventually, until

import clientscope.local.broker
from clientscope import topics
from clientscope.client.raw import RawClient
from clientscope.demo.watch import jmx_connections
from clientscope.local.broker import BrokerPlan, EmbeddedBroker
from clientscope.local.jars import jars
from clientscope.local.process import free_port
from clientscope.model.enums import PrincipalSource
from clientscope.session.telemetry import Subscription
from clientscope.wire.cursor import Cursor

pytestmark = pytest.mark.matrix

TOPIC = "test.java.identity"
PASSWORD = "canary-password-2b9e"
LOGIN = "org.apache.kafka.common.security.plain.PlainLoginModule required"
SOURCE = Path(__file__).with_name("telemetry") / "CountingTelemetry.java"


def compiled(source: Path, folder: Path) -> Path:
    """A folder with its class, which Spark's Janino compiles: no JDK is needed."""
    folder.mkdir()
    spark = Path(py4j_jar()).parent
    janino = [str(path) for name in ("janino", "commons-compiler") for path in spark.glob(f"{name}-*.jar")]
    kafkas = [str(path) for path in jars("broker")]
    with closing(Jvm([*janino, *kafkas])) as machine:
        file = machine.gateway.jvm.java.io.File
        compiler = machine.gateway.jvm.org.codehaus.janino.Compiler()
        compiler.setDestinationDirectory(file(str(folder)), False)
        sources = machine.gateway.new_array(file, 1)
        sources[0] = file(str(source))
        paths = machine.gateway.new_array(file, len(kafkas))
        for index, path in enumerate(kafkas):
            paths[index] = file(path)
        compiler.setClassPath(paths)
        compiler.compile(sources)
    return folder


@pytest.fixture(scope="module")
def plan(folder: Path) -> Iterator[BrokerPlan]:
    """A broker with SASL for its clients, and a telemetry reporter."""
    classes = compiled(SOURCE, folder / "classes")
    extra = {
        **sasl("PLAIN", PASSWORD, "alice"),
        "metric.reporters": f"org.apache.kafka.common.metrics.JmxReporter,{SOURCE.stem}",
    }
    plan = BrokerPlan(free_port(), free_port(), f"127.0.0.1:{free_port()}", folder / "broker", free_port(), extra=extra)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(clientscope.local.broker, "jars", lambda *given: [*jars(*given), classes])
        with EmbeddedBroker(plan):
            topics.create(plan.internal)
            make_topic(plan.internal, TOPIC)
            yield plan


@pytest.fixture(scope="module")
def requests(folder: Path) -> Path:
    return folder / "requests.log"


@pytest.fixture(scope="module")
def gateway(plan: BrokerPlan, requests: Path) -> Iterator[RunningGateway]:
    flags = ("--request-log", str(requests), "--request-log-client-id", "matrix-*", "--client-telemetry")
    with running_gateway(plan.internal, f"127.0.0.1:{plan.port}", requests.parent / "logs", *flags, listen=plan.advertised) as running:
        yield running


class Authenticating(JavaClient):
    """One that authenticates."""

    def _common(self, **settings: str) -> dict[str, str]:
        login = f'{LOGIN} username="alice" password="{PASSWORD}";'
        secured = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN", "sasl.jaas.config": login}
        return {**super()._common(**settings), **secured}

    def telemetry_id(self, producer: Any) -> uuid.UUID:
        """What the broker called it."""
        text = producer.clientInstanceId(self.jvm.gateway.jvm.java.time.Duration.ofSeconds(20)).toString()
        return uuid.UUID(bytes=base64.urlsafe_b64decode(f"{text}=="))


def api_versions_by_connection(requests: Path, client_id: str) -> list[list[int]]:
    found: dict[str, list[int]] = {}
    for line in map(json.loads, requests.read_text().splitlines()):
        header = line["requestHeader"]
        if header["clientId"] == client_id and header["requestApiKeyName"] == "API_VERSIONS":
            found.setdefault(line["connection"], []).append(header["requestApiVersion"])
    return list(found.values())


@pytest.mark.timeout(180)
@pytest.mark.parametrize("configuration", ["client-2.8", "client-3.9", "client-4.4"])
def test_a_java_client_over_sasl_is_who_its_second_api_versions_says(
    plan: BrokerPlan, gateway: RunningGateway, requests: Path, configuration: str
) -> None:
    seen: list[Any] = []

    def agree() -> bool:
        seen.append((gateway.connections, jmx_connections(plan.jmx_port)))
        return seen[-1][0] == seen[-1][1] != {}

    with Authenticating(gateway.address, configuration) as client:
        with client.producing(TOPIC):
            assert eventually(agree), seen[-1]
        assert list(seen[-1][0]) == [client.identity]
        client_id = client.client_id
        identity = client.identity
    asked = api_versions_by_connection(requests, client_id)
    assert asked
    assert all(versions[0] == 0 and len(versions) >= 2 and versions[-1] >= 3 for versions in every(asked)), asked
    until(lambda: connection_records(plan.internal, client_id=client_id))
    last = {record.connection: record for record in connection_records(plan.internal, client_id=client_id)}.values()
    assert {(record.software_name, record.software_version) for record in last} == {identity}
    assert {(record.principal, record.principal_source) for record in last} == {("User:alice", PrincipalSource.PLAIN)}


@pytest.mark.timeout(180)
@pytest.mark.parametrize("configuration", ["client-3.9", "client-4.4"])
def test_kip_714_the_id_that_a_broker_with_telemetry_gives_is_the_connections(
    plan: BrokerPlan, gateway: RunningGateway, configuration: str
) -> None:
    with Authenticating(gateway.address, configuration) as client:
        client.name = f"java-telemetry-{configuration}"
        with client.producing(TOPIC) as producer:
            expected = client.telemetry_id(producer)
        client_id = client.client_id

    def ids() -> set[str | None]:
        return {record.instance_id for record in connection_records(plan.internal, client_id=client_id)} - {None}

    assert expected.int
    assert eventually(lambda: ids() == {str(expected)}), (ids(), expected)


INTERVAL_MS = 1_000


def subscribe(plan: BrokerPlan) -> None:
    """The broker asks all clients for all metrics, once a second (the resource of `kafka-client-metrics.sh`)."""
    resource = IncrementalAlterConfigsRequest.AlterConfigsResource
    with RawClient.connect(plan.internal, "admin") as client:
        configs = [
            resource.AlterableConfig(version=1, name=name, config_operation=0, value=value)
            for name, value in (("metrics", "*"), ("interval.ms", str(INTERVAL_MS)))
        ]
        asked = resource(version=1, resource_type=16, resource_name="all", configs=configs)
        request = IncrementalAlterConfigsRequest(version=1, resources=[asked], validate_only=False)
        answer = client.request(request, IncrementalAlterConfigsResponse)
        assert [each.error_code for each in answer.responses] == [0]


def brokers_subscription(plan: BrokerPlan, instance_id: uuid.UUID) -> tuple[int, int]:
    """The broker's own subscription id for an instance, and its interval."""
    with RawClient.connect(plan.internal, "oracle") as client:
        client.api_versions("apache-kafka-java", "4.4.0")
        client.send_frame(head(71, 0, 7, b"oracle") + b"\0" + instance_id.bytes + b"\0")
        cursor = Cursor(client.receive_frame(), 4 + 1 + 4)
        assert (cursor.int16(), cursor.uuid()) == (0, instance_id)
        subscription_id = cursor.int32()
        cursor.take(cursor.compact_count())
        return subscription_id, cursor.int32()


@pytest.mark.timeout(180)
def test_kip_714_what_the_broker_accepts_is_copied_and_ids_are_computed_as_it_does(plan: BrokerPlan, gateway: RunningGateway) -> None:
    """The broker asks, the client pushes to it, in zstd; the gateway records a copy. The broker is the oracle for subscription ids."""
    subscribe(plan)
    until(lambda: brokers_subscription(plan, uuid.uuid4())[1], INTERVAL_MS)
    for _ in range(20):
        instance_id = uuid.uuid4()
        assert Subscription(("*",), INTERVAL_MS).id_of(instance_id) == brokers_subscription(plan, instance_id)[0]
    with Authenticating(gateway.address, "client-4.4") as client:
        client.name = "java-copied"
        client_id = client.client_id

        def copies() -> list[OwnMetrics]:
            return [record for record in own_metrics(plan.internal) if record.client["client_id"] == client_id]

        with client.producing(TOPIC) as producer:
            instance_id = client.telemetry_id(producer)
            until(copies)
    for record in copies():
        said = record.client
        assert (said["copied"], said["client_instance_id"], said["principal"]) == (True, str(instance_id), "User:alice")
        assert "org.apache.kafka.producer.connection.creation.total" in record.names
    assert counts(gateway, "telemetry_answered") == {}, "the broker answered"
    assert counts(gateway, "telemetry_dropped") == {}
