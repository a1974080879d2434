"""aiokafka's and confluent-kafka's clients through the real gateway: each pushes once, under its own software, and works normally."""

from __future__ import annotations

import asyncio
import logging
import time
import uuid
from collections.abc import Callable, Coroutine, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import aiokafka
import aiokafka.abc
import aiokafka.admin
import aiokafka.helpers
import confluent_kafka
import confluent_kafka.admin
import confluent_kafka.serialization
import kafka
import pytest
from certificates import Authority
from conftest import RunningGateway, running_gateway
from kafka.admin import ScramMechanism, UserScramCredentialUpsertion
from observe import eventually, read_all

from clientscope import topics
from clientscope.catalog.configs import Type
from clientscope.client import aiokafka as pushing_aiokafka
from clientscope.client import confluent_kafka as pushing_confluent
from clientscope.client.connection_settings import connection_settings
from clientscope.client.connection_settings.tokens import unsecured
from clientscope.client.push import PushOutcome, push
from clientscope.client.settings import Collected, ConfigEntry
from clientscope.local.broker import BrokerPlan, EmbeddedBroker
from clientscope.local.process import free_port
from clientscope.records.codec import ClientConfigRecord, decode
from clientscope.records.layouts import Origin
from clientscope.records.topics import CONFIGS

TOPIC = "test.other.clients"
PASSWORD = "canary-password-c04d"
AIOKAFKA = ("aiokafka", aiokafka.__version__)
CONFLUENT = ("confluent-kafka-python", f"{confluent_kafka.version()}-rdkafka-{confluent_kafka.libversion()[0]}")


def create_topic(internal: str) -> None:
    with closing(kafka.KafkaAdminClient(bootstrap_servers=internal)) as admin:
        if TOPIC not in admin.list_topics():
            admin.create_topics({TOPIC: {"num_partitions": 1, "replication_factor": 1}}, wait_for_metadata=True)


@pytest.fixture(scope="module")
def topic(broker: Any) -> str:
    create_topic(broker.internal)
    return TOPIC


def config_records(internal: str, **wanted: Any) -> list[Any]:
    records = [decode(ClientConfigRecord, message.value) for message in read_all(internal, CONFIGS)]
    wanted["origin"] = Origin.PUSHED
    return [record for record in records if all(getattr(record, name) == value for name, value in wanted.items())]


def the_push(internal: str, instance_id: uuid.UUID | None) -> Any:
    assert instance_id is not None
    assert eventually(lambda: bool(config_records(internal, client_instance_id=instance_id)))
    (record,) = config_records(internal, client_instance_id=instance_id)
    return record


def settings_of(record: Any) -> dict[str, tuple[str | None, bool]]:
    return {config.config_key: (config.config_value, config.is_default) for config in record.configs}


def software_of(record: Any) -> tuple[str, str]:
    return record.client_software_name, record.client_software_version


async def produced(address: str, **settings: Any) -> uuid.UUID | None:
    async with pushing_aiokafka.AIOKafkaProducer(bootstrap_servers=address, **settings) as producer:
        await producer.send_and_wait(TOPIC, b"a")
        return producer.client_instance_id


async def consumed(address: str, **settings: Any) -> uuid.UUID | None:
    consumer = pushing_aiokafka.AIOKafkaConsumer(TOPIC, bootstrap_servers=address, auto_offset_reset="earliest", **settings)
    async with consumer:
        assert await asyncio.wait_for(consumer.getone(), 30)
        return consumer.client_instance_id


async def administered(address: str, **settings: Any) -> uuid.UUID | None:
    admin = pushing_aiokafka.AIOKafkaAdminClient(bootstrap_servers=address, **settings)
    await admin.start()
    try:
        assert TOPIC in await admin.list_topics()
        return admin.client_instance_id
    finally:
        await admin.close()


Work = Callable[..., Coroutine[Any, Any, uuid.UUID | None]]


@pytest.mark.parametrize(
    ("work", "given", "key", "value"),
    [
        (produced, {"linger_ms": 3}, "linger.ms", "3"),
        (consumed, {"group_id": "other-aiokafka", "fetch_min_bytes": 2}, "fetch.min.bytes", "2"),
        (administered, {"request_timeout_ms": 21_000}, "request.timeout.ms", "21000"),
    ],
)
def test_aiokafka(broker: Any, gateway: Any, topic: str, work: Work, given: dict[str, Any], key: str, value: str) -> None:
    asyncio.run(produced(gateway.address, enable_config_push=False))  # something to consume
    instance_id = asyncio.run(work(gateway.address, client_id="aio-app", **given))
    record = the_push(broker.internal, instance_id)
    assert (software_of(record), record.client_id) == (AIOKAFKA, "aio-app")
    assert settings_of(record)[key] == (value, False)
    assert settings_of(record)["client.id"] == ("aio-app", False)


