"""A steady load on the job's topics, and the delay of its results, by the broker's own clock."""

from __future__ import annotations

import json
import threading
import uuid
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, NamedTuple

import kafka
from kafka.errors import KafkaError
from observe import read_all
from patience import LIMIT_S
from record_bytes import config_record, heartbeat, setting

from clientscope.records.codec import decode
from clientscope.records.config_record import ClientConfigRecord
from clientscope.records.connection_record import ClientConnectionRecord
from clientscope.records.topics import CONFIGS, CONNECTIONS, FINDINGS, GAUGES, RESULTS

_BEATS = b"steady-load"
"""Key of the load's heartbeats: other records of a topic are none of its own."""


class SteadyLoad:
    """A push of a new application and a heartbeat with new counts, so often, while in its context.

    What Kafka doesn't acknowledge isn't written again.

    Attributes:
        acknowledged: how often both were.
        gateway: the heartbeats' gateway.
    """

    def __init__(self, servers: str, per_second: float) -> None:
        self.acknowledged = 0
        self.gateway = f"load-{uuid.uuid4()}"
        self._servers, self._pause_s = servers, 1 / per_second
        self._name = "".join(letter for letter in uuid.uuid4().hex if letter.isalpha())
        self._connections = uuid.uuid4().int % 2**40  # a client that pushes on another one's connection would replace it
        self._written = 0
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> SteadyLoad:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._done.is_set():
            with suppress(KafkaError, OSError), kafka.KafkaProducer(bootstrap_servers=self._servers, linger_ms=0) as producer:
                while not self._done.wait(self._pause_s):
                    self._write(producer)

    def _write(self, producer: Any) -> None:
        self._written += 1
        number = self._written
        client_id = f"{self._name}{_letters(number)}"
        push = config_record(setting("acks", "0"), client_id=client_id, connection_id=self._connections + number)
        counts = [("java", "1.0", number, 2 * number, number)]
        beat = heartbeat(number, counts, gateway_id=self.gateway, heartbeat_interval_ms=600_000, timestamp_ms=number)
        for sent in (producer.send(CONFIGS, key=client_id.encode(), value=push), producer.send(CONNECTIONS, key=_BEATS, value=beat)):
            sent.get(LIMIT_S)
        self.acknowledged += 1


def _letters(number: int) -> str:
    """A number without digits: those at the end of a client.id would be taken for an instance's."""
    name = ""
    while number:
        number, rest = divmod(number, 26)
        name += chr(ord("a") + rest)
    return name


class Latencies(NamedTuple):
    """Milliseconds from a record's arrival on its topic to the arrival of what came of it."""

    results: list[int]
    gauges: list[int]
    findings: list[int]


def latencies(servers: str, since_ms: int, until_ms: int) -> Latencies:
    """Of what the load wrote within a time, in ms since the epoch."""
    # What came of records first: all of those are on their topics by then.
    made = {topic: read_all(servers, topic) for topic in (RESULTS, GAUGES, FINDINGS)}
    pushed = {each.offset: each for each in read_all(servers, CONFIGS) if since_ms <= each.timestamp <= until_ms}
    beaten = {_counted(each.value): each.timestamp for each in read_all(servers, CONNECTIONS) if each.key == _BEATS}
    results = {value["offset"]: at for at, value in _newest_first(made[RESULTS])}
    gauges = {(value["gateway"], value.get("sequence")): at for at, value in _newest_first(made[GAUGES]) if "software_name" in value}
    findings = {value["application"].get("client_id"): at for at, value in _newest_first(made[FINDINGS]) if "fingerprint" in value}
    names = {offset: decode(ClientConfigRecord, each.value).client_id for offset, each in pushed.items()}
    return Latencies(
        [results[offset] - each.timestamp for offset, each in pushed.items() if offset in results],
        [gauges[count] - at for count, at in beaten.items() if count in gauges and since_ms <= at <= until_ms],
        [findings[names[offset]] - each.timestamp for offset, each in pushed.items() if names[offset] in findings],
    )


def _counted(value: bytes) -> tuple[str, int]:
    record = decode(ClientConnectionRecord, value)
    return record.gateway_id, record.sequence


def _newest_first(messages: list[Any]) -> Iterator[tuple[int, dict[str, Any]]]:
    """So that in a dictionary the first of each key is what stays."""
    yield from ((each.timestamp, json.loads(each.value)) for each in reversed(messages) if each.value is not None)
