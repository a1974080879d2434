"""Names, spellings and defaults of each dialect, compared with the libraries if they are installed; conversion of a user's settings."""

from __future__ import annotations

import inspect
from typing import Any, get_args

import aiokafka
import kafka
import pytest
from aiokafka.admin import AIOKafkaAdminClient

from clientscope.catalog import sensitive
from clientscope.catalog.configs import DEFAULT_KEYS, TYPES, ClientType, Type
from clientscope.catalog.dialects import DIALECTS, dialect
from clientscope.catalog.dialects.dialect import Dialect
from clientscope.client.settings import ConfigEntry, collect, collect_dialect
from clientscope.commands.push import PushSettings
from clientscope.errors import ClientscopeError
from clientscope.records.layouts import ValueState

PRODUCER, CONSUMER, ADMIN = ClientType.PRODUCER, ClientType.CONSUMER, ClientType.ADMIN
STREAMS, SHARE_CONSUMER = ClientType.STREAMS, ClientType.SHARE_CONSUMER
KAFKA_PYTHON = {
    PRODUCER: kafka.KafkaProducer,
    CONSUMER: kafka.KafkaConsumer,
    ADMIN: kafka.KafkaAdminClient,
}
AIOKAFKA = {
    PRODUCER: aiokafka.AIOKafkaProducer,
    CONSUMER: aiokafka.AIOKafkaConsumer,
    ADMIN: AIOKafkaAdminClient,
}
CLASS_LISTS = ("metric.reporters", "partition.assignment.strategy")
"""Names of classes are known as defaults, and never pushed."""
STRATEGY = {CONSUMER: "aiokafka.coordinator.assignors.roundrobin.RoundRobinPartitionAssignor"}
LARGEST_INT = str(2**31 - 1)


def effective(name: str, client_type: ClientType, settings: dict[str, Any], *keys: str, version: str = "") -> list[tuple[str, bool]]:
    """Value and IsDefault of these keys."""
    found = {entry.key: entry for entry in collect_dialect(name, client_type, settings, keys, version).entries}
    return [(found[key].value, found[key].is_default) for key in keys]


def pushable(entries: tuple[ConfigEntry, ...]) -> dict[str, str]:
    return {entry.key: entry.value for entry in entries if entry.value}


@pytest.mark.parametrize("client_type", KAFKA_PYTHON)
def test_kafka_python_defaults_are_the_librarys(client_type: ClientType) -> None:
    installed = collect(client_type, KAFKA_PYTHON[client_type].DEFAULT_CONFIG, (), TYPES)
    assert collect_dialect("kafka-python", client_type, {}, TYPES, kafka.__version__).entries == tuple(
        entry for entry in installed.entries if entry.value
    )


@pytest.mark.parametrize("client_type", AIOKAFKA)
def test_aiokafka_defaults_are_the_librarys(client_type: ClientType) -> None:
    parameters = inspect.signature(AIOKAFKA[client_type].__init__).parameters.values()
    settings = {each.name: each.default for each in parameters if each.default is not each.empty}
    settings.pop("acks", None)  # there it is an object that stands for "not given"
    installed = pushable(collect_dialect("aiokafka", client_type, settings, TYPES).entries)
    ours = dialect("aiokafka").defaults_of(client_type, aiokafka.__version__)
    assert ours.pop("partition.assignment.strategy", None) == STRATEGY.get(client_type)
    assert ours == installed
    names = {dialect("aiokafka").kafka_name(each.name, client_type) for each in parameters}
    assert ours.keys() <= names, "and none that the library hasn't"
    assert ours.get("acks") == ("1" if client_type is PRODUCER else None)