def test_aiokafkas_own_client_id_is_what_is_pushed(broker: Any, gateway: Any, topic: str) -> None:
    record = the_push(broker.internal, asyncio.run(produced(gateway.address)))
    assert record.client_id.startswith("aiokafka-producer-")
    assert settings_of(record).get("client.id", (record.client_id, True)) == (record.client_id, True)


def confluent(address: str, **settings: Any) -> dict[str, Any]:
    return {"bootstrap.servers": address, "client.id": "rd-app", **{name.replace("_", "."): value for name, value in settings.items()}}


def produce(producer: Any, *more: Any) -> None:
    failed: list[Any] = []
    producer.produce(TOPIC, *more or (b"a",), on_delivery=lambda error, _: failed.append(error) if error else None)
    assert producer.flush(30) == 0
    assert failed == []


def consume(consumer: Any) -> None:
    consumer.subscribe([TOPIC])
    message = consumer.poll(30)
    assert message is not None
    assert message.error() is None
    consumer.close()


def administer(admin: Any) -> None:
    assert admin.describe_cluster().result(30).nodes


CONFLUENT_CLIENTS = {
    "producer": (pushing_confluent.Producer, {"linger_ms": 7}, produce, ("linger.ms", "7")),
    "serializing": (
        pushing_confluent.SerializingProducer,
        {"linger_ms": 8, "value_serializer": confluent_kafka.serialization.StringSerializer()},
        lambda producer: produce(producer, None, "a"),
        ("linger.ms", "8"),
    ),
    "consumer": (
        pushing_confluent.Consumer,
        {"group_id": "other-rd", "auto_offset_reset": "earliest", "fetch_min_bytes": 2},
        consume,
        ("fetch.min.bytes", "2"),
    ),
    "deserializing": (
        pushing_confluent.DeserializingConsumer,
        {"group_id": "other-rd-2", "auto_offset_reset": "earliest", "fetch_min_bytes": 3},
        consume,
        ("fetch.min.bytes", "3"),
    ),
    "admin": (pushing_confluent.AdminClient, {"socket_timeout_ms": 31_000}, administer, ("request.timeout.ms", "31000")),
}


@pytest.mark.parametrize("name", CONFLUENT_CLIENTS)
def test_confluent_kafka(broker: Any, gateway: Any, topic: str, name: str) -> None:
    client_class, given, work, (key, value) = CONFLUENT_CLIENTS[name]
    produce(pushing_confluent.Producer(confluent(gateway.address, enable_config_push=False)))  # something to consume
    client = client_class(confluent(gateway.address, **given))
    work(client)
    record = the_push(broker.internal, client.client_instance_id)
    assert (software_of(record), record.client_id) == (CONFLUENT, "rd-app")
    assert settings_of(record)[key] == (value, False)


def test_confluent_kafka_pushes_once_for_all_that_it_does(broker: Any, gateway: Any, topic: str) -> None:
    producer = pushing_confluent.Producer(confluent(gateway.address))
    producer.list_topics(timeout=30)
    for _ in range(3):
        produce(producer)
    the_push(broker.internal, producer.client_instance_id)


def test_confluent_kafka_by_a_name_that_the_user_gave(broker: Any, gateway: Any, topic: str) -> None:
    conf = {"bootstrap.servers": gateway.address, "client.software.name": "my app!", "client.software.version": "v1"}
    record = the_push(broker.internal, pushing_confluent.push_config(conf, "producer").client_instance_id)
    assert (software_of(record), record.client_id) == (("my-app", "v1"), "rdkafka")


def test_keys_that_the_user_allows(broker: Any, gateway: Any, topic: str, caplog: pytest.LogCaptureFixture) -> None:
    keys = "metadata.max.age.ms, my.secret"
    conf = confluent(gateway.address, metadata_max_age_ms=200_000, config_push_allowed_keys=keys, enable_config_push="true")
    producer = pushing_confluent.Producer(conf, logger=logging.getLogger("test"))
    produce(producer)
    assert settings_of(the_push(broker.internal, producer.client_instance_id)) == {"metadata.max.age.ms": ("200000", False)}
    assert "not pushed, as they are sensitive: 'my.secret'" in caplog.text
    given = {"metadata_max_age_ms": 200_000, "config_push_allowed_keys": ["metadata.max.age.ms"]}
    record = the_push(broker.internal, asyncio.run(produced(gateway.address, **given)))
    assert settings_of(record) == {"metadata.max.age.ms": ("200000", False)}


