"""Kafka's Java client of any age, driven through Py4J: the JVM runs Kafka's jar and Py4J's, and nothing that must be compiled."""

from __future__ import annotations

import importlib.util
import os
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from clients.script import PARTITIONS, Call, Client, Message, Pairs, Produced
from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway
from py4j.protocol import Py4JJavaError

from clientscope.local.jars import jars
from clientscope.local.java import java

_STRING = "org.apache.kafka.common.serialization.String"
_SERIALIZERS = {"key_serializer": f"{_STRING}Serializer", "value_serializer": f"{_STRING}Serializer"}
DESERIALIZERS = {"key_deserializer": f"{_STRING}Deserializer", "value_deserializer": f"{_STRING}Deserializer"}


def py4j_jar() -> str:
    spec = importlib.util.find_spec("pyspark")
    assert spec is not None and spec.origin is not None
    return str(next(Path(spec.origin).parent.glob("jars/py4j-*.jar")))


def each(iterable: Any) -> Iterator[Any]:
    """Py4J iterates over lists, sets and maps by itself, over other Iterables not."""
    iterator = iterable.iterator()
    while iterator.hasNext():
        yield iterator.next()


class Jvm:
    """A JVM with these jars, driven through ``gateway``."""

    def __init__(self, paths: Iterable[str]) -> None:
        port, self.process = launch_gateway(
            jarpath=py4j_jar(), classpath=os.pathsep.join(paths), javaopts=["-Xmx128m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"],
            java_path=java(), die_on_exit=True, return_proc=True,
        )  # fmt: skip
        # Without memory management the JVM keeps every object that Python saw until it ends. With it, Python's garbage collection
        # talks to a JVM that may be gone, and logs that with a traceback, at any moment.
        self.gateway = JavaGateway(gateway_parameters=GatewayParameters(port=port, auto_convert=True, enable_memory_management=False))

    def close(self) -> None:
        self.gateway.close()
        self.process.stdin.close()  # die_on_exit: the JVM ends when its standard input does
        self.process.stdout.close()
        try:
            self.process.wait(5)
        finally:
            self.process.kill()
            self.process.wait()


class JavaClient(Client):
    """``kafka-clients`` of one configuration of ivy.xml."""

    codecs = ("gzip", "snappy", "lz4", "zstd")

    def __init__(self, address: str, configuration: str) -> None:
        super().__init__(address)
        self.name = f"java-{configuration.removeprefix('client-')}"
        paths = [str(path) for path in jars(configuration)]
        version = next(Path(path).stem.removeprefix("kafka-clients-") for path in paths if "kafka-clients-" in path)
        # KIP-511 came with 2.4.
        reports = tuple(map(int, version.split(".")[:2])) >= (2, 4)
        self.identity = ("apache-kafka-java", version) if reports else ("unknown", "unknown")
        self.jvm = Jvm(paths)
        self.kafka = self.jvm.gateway.jvm.org.apache.kafka

    def close(self) -> None:
        self.jvm.close()

    def _common(self, **settings: str) -> dict[str, str]:
        own = {name.replace("_", "."): value for name, value in settings.items()}
        return {
            "bootstrap.servers": self.address,
            "client.id": self.client_id,
            "request.timeout.ms": "10000",
            "default.api.timeout.ms": "20000",
            **own,
        }

    def _admin(self) -> Any:
        return closing(self.kafka.clients.admin.AdminClient.create(self._common()))

    def _producer(self, **settings: str) -> Any:
        return closing(self.kafka.clients.producer.KafkaProducer(self._common(**_SERIALIZERS, **settings)))

    def _consumer(self, **settings: str) -> Any:
        return closing(self.kafka.clients.consumer.KafkaConsumer(self._common(**DESERIALIZERS, **settings)))

    def poll(self, consumer: Any) -> Any:
        return consumer.poll(self.jvm.gateway.jvm.java.time.Duration.ofMillis(200))

    def create_topic(self, topic: str) -> None:
        with self._admin() as admin:
            admin.createTopics([self.kafka.clients.admin.NewTopic(topic, PARTITIONS, 1)]).all().get()

    def produce(self, topic: str, how: Produced, messages: Pairs) -> list[int]:
        settings = {"acks": how.acks, "compression_type": how.codec, "enable_idempotence": str(how.idempotent).lower(), "linger_ms": "5"}
        with self._producer(**settings, **({"transactional_id": how.transactional_id} if how.transactional_id else {})) as producer:
            if how.transactional_id:
                producer.initTransactions()
                producer.beginTransaction()
            record = self.kafka.clients.producer.ProducerRecord
            futures = [producer.send(record(topic, key, value)) for key, value in messages]
            producer.flush()
            partitions = [future.get().partition() for future in futures]
            if how.transactional_id:
                producer.abortTransaction() if how.abort else producer.commitTransaction()
            return partitions

    def consume(self, topic: str, group: str, count: int, at_rest: Call) -> list[Message]:
        settings = {"auto_offset_reset": "earliest", "enable_auto_commit": "false", "isolation_level": "read_committed"}
        taken: list[Message] = []
        positions: dict[Any, Any] = {}
        deadline = time.monotonic() + 20
        with self._consumer(group_id=group, **settings) as consumer:
            consumer.subscribe([topic])
            while len(taken) < count and time.monotonic() < deadline:
                for record in each(self.poll(consumer)):
                    if len(taken) < count:
                        taken.append((record.partition(), record.key(), record.value()))
                        partition = self.kafka.common.TopicPartition(topic, record.partition())
                        positions[partition] = self.kafka.clients.consumer.OffsetAndMetadata(record.offset() + 1)
            consumer.commitSync(positions)
            at_rest()
        return taken

    @contextmanager
    def polling(self, topic: str, group: str, **settings: str) -> Iterator[Callable[[], int]]:
        """A consumer that stays: what polls it once, and returns how many records came."""
        with self._consumer(group_id=group, auto_offset_reset="earliest", **settings) as consumer:
            consumer.subscribe([topic])
            yield lambda: int(self.poll(consumer).count())

    @contextmanager
    def producing(self, topic: str, **settings: str) -> Iterator[Any]:
        """A producer that has sent one record, and stays."""
        with self._producer(**settings) as producer:
            producer.send(self.kafka.clients.producer.ProducerRecord(topic, "key", "value")).get()
            yield producer

    def describe(self, topic: str) -> dict[str, Any]:
        with self._admin() as admin:
            cluster = admin.describeCluster()
            nodes = [(node.id(), f"{node.host()}:{node.port()}" == self.address) for node in each(cluster.nodes().get())]
            resource = self.kafka.common.config.ConfigResource
            kind = getattr(resource, "Type").TOPIC  # noqa: B009  "Type" is a class in a class for Py4J
            configs = admin.describeConfigs([resource(kind, topic)]).all().get()
            (config,) = configs.values()
            return {
                "cluster": cluster.clusterId().get(),
                "nodes": nodes,
                "configs": {entry.name(): entry.value() for entry in each(config.entries())},
            }

    def unknown_topic(self, topic: str) -> None:
        with self._admin() as admin:
            admin.deleteTopics([topic]).all().get()

    def error_name(self, error: Exception) -> str:
        if not isinstance(error, Py4JJavaError):
            return f"{type(error).__name__}: {error}"
        names = []
        cause = error.java_exception
        while cause is not None:
            names.append(cause.getClass().getName())
            cause = cause.getCause()
        return " < ".join(names)
