"""kafka-python, aiokafka and confluent-kafka, as they are installed."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any

import aiokafka
import aiokafka.admin
import confluent_kafka
import confluent_kafka.admin
import kafka
import kafka.admin
from clients.script import PARTITIONS, Call, Client, Message, Pairs, Produced
from observe import knowing_its_topics
from patience import LIMIT_S


def _producer_settings(how: Produced) -> dict[str, Any]:
    """As kafka-python and aiokafka name them."""
    settings: dict[str, Any] = {
        "acks": "all" if how.acks == "all" else int(how.acks),
        "compression_type": None if how.codec == "none" else how.codec,
        "enable_idempotence": how.idempotent,
    }
    return settings | ({"transactional_id": how.transactional_id} if how.transactional_id else {})


_CONSUMES = {"auto_offset_reset": "earliest", "enable_auto_commit": False, "isolation_level": "read_committed"}


class KafkaPython(Client):
    name = "kafka-python"
    identity = ("kafka-python", kafka.__version__)

    def _common(self) -> dict[str, Any]:
        return {"bootstrap_servers": self.address, "client_id": self.client_id}

    def create_topic(self, topic: str) -> None:
        with kafka.KafkaAdminClient(**self._common()) as admin:
            admin.create_topics({topic: {"num_partitions": PARTITIONS}}, wait_for_metadata=True)

    def produce(self, topic: str, how: Produced, messages: Pairs) -> list[int]:
        settings = {**self._common(), **_producer_settings(how)}
        with kafka.KafkaProducer(**settings) as producer:
            if how.transactional_id:
                producer.init_transactions()
                producer.begin_transaction()
            futures = [producer.send(topic, key=key.encode(), value=value.encode()) for key, value in messages]
            producer.flush(timeout=LIMIT_S)
            partitions = [future.get(timeout=LIMIT_S).partition for future in futures]
            if how.transactional_id:
                producer.abort_transaction() if how.abort else producer.commit_transaction()
            return partitions

    def consume(self, topic: str, group: str, count: int, at_rest: Call) -> list[Message]:
        taken: list[Message] = []
        deadline = time.monotonic() + LIMIT_S
        with knowing_its_topics(kafka.KafkaConsumer(topic, **self._common(), **_CONSUMES, group_id=group)) as consumer:
            while len(taken) < count and time.monotonic() < deadline:
                for batch in consumer.poll(timeout_ms=200, max_records=count - len(taken)).values():
                    taken += [(m.partition, m.key.decode(), m.value.decode()) for m in batch]
            consumer.commit()
            at_rest()
        return taken

    def describe(self, topic: str) -> dict[str, Any]:
        with kafka.KafkaAdminClient(**self._common()) as admin:
            cluster = admin.describe_cluster()
            resource = kafka.admin.ConfigResource(kafka.admin.ConfigResourceType.TOPIC, topic)
            configs = admin.describe_configs([resource], config_filter="all")["topic"][topic]
            return {
                "cluster": cluster["cluster_id"],
                "nodes": [(n.get("broker_id", n.get("node_id")), f"{n['host']}:{n['port']}" == self.address) for n in cluster["brokers"]],
                "configs": {name: entry["value"] for name, entry in configs.items()},
            }

    def unknown_topic(self, topic: str) -> None:
        with kafka.KafkaAdminClient(**self._common()) as admin:
            admin.delete_topics([topic])


class Aiokafka(KafkaPython):
    """Says neither its name nor its version."""

    name = "aiokafka"
    identity = ("unknown", "unknown")

    def _admin(self, act: Callable[[Any], Awaitable[Any]]) -> Any:
        async def go() -> Any:
            admin = aiokafka.admin.AIOKafkaAdminClient(**self._common())
            await admin.start()
            try:
                return await act(admin)
            finally:
                await admin.close()

        return asyncio.run(go())

    def create_topic(self, topic: str) -> None:
        self._admin(lambda admin: admin.create_topics([aiokafka.admin.NewTopic(topic, PARTITIONS, 1)]))

    def produce(self, topic: str, how: Produced, messages: Pairs) -> list[int]:
        settings = {**self._common(), **_producer_settings(how)}

        async def go() -> list[int]:
            async with aiokafka.AIOKafkaProducer(**settings) as producer:
                if how.transactional_id:
                    await producer.begin_transaction()
                futures = [await producer.send(topic, key=key.encode(), value=value.encode()) for key, value in messages]
                sent = await asyncio.gather(*futures)
                if how.transactional_id:
                    await (producer.abort_transaction() if how.abort else producer.commit_transaction())
                return [-1 if metadata is None else metadata.partition for metadata in sent]

        return asyncio.run(go())

    def consume(self, topic: str, group: str, count: int, at_rest: Call) -> list[Message]:

        async def go() -> list[Message]:
            taken: list[Message] = []
            async with aiokafka.AIOKafkaConsumer(topic, **self._common(), **_CONSUMES, group_id=group) as consumer:
                async with asyncio.timeout(LIMIT_S):
                    while len(taken) < count:
                        for batch in (await consumer.getmany(timeout_ms=200, max_records=count - len(taken))).values():
                            taken.extend((m.partition, m.key.decode(), m.value.decode()) for m in batch)
                await consumer.commit()
                await asyncio.to_thread(at_rest)
            return taken

        return asyncio.run(go())

    def describe(self, topic: str) -> dict[str, Any]:
        async def act(admin: Any) -> dict[str, Any]:
            cluster = await admin.describe_cluster()
            resource = aiokafka.admin.config_resource.ConfigResource(aiokafka.admin.config_resource.ConfigResourceType.TOPIC, topic)
            (response,) = await admin.describe_configs([resource])
            (found,) = response.resources
            return {
                "cluster": cluster["cluster_id"],
                "nodes": [(node["node_id"], f"{node['host']}:{node['port']}" == self.address) for node in cluster["brokers"]],
                "configs": {entry[0]: entry[1] for entry in found[4]},
            }

        described: dict[str, Any] = self._admin(act)
        return described

    def unknown_topic(self, topic: str) -> None:
        async def act(admin: Any) -> None:
            response = await admin.delete_topics([topic])
            for _, code in response.topic_error_codes:
                if code:
                    raise aiokafka.errors.for_code(code)

        self._admin(act)


class Confluent(Client):
    name = "confluent-kafka"
    identity = ("confluent-kafka-python", f"{confluent_kafka.version()}-rdkafka-{confluent_kafka.libversion()[0]}")
    codecs = ("gzip", "snappy", "lz4", "zstd")

    def __init__(self, address: str, **settings: str) -> None:
        super().__init__(address)
        self._settings = settings

    def _common(self) -> dict[str, Any]:
        return {"bootstrap.servers": self.address, "client.id": self.client_id, **self._settings}

    def _admin(self) -> Any:
        return confluent_kafka.admin.AdminClient(self._common())

    def create_topic(self, topic: str) -> None:
        admin = self._admin()  # its queue goes with it
        admin.create_topics([confluent_kafka.admin.NewTopic(topic, PARTITIONS, 1)])[topic].result(LIMIT_S)

    def produce(self, topic: str, how: Produced, messages: Pairs) -> list[int]:
        settings = {
            **self._common(),
            "acks": how.acks,
            "compression.type": how.codec,
            "enable.idempotence": how.idempotent,
            "partitioner": "murmur2_random",
        }
        if how.transactional_id:
            settings["transactional.id"] = how.transactional_id
        producer = confluent_kafka.Producer(settings)
        if how.transactional_id:
            producer.init_transactions(LIMIT_S)
            producer.begin_transaction()
        partitions: dict[str, int] = {}

        def reported(error: Any, message: Any) -> None:
            partitions[message.key().decode()] = -1 if error else message.partition()

        for key, value in messages:
            producer.produce(topic, key=key, value=value, on_delivery=reported)
        producer.flush(LIMIT_S)
        if how.transactional_id:
            producer.abort_transaction(LIMIT_S) if how.abort else producer.commit_transaction(LIMIT_S)
        return [partitions[key] for key, _ in messages]

    def consume(self, topic: str, group: str, count: int, at_rest: Call) -> list[Message]:
        consumer = confluent_kafka.Consumer(
            {
                **self._common(),
                "group.id": group,
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
                "isolation.level": "read_committed",
            }
        )
        taken: list[Message] = []
        deadline = time.monotonic() + LIMIT_S
        with consumer:
            consumer.subscribe([topic])
            while len(taken) < count and time.monotonic() < deadline:
                for message in consumer.consume(count - len(taken), 0.2):
                    assert message.error() is None, message.error()
                    taken.append((message.partition(), message.key().decode(), message.value().decode()))
            consumer.commit(asynchronous=False)
            at_rest()
        return taken

    def describe(self, topic: str) -> dict[str, Any]:
        admin = self._admin()
        cluster = admin.describe_cluster().result(LIMIT_S)
        resource = confluent_kafka.admin.ConfigResource("topic", topic)
        configs = admin.describe_configs([resource])[resource].result(LIMIT_S)
        return {
            "cluster": cluster.cluster_id,
            "nodes": [(node.id, f"{node.host}:{node.port}" == self.address) for node in cluster.nodes],
            "configs": {name: entry.value for name, entry in configs.items()},
        }

    def unknown_topic(self, topic: str) -> None:
        admin = self._admin()
        admin.delete_topics([topic])[topic].result(LIMIT_S)

    def error_name(self, error: Exception) -> str:
        code = error.args[0] if error.args else None
        return f"{super().error_name(error)} {code.name()}" if isinstance(code, confluent_kafka.KafkaError) else super().error_name(error)