def test_disabled_pushes_nothing(broker: Any, gateway: Any, topic: str) -> None:
    assert asyncio.run(produced(gateway.address, client_id="silent", enable_config_push=False)) is None
    producer = pushing_confluent.Producer({"bootstrap.servers": gateway.address, "client.id": "silent", "enable.config.push": "false"})
    produce(producer)
    assert producer.client_instance_id is None
    result = pushing_confluent.push_config({"client.id": "silent", "enable.config.push": False}, "producer", gateway.address)
    assert result.outcome is PushOutcome.NOTHING_TO_PUSH
    assert config_records(broker.internal, client_id="silent") == []


def test_push_config_alone(broker: Any, gateway: Any, topic: str) -> None:
    result = pushing_confluent.push_config({"client.id": "alone", "linger.ms": 9}, "producer", gateway.address)
    assert (result.outcome, software_of(the_push(broker.internal, result.client_instance_id))) == (PushOutcome.PUSHED, CONFLUENT)
    result = asyncio.run(pushing_aiokafka.push_config({"client_id": "alone", "linger_ms": 9}, "producer", [gateway.address]))
    assert (result.outcome, software_of(the_push(broker.internal, result.client_instance_id))) == (PushOutcome.PUSHED, AIOKAFKA)


def test_a_broker_that_does_not_advertise_it(broker: Any, topic: str) -> None:
    assert pushing_confluent.push_config(confluent(broker.internal), "producer").outcome is PushOutcome.NOT_ADVERTISED
    producer = pushing_confluent.Producer(confluent(broker.internal))
    produce(producer)
    assert asyncio.run(produced(broker.internal)) is not None


_MODULES = "org.apache.kafka.common.security"


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("certificates"))


@pytest.fixture(scope="module")
def secured(authority: Authority, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[RunningGateway, str]]:
    """A gateway where TLS ends, before a broker that asks for SASL; and the broker's other address."""
    home = tmp_path_factory.mktemp("secured")
    listener = "listener.name.client"
    extra = {
        "listener.security.protocol.map": "CLIENT:SASL_PLAINTEXT,INTERNAL:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,OAUTHBEARER",
        f"{listener}.plain.sasl.jaas.config": f'{_MODULES}.plain.PlainLoginModule required user_alice="{PASSWORD}";',
        f"{listener}.scram-sha-256.sasl.jaas.config": f"{_MODULES}.scram.ScramLoginModule required;",
        f"{listener}.oauthbearer.sasl.jaas.config": f"{_MODULES}.oauthbearer.OAuthBearerLoginModule required;",
    }
    plan = BrokerPlan(free_port(), free_port(), f"127.0.0.1:{free_port()}", home / "broker", extra=extra)
    with EmbeddedBroker(plan):
        topics.create(plan.internal)
        create_topic(plan.internal)
        with closing(kafka.KafkaAdminClient(bootstrap_servers=plan.internal)) as admin:
            admin.alter_user_scram_credentials(
                [UserScramCredentialUpsertion("bob", ScramMechanism.SCRAM_SHA_256, PASSWORD.encode(), iterations=4096)]
            )
        flags = authority.sign("gateway").flags()
        with running_gateway(plan.internal, f"127.0.0.1:{plan.port}", home / "logs", *flags, listen=plan.advertised) as running:
            yield running, plan.internal


class Provider(aiokafka.abc.AbstractTokenProvider):  # type: ignore[misc]
    """A token for billing-svc, by a coroutine."""

    async def token(self) -> str:
        await asyncio.sleep(0)
        return unsecured("billing-svc")()


def oauth(_: str) -> tuple[str, float]:
    return unsecured("billing-svc")(), time.time() + 3600


MECHANISMS = {"PLAIN": "alice", "SCRAM-SHA-256": "bob", "OAUTHBEARER": "billing-svc"}


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_aiokafka_with_the_clients_own_security(secured: tuple[RunningGateway, str], authority: Authority, mechanism: str) -> None:
    gateway, internal = secured
    context = aiokafka.helpers.create_ssl_context(cafile=str(authority.certificate))
    given: dict[str, Any] = {"security_protocol": "SASL_SSL", "ssl_context": context, "sasl_mechanism": mechanism}
    given |= {"sasl_plain_username": MECHANISMS[mechanism], "sasl_plain_password": PASSWORD}

    async def work() -> uuid.UUID | None:
        if mechanism == "OAUTHBEARER":
            given["sasl_oauth_token_provider"] = Provider()
        return await produced(gateway.address, **given)

    record = the_push(internal, asyncio.run(work()))
    assert (record.principal, software_of(record)) == (f"User:{MECHANISMS[mechanism]}", AIOKAFKA)


