"""Observation of a running installation: its topics, the gateway's metrics, and conditions that become true in time."""

from __future__ import annotations

import json
import os
import signal
import socket
import time
import urllib.request
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple, TypeVar
from uuid import UUID

import confluent_kafka
import kafka
import psutil
from http_attacks import get
from kafka.admin import ConfigResource, ConfigResourceType
from opentelemetry.proto.metrics.v1.metrics_pb2 import MetricsData
from patience import LIMIT_S, until
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample

from clientscope.model.codec import decode
from clientscope.model.connection import ClientConnectionRecord
from clientscope.model.finding import Finding
from clientscope.model.push import Push
from clientscope.model.topics import CONFIGS, CONNECTIONS, FINDINGS, STATUS, TELEMETRY

Record = TypeVar("Record", Push, ClientConnectionRecord)
Answer = TypeVar("Answer")


class OwnMetrics(NamedTuple):
    """A record of a client's own metrics: the attributes of its first resource, and the names of all metrics."""

    client: dict[str, Any]
    names: set[str]


def read_all(bootstrap_servers: str, topic: str, **access: Any) -> list[Any]:
    """Every record that is on a topic at the time of the call, in order."""
    arguments = {"bootstrap_servers": bootstrap_servers, "auto_offset_reset": "earliest", "enable_auto_commit": False, **access}
    with kafka.KafkaConsumer(**arguments) as consumer:
        partitions = [kafka.TopicPartition(topic, number) for number in consumer.partitions_for_topic(topic) or ()]
        ends = consumer.end_offsets(partitions)
        consumer.assign(partitions)
        messages: list[Any] = []
        while any(consumer.position(partition) < ends[partition] for partition in partitions):
            for batch in consumer.poll(timeout_ms=500).values():
                messages += batch
        return messages


def newest(bootstrap_servers: str, topic: str) -> dict[bytes, bytes | None]:
    """The newest value of each key."""
    return {message.key: message.value for message in read_all(bootstrap_servers, topic)}


def read_json(bootstrap_servers: str, topic: str, **access: Any) -> list[dict[str, Any]]:
    """Every record's value."""
    return [json.loads(message.value) for message in read_all(bootstrap_servers, topic, **access)]


def write(bootstrap_servers: str, topic: str, *records: tuple[bytes | None, bytes | None], **more: Any) -> list[Any]:
    """Writes pairs of key and value; where Kafka has each."""
    with kafka.KafkaProducer(bootstrap_servers=bootstrap_servers) as producer:
        sent = [producer.send(topic, key=key, value=value, **more) for key, value in records]
        return [each.get(LIMIT_S) for each in sent]


def by_librdkafka(address: str, topic: str, value: bytes = b"x", **settings: Any) -> confluent_kafka.Producer:
    """A producer that has sent one record, and stays until nobody holds it."""
    producer = confluent_kafka.Producer({"bootstrap.servers": address, **settings})
    producer.produce(topic, value)
    assert producer.flush(LIMIT_S) == 0
    return producer


def make_topic(bootstrap_servers: str, name: str, partitions: int = 1, replicas: int = 1, **configs: str) -> None:
    """A topic, if there is none of that name."""
    with kafka.KafkaAdminClient(bootstrap_servers=bootstrap_servers) as admin:
        if name not in admin.list_topics():
            topic = {"num_partitions": partitions, "replication_factor": replicas, "configs": configs}
            admin.create_topics({name: topic}, wait_for_metadata=True)


def set_topic(bootstrap_servers: str, name: str, configs: dict[str, str]) -> None:
    """Changes a topic's configs; the broker may need a moment."""
    with kafka.KafkaAdminClient(bootstrap_servers=bootstrap_servers) as admin:
        admin.alter_configs([ConfigResource(ConfigResourceType.TOPIC, name, configs)])


def knowing_its_topics(consumer: Any) -> Any:
    """A consumer of kafka-python that gets its partitions when it joins its group.

    On a busy machine it else joins before it knows its topics, assigns nothing (with the warning "No partition metadata for topic"), and
    stays so, direct as through a gateway.
    """
    for topic in consumer.subscription():
        consumer.partitions_for_topic(topic)
    return consumer


