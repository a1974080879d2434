"""An oracle of the job: the content of its topics and tables for an input, from the input alone and without Spark."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

import fleets
import kafka
import pyarrow as pa
from deltalake import DeltaTable
from deltalake.exceptions import TableNotFoundError
from observe import read_all
from patience import LIMIT_S, eventually, until
from record_bytes import config_record, heartbeat, setting

from clientscope.digest import DigestKey
from clientscope.findings.conditions import Conditions
from clientscope.findings.record import Finding
from clientscope.profiles import Thresholds
from clientscope.records.codec import decode, encode
from clientscope.records.connection_record import ClientConnectionRecord
from clientscope.records.result_record import PushResult
from clientscope.records.topics import CONFIGS, CONNECTIONS, FINDINGS, GAUGES, QUARANTINE, RESULTS
from streaming.findings.engine import FindingsEngine
from streaming.findings.entry import Policy
from streaming.transforms import connection_rows, push_rows

Place = tuple[str, int, int]
_NO_FIELDS = ("decode_error", "length", "digest", "written")
_OF_PLACE = ("version", "topic", "partition", "offset", "application")
_OF_KAFKA = ("topic", "partition", "offset", "timestamp", "date")


class Input:
    """Writes records of both topics, by a seed; one in a hundred is no record.

    Attributes:
        good, poisoned: the values written, by place.
    """

    def __init__(self, bootstrap_servers: str, seed: int) -> None:
        self.good: dict[Place, bytes] = {}
        self.poisoned: dict[Place, bytes] = {}
        self._random = random.Random(seed)  # noqa: S311 - an input that can be had again
        self._servers = bootstrap_servers
        self._written = 0

    def write(self, number: int) -> None:
        """So many on each topic; returns once Kafka has them."""
        with kafka.KafkaProducer(bootstrap_servers=self._servers, linger_ms=5, max_request_size=1_048_576) as producer:
            sent = []
            for _ in range(number):
                self._written += 1
                key, poisoned = b"%d" % self._written, self._written % 100 == 50
                for topic, good in ((CONFIGS, self._push()), (CONNECTIONS, self._beat())):
                    value = self._poison(good) if poisoned else good
                    sent.append((producer.send(topic, key=key, value=value), self.poisoned if poisoned else self.good, value))
            for future, kept, value in sent:
                where = future.get(LIMIT_S)
                kept[where.topic, where.partition, where.offset] = value

    def _push(self) -> bytes:
        acks = self._random.choice(["0", "1", "all"])
        leak = [setting("ssl.key.password", "hunter2")] if self._random.random() < 0.1 else []
        when = self._random.choice([1_790_000_000_000, 0, -1, 4_102_444_800_000])
        return config_record(
            setting("acks", acks), *leak, client_id=f"c{self._written}", connection_id=self._written, received_timestamp_ms=when
        )

    def _beat(self) -> bytes:
        counts = [(name, "1.0", self._random.randint(1, 99), 100, 1) for name in ("java", "librdkafka", "kafka-python")]
        gateway = f"g{self._random.randrange(3)}"
        # An interval so long that no gateway is taken for lost while a test lasts.
        return heartbeat(self._written, counts, gateway_id=gateway, heartbeat_interval_ms=600_000, timestamp_ms=self._written)

    def _poison(self, good: bytes) -> bytes:
        kinds: list[Callable[[], bytes]] = [
            lambda: b"",
            lambda: good[: self._random.randrange(1, len(good))],
            lambda: good.replace(b'"version":1', b'"version":9'),
            lambda: b"\0" * self._random.randrange(1, 40),
            lambda: good + b"{}",
            lambda: b"\xff" * 1_000_000,  # with anything around it, more than the quarantine topic takes
        ]
        return kinds[self._written // 100 % len(kinds)]()


class Replay:
    """What must come of all that is on the two topics now.

    Args:
        skipped: places that nobody reads.
    """

    def __init__(self, bootstrap_servers: str, key: DigestKey, skipped: Collection[Place] = ()) -> None:
        self.results: dict[Place, dict[str, Any]] = {}
        self.quarantined: dict[Place, dict[str, Any]] = {}
        self.rows: dict[str, dict[Place, dict[str, Any]]] = {"pushes": {}, "connections": {}}
        self.gauges: dict[str, dict[str, Any]] = {}
        for topic, table, kernel in ((CONFIGS, "pushes", push_rows), (CONNECTIONS, "connections", connection_rows)):
            messages = read_all(bootstrap_servers, topic)
            kept = [each for each in messages if (each.topic, each.partition, each.offset) not in skipped]
            values = pa.array([message.value for message in kept], pa.binary())
            for message, row in zip(kept, kernel(values, digest_key=key).to_pylist(), strict=True):
                place = message.topic, message.partition, message.offset
                if row["decode_error"] is None:
                    self.rows[table][place] = {name: value for name, value in row.items() if name not in _NO_FIELDS}
                else:
                    self.quarantined[place] = {"reason": row["decode_error"], "length": row["length"], "digest": row["digest"]}
            if topic == CONFIGS:
                made = [
                    each
                    for message in kept
                    for each in fleets.pushed([(message.timestamp, message.value)], message.offset, message.partition, key)
                ]
                self.findings = _findings(made)
                for each in made:
                    value = json.loads(encode(each))
                    self.results[each.topic, each.partition, each.offset] = {
                        name: field for name, field in value.items() if name not in _OF_PLACE
                    }
            else:
                self._count([message.value for message in kept if (CONNECTIONS, message.partition, message.offset) in self.rows[table]])

    def _count(self, values: list[bytes]) -> None:
        """The newest of each series, and of each gateway: by what heartbeats say, and by nothing of how the job gets there."""
        for record in sorted((decode(ClientConnectionRecord, value) for value in values), key=lambda record: record.sequence):
            place = {"cluster": record.cluster_id, "broker": record.broker_id, "gateway": record.gateway_id}
            epoch, interval_ms = {"epoch": record.gateway_epoch}, {"heartbeat_interval_ms": record.heartbeat_interval_ms}
            self.gauges[_compact(list(place.values()))] = {"version": 1, **place, **epoch, **interval_ms, "host": record.gateway_host}
            for count in record.counts:
                series = {
                    **place, "listener": count.listener_name, "software_name": count.client_software_name,
                    "software_version": count.client_software_version,
                }  # fmt: skip
                numbers = {"connections": count.open_connections, "opened": count.opened_total, "closed": count.closed_total}
                self.gauges[_compact(list(series.values()))] = {"version": 1, **series, **numbers, **epoch}


def _compact(value: list[Any]) -> str:
    return json.dumps(value, separators=(",", ":"))


def _findings(pushes: list[PushResult]) -> dict[str, tuple[Any, ...]]:
    """By fingerprint, of clients that nobody knows to be connected."""
    engine = FindingsEngine({}, Policy(), Thresholds(), Conditions())
    engine.apply(pushes)
    return {which: _recorded(finding) for which, finding in engine.changes(int(time.time() * 1000)).items() if finding and _alone(finding)}


def _alone(finding: Finding) -> bool:
    """Whether it is of one application, rather than found by comparing, or of our own parts."""
    return finding.kind in ("setting", "leak")


def _recorded(finding: Finding) -> tuple[Any, ...]:
    """The fields that don't depend on which clients are connected, and that are written at once."""
    recorded = (
        finding.code,
        finding.name,
        finding.kind,
        finding.state,
        finding.severity,
        finding.confidence,
        finding.alert,
        finding.reopened,
    )
    return *recorded, finding.application, finding.settings, finding.message, finding.first_seen_ms, finding.last_seen_ms, finding.opened_ms