def rd_secured(gateway: RunningGateway, authority: Authority, mechanism: str, **more: Any) -> dict[str, Any]:
    conf = confluent(gateway.address, security_protocol="SASL_SSL", sasl_mechanism=mechanism, ssl_ca_location=str(authority.certificate))
    given = {"oauth_cb": oauth} if mechanism == "OAUTHBEARER" else {"sasl.username": MECHANISMS[mechanism], "sasl.password": PASSWORD}
    return {**conf, **given, **more}


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_confluent_kafka_with_the_clients_own_security(secured: tuple[RunningGateway, str], authority: Authority, mechanism: str) -> None:
    gateway, internal = secured
    producer = pushing_confluent.Producer(rd_secured(gateway, authority, mechanism))
    produce(producer)
    record = the_push(internal, producer.client_instance_id)
    assert (record.principal, software_of(record)) == (f"User:{MECHANISMS[mechanism]}", CONFLUENT)


JAAS = {
    "PLAIN": f'{_MODULES}.plain.PlainLoginModule required username="alice" password="{PASSWORD}";',
    "SCRAM-SHA-256": f"{_MODULES}.scram.ScramLoginModule required username='bob' password='{PASSWORD}';",
    "OAUTHBEARER": f'{_MODULES}.oauthbearer.OAuthBearerLoginModule required unsecuredLoginStringClaim_sub="billing-svc";',
}


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_push_by_javas_settings(secured: tuple[RunningGateway, str], authority: Authority, mechanism: str) -> None:
    gateway, internal = secured
    settings = {
        "bootstrap.servers": f"SASL_SSL://{gateway.address}", "client.id": "java-app", "security.protocol": "SASL_SSL",
        "ssl.truststore.type": "PEM", "ssl.truststore.certificates": " ".join(authority.certificate.read_text().split("\n")),
        "sasl.mechanism": mechanism, "sasl.jaas.config": JAAS[mechanism],
    }  # fmt: skip
    collected = Collected((ConfigEntry("acks", "all", Type.STRING, True),), ())
    result = push(collected, connection_settings("java", settings), "apache-kafka-java", "4.4.0")
    assert result.outcome is PushOutcome.PUSHED
    record = the_push(internal, result.client_instance_id)
    assert (record.principal, record.client_id) == (f"User:{MECHANISMS[mechanism]}", "java-app")
    assert software_of(record) == ("apache-kafka-java", "4.4.0")


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256"])
def test_wrong_credentials_fail_before_the_account_is_locked(
    secured: tuple[RunningGateway, str], authority: Authority, mechanism: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    caplog.set_level(logging.DEBUG, "kafka")
    wrong = {"sasl.password": f"{PASSWORD}-not"}
    result = pushing_confluent.push_config(rd_secured(secured[0], authority, mechanism, **wrong), "producer", timeout_s=240)
    assert result.outcome is PushOutcome.FAILED
    assert "SaslAuthenticationFailedError" in result.detail or "wrong credentials" in result.detail
    assert PASSWORD not in caplog.text + repr(result)


@pytest.mark.filterwarnings("ignore:unclosed <:ResourceWarning")  # kafka-python's, of a connection whose TLS failed
def test_a_gateway_that_is_not_trusted_fails_at_once(secured: tuple[RunningGateway, str], authority: Authority, tmp_path: Path) -> None:
    other = Authority(tmp_path / "other")
    conf = rd_secured(secured[0], other, "PLAIN")
    result = pushing_confluent.push_config(conf, "producer", timeout_s=240)
    assert result.outcome is PushOutcome.FAILED
    assert "CERTIFICATE_VERIFY_FAILED" in result.detail


def test_no_password_is_on_a_topic_or_in_a_log(secured: tuple[RunningGateway, str], tmp_path_factory: pytest.TempPathFactory) -> None:
    seen = b"".join(message.value for message in read_all(secured[1], CONFIGS))
    seen += b"".join(path.read_bytes() for path in tmp_path_factory.getbasetemp().glob("secured*/logs/*"))
    assert b"User:alice" in seen
    assert PASSWORD.encode() not in seen