@pytest.mark.parametrize("each", DIALECTS, ids=lambda each: each.name)
def test_every_default_is_a_setting_of_kafkas_that_may_be_pushed(each: Dialect) -> None:
    for client_type in each.defaults:
        for version in ("", "2.0.0", "1.0.0"):
            for key, value in each.defaults_of(client_type, version).items():
                redacted = ValueState.TYPE if key in CLASS_LISTS and "." in value else ValueState.PRESENT
                assert sensitive.reason(key, value, TYPES[key]) is redacted, key
                assert value == each.kafka_value(key, key, value), "a default is in Kafka's spelling"
                if TYPES[key] in (Type.INT, Type.SHORT):
                    assert value.lstrip("-").isdigit(), key
    names = [*each.aliases.values(), *(key for aliases in each.aliases_of.values() for key in aliases.values())]
    assert {key for key in names if key not in TYPES} <= {"topic.request.timeout.ms"}


@pytest.mark.parametrize("client_type", ClientType)
def test_a_java_client_has_a_value_for_what_is_pushed_by_default(client_type: ClientType) -> None:
    pushed = {entry.key for entry in collect_dialect("java", client_type, {}).entries}
    assert set(DEFAULT_KEYS[client_type]) - pushed <= {"application.id", "client.id", "group.id"}


BY_VERSION: dict[str, tuple[tuple[str, ...], list[tuple[list[str], tuple[str, ...]]]]] = {
    "java": (
        ("acks", "linger.ms", "enable.idempotence", "retries"),
        [
            (["1", "0", "false", "0"], ("2.0.1", "0.11.0.3")),
            (["1", "0", "false", LARGEST_INT], ("2.8.2", "6.2.0-ce")),  # the second is Kafka 2.8
            (["all", "0", "false", LARGEST_INT], ("3.0.0", "3.1.0")),  # KAFKA-13598
            (["all", "0", "true", LARGEST_INT], ("3.0.1", "3.9.2", "7.6.1-ccs")),  # the last is Kafka 3.6
            (["all", "5", "true", LARGEST_INT], ("4.0.0", "4.4.0", "", "unknown", "9.1", "8.0.0-ccs")),
        ],
    ),
    "kafka-python": (
        ("acks", "retries", "reconnect.backoff.max.ms"),
        [
            (["1", "0", "1000"], ("1.3.5", "2.0.2")),
            (["1", LARGEST_INT, "30000"], ("2.2.15",)),
            (["all", LARGEST_INT, "30000"], ("3.0.12",)),
        ],
    ),
    "franz-go": (
        ("linger.ms", "batch.size", "request.timeout.ms", "retry.backoff.ms"),
        [
            (["0", "1000000", "30000", "100"], ("0.1.0",)),  # what releases before 1.1.3 say of themselves
            (["0", "1000000", "10000", "250"], ("v1.2.6",)),
            (["0", "1000012", "10000", "250"], ("v1.19.5",)),
            (["10", "1000012", "10000", "250"], ("v1.20.0", "unknown")),
        ],
    ),
    "librdkafka": (("linger.ms",), [(["0.5"], ("1.4.2", "v1.4.2", "9.9.9-rdkafka-1.4.2"))]),
}
"""A producer's defaults: which settings, their values, and the versions that have these."""


@pytest.mark.parametrize(
    ("name", "version", "keys", "expected"),
    [(name, version, keys, values) for name, (keys, of) in BY_VERSION.items() for values, versions in of for version in versions],
)
def test_producers_defaults_by_version(name: str, version: str, keys: tuple[str, ...], expected: list[str]) -> None:
    assert effective(name, PRODUCER, {}, *keys, version=version) == [(value, True) for value in expected]


def test_java_consumer_and_streams_by_version() -> None:
    for version, timeout in (("2.8.2", "10000"), ("3.0.0", "45000")):
        assert effective("java", CONSUMER, {}, "session.timeout.ms", version=version) == [(timeout, True)]
    for version, factor in (("2.8.2", "1"), ("3.0.0", "-1")):
        assert effective("java", STREAMS, {}, "replication.factor", version=version) == [(factor, True)]
    assert not collect_dialect("java", SHARE_CONSUMER, {}, ["share.acknowledgement.mode"], "3.9.2").entries


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, ("true", True)),
        ({"acks": "1"}, ("false", True)),
        ({"acks": "-1"}, ("true", True)),
        ({"retries": 0}, ("false", True)),
        ({"max.in.flight.requests.per.connection": "6"}, ("false", True)),
        ({"acks": "0", "transactional.id": "t"}, ("true", True)),
        ({"enable.idempotence": "False"}, ("false", False)),
        ({"enable.idempotence": " TRUE "}, ("true", False)),
    ],
)
def test_java_idempotence_is_what_the_producer_makes_of_it(settings: dict[str, Any], expected: tuple[str, bool]) -> None:
    assert effective("java", PRODUCER, settings, "enable.idempotence") == [expected]