def findings(bootstrap_servers: str) -> dict[str, tuple[Any, ...]]:
    """The newest record of each fingerprint, which is its key."""
    newest = {message.key.decode(): message.value for message in read_all(bootstrap_servers, FINDINGS)}
    recorded = {which: Finding.model_validate_json(value) for which, value in newest.items() if value is not None}
    assert [which for which, finding in recorded.items() if finding.fingerprint != which] == []
    return {which: _recorded(finding) for which, finding in recorded.items() if _alone(finding)}


def results(bootstrap_servers: str) -> dict[Place, dict[str, Any]]:
    """Results by place; two results of one place must be equal, and under the same key."""
    return _by_place(bootstrap_servers, RESULTS, _OF_PLACE)


def quarantined(bootstrap_servers: str) -> dict[Place, dict[str, Any]]:
    """By place; as `results`."""
    return _by_place(bootstrap_servers, QUARANTINE, ("version", "topic", "partition", "offset", "timestamp_ms"))


_RATES = ("instances", "opened_per_minute", "closed_per_minute", "opened", "closed", "other_series", "clock_skew_minutes")
"""Of a gateway as a whole: what depends on when the job read its heartbeats, or on what they don't say here."""

_OF_THE_RECORD = ("sequence", "timestamp_ms")
"""Of the record that brought a value: it stays where a later one brings the same."""