def connection_records(bootstrap_servers: str, gateway_id: str = "", **fields: Any) -> list[ClientConnectionRecord]:
    """Records of connections whose fields have these values, in order; a gateway's id is their key, so junk under another is ignored."""
    messages = read_all(bootstrap_servers, CONNECTIONS)
    records = (decode(ClientConnectionRecord, each.value) for each in messages if not gateway_id or each.key == gateway_id.encode())
    return _with(records, fields)


def configurations(bootstrap_servers: str, **fields: Any) -> list[Push]:
    """Records of clients' configurations whose fields have these values, in order."""
    records = (decode(Push, message.value) for message in read_all(bootstrap_servers, CONFIGS) if message.value)
    return _with(records, fields)


def _with(records: Iterable[Record], fields: dict[str, Any]) -> list[Record]:
    wanted = {name: str(value) if isinstance(value, UUID) else value for name, value in fields.items()}
    return [record for record in records if all(getattr(record, name) == value for name, value in wanted.items())]


def push_one(client: Any, value: str = "all", key: str = "acks", kind: int = 1) -> int:
    """A raw client pushes one setting, which is no default; the error code of the answer."""
    return int(client.push_config([(key, value, kind, False)]).error_code)


def settings_of(record: Push) -> dict[str, str | None]:
    return {config.key: config.value for config in record.listed()}


def own_metrics(bootstrap_servers: str) -> list[OwnMetrics]:
    """What clients have pushed of their own metrics, in order."""
    found = []
    for message in read_all(bootstrap_servers, TELEMETRY):
        resources = MetricsData.FromString(message.value).resource_metrics
        said = {each.key: getattr(each.value, each.value.WhichOneof("value")) for each in resources[0].resource.attributes}
        names = {metric.name for of in resources for scope in of.scope_metrics for metric in scope.metrics}
        found.append(OwnMetrics({"client_id": None, **said}, names))
    return found


def findings(bootstrap_servers: str, code: str = "") -> list[Finding]:
    """The newest of each finding, of one code or of all."""
    found = [decode(Finding, value) for value in newest(bootstrap_servers, FINDINGS).values() if value is not None]
    return [each for each in found if code in ("", each.code)]


def becomes(bootstrap_servers: str, code: str, condition: Callable[[Finding], bool], **application: str | None) -> Finding:
    """Waits for a finding of this code and application of which the condition is true."""

    def those() -> list[Finding]:
        found = findings(bootstrap_servers, code)
        return [each for each in found if application.items() <= asdict(each.application).items() and condition(each)]

    return until(those, why=code)[0]


def told_findings(bootstrap_servers: str, code: str) -> list[tuple[str, str]]:
    """State and message of each of these."""
    return sorted((each.state, each.message) for each in findings(bootstrap_servers, code))


def statuses(bootstrap_servers: str) -> dict[tuple[str, str], dict[str, Any]]:
    """What was last said of each process, query and broker, by kind and id."""
    return {(each["kind"], each["id"]): each for each in read_json(bootstrap_servers, STATUS)}


def _samples(url: str) -> list[Sample]:
    with urllib.request.urlopen(url, timeout=LIMIT_S) as response:
        return [sample for family in text_string_to_metric_families(response.read().decode()) for sample in family.samples]


def metrics(url: str) -> dict[tuple[str, ...], float]:
    """Samples by name and label values."""
    return {(sample.name, *sample.labels.values()): sample.value for sample in _samples(url)}


def counts(gateway: Any, what: str) -> dict[str, float]:
    """A counter of a gateway by its label's values; its workers' come a moment later, or seconds where they are busy."""
    return {key[1]: value for key, value in metrics(gateway.metrics_url).items() if key[0] == f"clientscope_gateway_{what}_total"}


def count(gateway: Any, what: str, label: str) -> float:
    """One of them, 0 before it counts."""
    return counts(gateway, what).get(label, 0)


def await_count(gateway: Any, what: str, label: str, number: float) -> None:
    """Waits until one of them is that."""
    until(lambda: count(gateway, what, label), number)


def is_closed(connected: socket.socket, within_s: float = 5.0) -> bool:
    """Whether the other end has ended a connection, or does in this time."""
    connected.settimeout(within_s)
    try:
        return connected.recv(1000) == b""
    except ConnectionResetError:
        return True
    except (TimeoutError, BlockingIOError):
        return False