def test_java_settings_that_hang_on_others() -> None:
    assert effective("java", CONSUMER, {}, "enable.auto.commit") == [("false", True)]
    assert effective("java", CONSUMER, {"group.id": "g"}, "enable.auto.commit") == [("true", True)]
    assert effective("java", STREAMS, {"processing.guarantee": "exactly_once_v2"}, "commit.interval.ms") == [("100", True)]
    settings = {"processing.guarantee": "exactly_once_v2", "commit.interval.ms": "5"}
    assert effective("java", STREAMS, settings, "commit.interval.ms") == [("5", False)]
    assert effective("java", SHARE_CONSUMER, {}, "share.acquire.mode") == [("batch_optimized", True)]


@pytest.mark.parametrize(
    ("client_type", "settings", "key", "expected"),
    [
        (PRODUCER, {"request.required.acks": -1}, "acks", "all"),
        (PRODUCER, {"acks": 1}, "acks", "1"),
        (PRODUCER, {"message.timeout.ms": 1000}, "delivery.timeout.ms", "1000"),
        (PRODUCER, {"queue.buffering.max.ms": 0.5}, "linger.ms", "0.5"),
        (PRODUCER, {"linger.ms": 1, "queue.buffering.max.ms": 2}, "linger.ms", "2"),
        (PRODUCER, {"queue.buffering.max.kbytes": 32}, "buffer.memory", "32768"),
        (PRODUCER, {"queue.buffering.max.kbytes": "lots"}, "buffer.memory", "lots"),
        (PRODUCER, {"message.send.max.retries": 3}, "retries", "3"),
        (PRODUCER, {"max.in.flight": 1}, "max.in.flight.requests.per.connection", "1"),
        (PRODUCER, {"compression.codec": "LZ4"}, "compression.type", "lz4"),
        (PRODUCER, {"enable.idempotence": "t"}, "enable.idempotence", "true"),
        (PRODUCER, {"socket.timeout.ms": 5}, "request.timeout.ms", "30000"),
        (PRODUCER, {"default.topic.config": {"request.required.acks": 0}}, "acks", "0"),
        (CONSUMER, {"socket.timeout.ms": 5}, "request.timeout.ms", "5"),
        (CONSUMER, {"request.timeout.ms": 5}, "request.timeout.ms", "60000"),
        (CONSUMER, {"fetch.wait.max.ms": 7}, "fetch.max.wait.ms", "7"),
        (CONSUMER, {"auto.offset.reset": "smallest"}, "auto.offset.reset", "earliest"),
        (CONSUMER, {"auto.offset.reset": "beginning"}, "auto.offset.reset", "earliest"),
        (CONSUMER, {"auto.offset.reset": "largest"}, "auto.offset.reset", "latest"),
        (CONSUMER, {"auto.offset.reset": "end"}, "auto.offset.reset", "latest"),
        (CONSUMER, {"auto.offset.reset": "error"}, "auto.offset.reset", "none"),
        (CONSUMER, {"enable.auto.commit": 0}, "enable.auto.commit", "false"),
        (CONSUMER, {}, "isolation.level", "read_committed"),
        (ADMIN, {}, "client.id", "rdkafka"),
    ],
)
def test_librdkafka_in_kafkas_words(client_type: ClientType, settings: dict[str, Any], key: str, expected: str) -> None:
    ((value, _),) = effective("librdkafka", client_type, settings, key)
    assert value == expected