def gauges(bootstrap_servers: str) -> dict[str, dict[str, Any]]:
    """The newest value of each key."""
    newest = {message.key.decode(): message.value for message in read_all(bootstrap_servers, GAUGES)}
    shown = {key: json.loads(value) for key, value in newest.items() if value is not None}
    left_out = {key: (*_OF_THE_RECORD, *(_RATES if len(json.loads(key)) == 3 else ())) for key in shown}
    return {key: {name: field for name, field in value.items() if name not in left_out[key]} for key, value in shown.items()}


def rows(history_dir: Path | str, table: str) -> dict[Place, dict[str, Any]]:
    """A Delta table's rows by place; a place that is there twice is an error."""
    try:
        found = DeltaTable(f"{history_dir}/{table}").to_pyarrow_table().to_pylist()
    except TableNotFoundError:
        return {}
    by_place = {(row["topic"], row["partition"], row["offset"]): row for row in found}
    assert len(by_place) == len(found), f"{table}: {len(found) - len(by_place)} rows twice"
    return {place: {name: field for name, field in row.items() if name not in _OF_KAFKA} for place, row in by_place.items()}


def _by_place(bootstrap_servers: str, topic: str, apart: Collection[str]) -> dict[Place, dict[str, Any]]:
    recorded: dict[Place, tuple[bytes, dict[str, Any]]] = {}
    for message in read_all(bootstrap_servers, topic):
        value = json.loads(message.value)
        rest = message.key, {name: field for name, field in value.items() if name not in apart}
        assert recorded.setdefault((value["topic"], value["partition"], value["offset"]), rest) == rest, "recorded twice, and not alike"
    return {place: rest for place, (_, rest) in recorded.items()}


def comes_out(bootstrap_servers: str, history_dir: Path | str, key: DigestKey, skipped: Collection[Place] = ()) -> None:
    """Waits until everything that was written has come out, and compares it with what the input alone says."""
    expected = Replay(bootstrap_servers, key, skipped)
    until(lambda: results(bootstrap_servers).keys() >= expected.results.keys())
    until(lambda: gauges(bootstrap_servers), expected.gauges)
    for table in ("pushes", "connections"):
        until(lambda table=table: rows(history_dir, table).keys() >= expected.rows[table].keys())
    until(lambda: quarantined(bootstrap_servers).keys() >= expected.quarantined.keys() | set(skipped))
    assert results(bootstrap_servers) == expected.results
    eventually(lambda: findings(bootstrap_servers) == expected.findings)
    said = findings(bootstrap_servers)
    differing = [(said.get(which), recorded) for which, recorded in expected.findings.items() if said.get(which) != recorded]
    assert differing == [], differing[0]
    assert {which: recorded for which, recorded in said.items() if which not in expected.findings} == {}
    recorded = quarantined(bootstrap_servers)
    assert {place: recorded.pop(place)["reason"] for place in skipped} == dict.fromkeys(skipped, "crashed")
    assert recorded == expected.quarantined
    for table in ("pushes", "connections"):
        assert rows(history_dir, table) == expected.rows[table]