def reloaded(gateway: Any, log: Path, said: str) -> None:
    """Has a gateway read its settings again, and waits until its log says this once more."""
    before = log.read_text().count(said)
    os.kill(gateway.pid, signal.SIGHUP)
    until(lambda: log.read_text().count(said) > before, why=said)


def page(url: str) -> tuple[int, str]:
    """Status and text of a probe; 0 where nobody answers."""
    try:
        return get(url, LIMIT_S)
    except OSError as error:
        return 0, str(error)


def listed(gateway: Any) -> list[dict[str, Any]]:
    """A gateway's own list of its open connections."""
    found: list[dict[str, Any]] = json.loads(page(f"http://{gateway.admin}/v1/connections")[1])
    return found


def gateway_connections(url: str) -> dict[tuple[str, str], int]:
    """Open connections by software name and version, as the gateway's own metrics have them."""
    samples = [sample for sample in _samples(url) if sample.name == "clientscope_gateway_client_connections"]
    return {(s.labels["client_software_name"], s.labels["client_software_version"]): int(s.value) for s in samples}


def files_below(folder: Path, but: str) -> Iterator[tuple[Path, bytes]]:
    """What files hold; one that is renamed or deleted between two looks is passed over.

    Args:
        but: a part of the paths that are left out.
    """
    for path in folder.rglob("*"):
        if path.is_file() and but not in path.relative_to(folder).parts:
            with suppress(FileNotFoundError):
                yield path, path.read_bytes()


def private_file(path: Path, content: str | bytes) -> Path:
    """A file that its owner alone may use, as one with a secret has to be."""
    path.touch(0o600)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    path.chmod(0o600)
    return path


def answers(port: int) -> bool:
    """Whether something takes connections at a port of 127.0.0.1."""
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
        return True
    return False


def children(pid: int) -> list[int]:
    """Child processes and theirs; none of one that has ended."""
    return _answer(pid, lambda process: [child.pid for child in process.children(recursive=True)], [])


def _answer(pid: int, ask: Callable[[psutil.Process], Answer], gone: Answer) -> Answer:
    try:
        return ask(psutil.Process(pid))
    except psutil.NoSuchProcess:  # nor of a zombie
        return gone


def workers(pid: int) -> set[int]:
    """A gateway's processes that carry clients' traffic, by what everybody may read of a process that isn't dumpable."""
    return {child for child in children(pid) if process_name(child) == "gw-worker" and not is_gone(child)}


def process_name(pid: int) -> str:
    """What ``ps`` calls a process; empty for one that has ended."""
    return _answer(pid, psutil.Process.name, "")


def command_line(pid: int) -> list[str]:
    """What a process was started with; empty for one that has ended."""
    return _answer(pid, psutil.Process.cmdline, [])


def is_gone(pid: int) -> bool:
    """Whether a process has ended; nobody may have waited for it yet."""
    return not command_line(pid)


def java_below(pid: int) -> int:
    """The JVM that a process has started: the first, since what that forks is called the same until it runs something else."""
    return next(child for child in children(pid) if process_name(child) == "java")


class WorkerMemory:
    """How much memory the one worker of a gateway takes: the process that carries its bytes.

    Attributes:
        before: when this was made, in bytes; ``most`` since then.
    """

    def __init__(self, gateway_pid: int) -> None:
        until(lambda: len(workers(gateway_pid)), 1, why="a worker has its name a moment after it is forked")
        (pid,) = workers(gateway_pid)
        self._process = psutil.Process(pid)
        self.most = 0
        self.before = self.rss()

    def rss(self) -> int:
        """Resident bytes now."""
        rss: int = self._process.memory_info().rss
        self.most = max(self.most, rss)
        return rss

    def watch(self, seconds: float) -> None:
        """Looks all the time, for so long."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.rss()
            time.sleep(0.02)

    def stays_within(self, extra_bytes: int) -> None:
        """Fails where it has grown by more at any look."""
        grown = self.most - self.before
        assert grown < extra_bytes, f"{grown / 2**20:.1f} MiB more than before"


def minor_faults(pid: int) -> int:
    """Page faults of a process that needed no disk, proc_pid_stat(5)."""
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[7])