def test_librdkafka_defaults_also_when_idempotent() -> None:
    keys = ("acks", "linger.ms", "enable.idempotence", "batch.size", "max.in.flight.requests.per.connection", "delivery.timeout.ms")
    values = ["all", "5", "false", "1000000", "1000000", "300000"]
    assert effective("librdkafka", PRODUCER, {}, *keys) == [(value, True) for value in values]
    keys = ("max.in.flight.requests.per.connection", "delivery.timeout.ms", "enable.idempotence")
    idempotent = effective("librdkafka", PRODUCER, {"enable.idempotence": True}, *keys)
    assert idempotent == [("5", True), ("300000", True), ("true", False)]
    transactional = effective("librdkafka", PRODUCER, {"transactional.id": "t"}, *keys)
    assert transactional == [("5", True), ("60000", True), ("true", True)]


@pytest.mark.parametrize(("version", "has_it"), [("2.0.2", True), ("2.2.15", False)])
def test_kafka_python_had_a_buffer_up_to_2_1(version: str, has_it: bool) -> None:
    assert bool(collect_dialect("kafka-python", PRODUCER, {}, ["buffer.memory"], version).entries) is has_it


def test_kafka_python_when_idempotence_is_asked_for() -> None:
    keys = ("acks", "enable.idempotence", "max.in.flight.requests.per.connection")
    asked = effective("kafka-python", PRODUCER, {"enable_idempotence": True}, *keys, version="2.2.0")
    assert asked == [("all", True), ("true", False), ("1", True)]
    assert effective("kafka-python", PRODUCER, {}, *keys, version="2.2.0") == [("1", True), ("false", True), ("5", True)]
    assert effective("kafka-python", PRODUCER, {"acks": 1}, *keys) == [("1", False), ("false", True), ("5", True)]


def test_aiokafka_in_kafkas_words() -> None:
    keys = ("acks", "enable.idempotence", "batch.size", "compression.type")
    assert effective("aiokafka", PRODUCER, {}, *keys) == [("1", True), ("false", True), ("16384", True), ("none", True)]
    settings = {"transactional_id": "t", "max_batch_size": 5, "compression_type": None}
    values = effective("aiokafka", PRODUCER, settings, *keys)
    assert values == [("all", True), ("true", True), ("5", False), ("none", True)]


def test_kafkajs_in_kafkas_words() -> None:
    settings = {
        "clientId": "orders",
        "retry": {"retries": 8},
        "producer": {"maxInFlightRequests": 1, "idempotent": True},
        "send": {"acks": -1, "compression": 1},
        "consumer": {"groupId": "g", "sessionTimeout": 6000, "readUncommitted": True},
        "fromBeginning": True,
        "configPushAllowedKeys": "groupId,sessionTimeout",
    }
    keys = ("client.id", "retries", "max.in.flight.requests.per.connection", "enable.idempotence", "acks", "compression.type")
    values = ["orders", "8", "1", "true", "all", "gzip"]
    assert effective("kafkajs", PRODUCER, settings, *keys) == [(value, False) for value in values]
    keys = ("group.id", "session.timeout.ms", "isolation.level", "auto.offset.reset", "fetch.max.wait.ms")
    assert effective("kafkajs", CONSUMER, settings, *keys) == [
        ("g", False), ("6000", False), ("read_uncommitted", False), ("earliest", False), ("5000", True),
    ]  # fmt: skip
    assert [entry.key for entry in collect_dialect("kafkajs", CONSUMER, settings).entries] == ["group.id", "session.timeout.ms"]


