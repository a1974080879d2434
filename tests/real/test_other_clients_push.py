"""`clientscope.client.push` through the real gateway: for clients of other libraries, under their software, as they are let in."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import aiokafka
import confluent_kafka
import pytest
from certificates import Authority
from conftest import PASSWORD, RunningBroker, RunningGateway
from kafka.net.sasl.oauth import AbstractTokenProvider
from observe import configurations, connection_records, read_all
from patience import LIMIT_S, until
from test_sasl import unsecured_token

from clientscope.client import push
from clientscope.errors import EnvironmentProblem
from clientscope.model.enums import Kind, Origin
from clientscope.model.topics import CONFIGS

CONFLUENT = ("confluent-kafka-python", f"{confluent_kafka.version()}-rdkafka-{confluent_kafka.libversion()[0]}")


def the_push(internal: str, instance_id: uuid.UUID | None) -> Any:
    """Its one record, as it was pushed."""
    assert instance_id is not None
    (record,) = until(lambda: configurations(internal, instance_id=instance_id, origin=Origin.PUSHED))
    return record


def has(record: Any, software: tuple[str, str], key: str, value: str) -> bool:
    """Whether a push is of this software, and sets this."""
    who = record.software_name, record.software_version
    return who == software and (key, value, "set") in [(each.key, each.value, each.origin) for each in record.listed()]


def is_of_its_connections(internal: str, record: Any) -> bool:
    """Whether a push of another connection and the client's own have their names in common."""
    names = {name: getattr(record, name) for name in ("cluster", "principal", "address", "client_id")}
    return any(each.kind != Kind.CLOSED for each in connection_records(internal, **names))


def test_confluent_kafka(broker: Any, gateway: Any) -> None:
    conf = {"bootstrap.servers": gateway.address, "client.id": "rd-app", "queue.buffering.max.ms": 7, "sasl.password": PASSWORD}
    future = push(conf, dialect="librdkafka", bootstrap_servers=gateway.address, software=CONFLUENT)
    producer = confluent_kafka.Producer({**conf, "sasl.password": ""})
    assert producer.list_topics(timeout=LIMIT_S).brokers
    record = the_push(broker.internal, future.result(LIMIT_S))
    assert has(record, CONFLUENT, "linger.ms", "7")
    until(lambda: is_of_its_connections(broker.internal, record))


def test_aiokafka(broker: Any, gateway: Any) -> None:
    settings = {"client_id": "aio-app", "group_id": "other-aiokafka", "fetch_min_bytes": 2}
    software = ("aiokafka", aiokafka.__version__)

    async def work() -> uuid.UUID | None:
        future = push(settings, dialect="aiokafka", bootstrap_servers=gateway.address, software=software)
        async with aiokafka.AIOKafkaConsumer(bootstrap_servers=gateway.address, **settings):
            return await asyncio.wrap_future(future)

    record = the_push(broker.internal, asyncio.run(work()))
    assert has(record, software, "fetch.min.bytes", "2")
    until(lambda: is_of_its_connections(broker.internal, record))


@pytest.fixture(scope="module")
def secured(authority: Authority, sasl_broker: RunningBroker, folder: Path) -> Iterator[tuple[RunningGateway, str]]:
    """A gateway where TLS ends, before a broker that asks for SASL; and the broker's other address."""
    flags = authority.sign("gateway").flags()
    with sasl_broker.gateway(folder / "logs", *flags) as running:
        yield running, sasl_broker.internal


class Provider(AbstractTokenProvider):  # type: ignore[misc]
    def token(self) -> str:
        return unsecured_token("billing-svc")


USERS = {"PLAIN": "alice", "SCRAM-SHA-256": "bob", "OAUTHBEARER": "billing-svc"}


def as_user(authority: Authority, mechanism: str, **more: Any) -> dict[str, Any]:
    """kafka-python's arguments."""
    arguments: dict[str, Any] = {"security_protocol": "SASL_SSL", "ssl_cafile": str(authority.certificate), "sasl_mechanism": mechanism}
    if mechanism == "OAUTHBEARER":
        return {**arguments, "sasl_oauth_token_provider": Provider(), **more}
    return {**arguments, "sasl_plain_username": USERS[mechanism], "sasl_plain_password": PASSWORD, **more}


@pytest.mark.parametrize("mechanism", USERS)
def test_as_the_client_is_let_in(secured: tuple[RunningGateway, str], authority: Authority, mechanism: str) -> None:
    gateway, internal = secured
    settings = {"client.id": "java-app", "sasl.jaas.config": PASSWORD, "linger.ms": 9}
    software = ("apache-kafka-java", "4.4.0")
    future = push(settings, dialect="java", bootstrap_servers=gateway.address, software=software, **as_user(authority, mechanism))
    record = the_push(internal, future.result(LIMIT_S))
    assert (record.principal, record.client_id) == (f"User:{USERS[mechanism]}", "java-app")
    assert has(record, software, "linger.ms", "9")


@pytest.mark.filterwarnings("ignore:unclosed <:ResourceWarning")  # kafka-python's, of a connection whose TLS failed
def test_a_gateway_that_is_not_trusted_fails_at_once(secured: tuple[RunningGateway, str], tmp_path: Path) -> None:
    arguments = as_user(Authority(tmp_path / "other"), "PLAIN")
    with pytest.raises(EnvironmentProblem, match="CERTIFICATE_VERIFY_FAILED"):
        push({"acks": 1}, dialect="java", bootstrap_servers=secured[0].address, default_api_timeout_ms=240_000, **arguments).result(LIMIT_S)


def test_no_password_is_on_a_topic_or_in_a_log(secured: tuple[RunningGateway, str], folder: Path) -> None:
    seen = b"".join(message.value for message in read_all(secured[1], CONFIGS))
    seen += b"".join(path.read_bytes() for path in folder.glob("logs/*"))
    assert b"User:alice" in seen
    assert PASSWORD.encode() not in seen