def test_franz_go_in_kafkas_words() -> None:
    settings = {
        "ClientID": "orders", "RequiredAcks": "LeaderAck", "DisableIdempotentWrite": True, "ProducerLinger": "1m0.5s",
        "RecordDeliveryTimeout": 0, "ProduceRequestTimeout": 5_000_000_000,
    }  # fmt: skip
    keys = ("client.id", "acks", "enable.idempotence", "linger.ms", "delivery.timeout.ms", "request.timeout.ms")
    values = ["orders", "1", "false", "60500", LARGEST_INT, "5000"]
    assert effective("franz-go", PRODUCER, settings, *keys) == [(value, False) for value in values]
    in_flight = "max.in.flight.requests.per.connection"
    assert effective("franz-go", PRODUCER, settings, in_flight) == [("1", True)]
    assert effective("franz-go", PRODUCER, {}, in_flight, "enable.idempotence", "acks") == [
        ("5", True), ("true", True), ("all", True),
    ]  # fmt: skip
    settings = {"ConsumerGroup": "g", "FetchMaxWait": "250us", "FetchIsolationLevel": "ReadCommitted", "DisableAutoCommit": "true"}
    keys = ("group.id", "fetch.max.wait.ms", "isolation.level", "enable.auto.commit")
    assert effective("franz-go", CONSUMER, settings, *keys) == [
        ("g", False), ("0.25", False), ("read_committed", False), ("false", False),
    ]  # fmt: skip
    keys = ("auto.offset.reset", "session.timeout.ms", "partition.assignment.strategy", "fetch.max.wait.ms")
    assert [value for value, _ in effective("franz-go", CONSUMER, {}, *keys)] == [
        "earliest",
        "45000",
        "cooperative-sticky",
        "5000",
    ]


@pytest.mark.parametrize(
    ("version", "expected"),
    [("v1.29.1", ["250", None, None]), ("v1.43.0", ["500", "true", None]), ("dev", ["500", "true", "52428800"])],
)
def test_sarama_by_version(version: str, expected: list[str | None]) -> None:
    found = dialect("sarama").defaults_of(CONSUMER, version)
    assert [found.get(key) for key in ("fetch.max.wait.ms", "allow.auto.create.topics", "fetch.max.bytes")] == expected


def test_sarama_in_kafkas_words() -> None:
    keys = ("acks", "retries", "enable.idempotence", "linger.ms", "max.in.flight.requests.per.connection", "client.id")
    values = ["1", "3", "false", "0", "5", "sarama"]
    assert effective("sarama", PRODUCER, {}, *keys) == [(value, True) for value in values]
    settings = {
        "Producer": {"RequiredAcks": -1, "Compression": 4, "Flush": {"Frequency": 5_000_000}, "Idempotent": True},
        "Net": {"MaxOpenRequests": 1},
    }
    keys = ("acks", "compression.type", "linger.ms", "enable.idempotence", "max.in.flight.requests.per.connection")
    assert effective("sarama", PRODUCER, settings, *keys) == [(value, False) for value in ("all", "zstd", "5", "true", "1")]
    settings = {"Consumer": {"Offsets": {"Initial": -2, "AutoCommit": {"Enable": False}}, "Group": {"Session": {"Timeout": "20s"}}}}
    keys = ("auto.offset.reset", "enable.auto.commit", "session.timeout.ms")
    values = ["earliest", "false", "20000"]
    assert effective("sarama", CONSUMER, settings, *keys) == [(value, False) for value in values]
    assert effective("sarama", CONSUMER, {"Consumer.MaxWaitTime": "soon"}, "fetch.max.wait.ms") == [("soon", False)]


def test_a_default_that_names_the_version_is_left_out_without_one() -> None:
    assert effective("kafka-python", ADMIN, {}, "client.id", version="3.0.12") == [("kafka-python-3.0.12", True)]
    assert not collect_dialect("kafka-python", ADMIN, {}, ["client.id"]).entries


def test_the_command_knows_every_dialect_and_client_type() -> None:
    fields = PushSettings.model_fields
    assert get_args(fields["dialect"].annotation) == tuple(each.name for each in DIALECTS)
    assert set(get_args(fields["client_type"].annotation)) == {"", *(client_type.value for client_type in ClientType)}


def test_an_unknown_dialect() -> None:
    with pytest.raises(ClientscopeError, match="unknown dialect 'cobol'") as caught:
        dialect("cobol")
    assert caught.value.hint == "known: java, librdkafka, kafka-python, aiokafka, kafkajs, franz-go, sarama"
