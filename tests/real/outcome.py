"""What comes out of the job for an input: the content of its topics and tables, held to the input itself and to `oracle`."""

from __future__ import annotations

import hmac
import json
import random
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

import kafka
import oracle
from deltalake import DeltaTable
from deltalake.exceptions import TableNotFoundError
from observe import newest, read_all
from patience import LIMIT_S, until
from record_bytes import config_record, heartbeat, setting

from clientscope.digest import DigestKey
from clientscope.model.topics import CONFIGS, CONNECTIONS, FINDINGS, GAUGES, QUARANTINE, RESULTS

Place = tuple[str, int, int]
_OF_PLACE = ("version", "topic", "partition", "offset")
_SHARED = (
    "received_ms", "cluster", "broker", "gateway", "epoch", "connection", "listener", "security_protocol", "address", "client_id",
    "software_name", "software_version", "origin",
)  # fmt: skip
"""Fields that a push's result has of its record."""
_OF_KAFKA = ("topic", "partition", "offset", "timestamp", "date")
LEAKED = "ssl.key.password"
_BY_CLIENTS = ("clients", "client_count", "places")
"""Of a finding what depends on who is connected, and is written half a minute later."""


class Input:
    """Writes records of both topics, by a seed; one in a hundred is no record.

    Attributes:
        poisoned: the values that are no record, by place.
    """

    def __init__(self, bootstrap_servers: str, seed: int) -> None:
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
                    sent.append((producer.send(topic, key=key, value=value), poisoned, value))
            for future, poisoned, value in sent:
                where = future.get(LIMIT_S)
                if poisoned:
                    self.poisoned[where.topic, where.partition, where.offset] = value

    def _push(self) -> bytes:
        acks = self._random.choice(["0", "1", "all"])
        leak = [setting(LEAKED, "hunter2")] if self._random.random() < 0.1 else []
        when = self._random.choice([1_790_000_000_000, 0, -1, 4_102_444_800_000])
        return config_record(setting("acks", acks), *leak, client_id=f"c{self._written}", connection=self._written, received_ms=when)

    def _beat(self) -> bytes:
        counts = [(name, "1.0", self._random.randint(1, 99), 100, 1) for name in ("java", "librdkafka", "kafka-python")]
        gateway = f"g{self._random.randrange(3)}"
        # An interval so long that no gateway is taken for lost while a test lasts.
        return heartbeat(self._written, counts, gateway=gateway, heartbeat_interval_ms=600_000, timestamp_ms=self._written)

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


def results(bootstrap_servers: str) -> dict[Place, dict[str, Any]]:
    """Results by place; two results of one place must be equal, and under the same key."""
    return _by_place(bootstrap_servers, RESULTS, _OF_PLACE)


def quarantined(bootstrap_servers: str) -> dict[Place, dict[str, Any]]:
    """By place; as `results`."""
    return _by_place(bootstrap_servers, QUARANTINE, (*_OF_PLACE, "timestamp_ms"))


def _reason(value: bytes) -> str | None:
    """Why it is no record; None if it is one."""
    if len(value) > 1_048_588:
        return "too_large"
    try:
        return None if json.loads(value)["version"] == 1 else "unknown_version"
    except ValueError:
        return "not_json"


def _digest(key: DigestKey, value: bytes) -> str:
    return hmac.new(key.secret, value, "sha256").hexdigest()


def _compares_results(servers: str, pushes: dict[Place, dict[str, Any]], key: DigestKey) -> list[dict[str, Any]]:
    """Compares each push with its result; returns the results."""
    found = results(servers)
    assert found.keys() == pushes.keys()
    for place, result in found.items():
        push, settings = pushes[place], pushes[place]["settings"]
        assert {name: result.get(name) for name in _SHARED} == {name: push.get(name) for name in _SHARED}
        assert result["appended_ms"] == push["appended_ms"]
        assert result["client"] == f"{push['gateway']}/{push['epoch']}/{push['connection']}"
        assert json.loads(result["application"]) == [None, push["client_id"], None]
        shown = dict(settings)
        if LEAKED in settings:
            shown[LEAKED] = {"reason": "key_prefix", "length": len(settings[LEAKED]), "digest": _digest(key, settings[LEAKED].encode())}
        assert result["configuration"] == shown
        fired = {rule["code"] for rule in result.get("rules", ())}
        acks = settings.get("acks")
        assert fired == {code for code, fires in (("AN101", acks == "0"), ("AN116", acks == "1"), ("SK001", LEAKED in settings)) if fires}
    return [{"partition": partition, "offset": offset, **result} for (_, partition, offset), result in found.items()]


def _compares_rows(found: dict[Place, dict[str, Any]], records: dict[Place, dict[str, Any]]) -> None:
    assert found.keys() == records.keys()
    for place, row in found.items():
        record = records[place]
        assert {name: row[name] for name in record.keys() & row.keys()} == {name: record[name] for name in record.keys() & row.keys()}
        if "configs" in row:
            shown = {each["config_key"]: each["config_value"] for each in row["configs"]}
            assert shown == {name: value if name != LEAKED else None for name, value in record["settings"].items()}


def _findings(bootstrap_servers: str) -> dict[str, dict[str, Any]]:
    """What the newest records say of applications and secrets; each alerts once."""
    values = {key.decode(): json.loads(value) for key, value in newest(bootstrap_servers, FINDINGS).items() if value is not None}
    for key, each in values.items():
        assert each["fingerprint"] == key
        if each["kind"] in ("setting", "leak"):
            opened_ms = each["first_seen_ms"]
            assert (each["reopened"], each["opened_ms"], each["alert"]) == (0, opened_ms, {"number": 1, "why": "new", "at_ms": opened_ms})
    return _without_clients(oracle.recorded(values.values()))


def _without_clients(found: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {which: {name: field for name, field in each.items() if name not in _BY_CLIENTS} for which, each in found.items()}


def gauges(bootstrap_servers: str) -> dict[str, dict[str, Any]]:
    """The newest value of each key."""
    values = newest(bootstrap_servers, GAUGES)
    return oracle.recorded_gauges({key.decode(): json.loads(value) for key, value in values.items() if value is not None})


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
    """Waits until everything that was written has come out, and compares it with what the input alone says.

    Args:
        skipped: places that nobody reads.
    """
    records: dict[str, dict[Place, dict[str, Any]]] = {CONFIGS: {}, CONNECTIONS: {}}
    none: dict[Place, dict[str, Any]] = {}
    for topic, of in records.items():
        for message in read_all(bootstrap_servers, topic):
            place = topic, message.partition, message.offset
            if place in skipped:
                continue
            if (reason := _reason(message.value)) is None:
                of[place] = json.loads(message.value) | {"appended_ms": message.timestamp}
            else:
                none[place] = {"reason": reason, "length": len(message.value), "digest": _digest(key, message.value)}
    inputs = [
        {"partition": partition, "offset": offset, "appended_ms": each["appended_ms"], "record": each}
        for (_, partition, offset), each in records[CONNECTIONS].items()
    ]
    until(lambda: results(bootstrap_servers).keys() >= records[CONFIGS].keys())
    pushes = _compares_results(bootstrap_servers, records[CONFIGS], key)
    until(lambda: gauges(bootstrap_servers), oracle.gauges(inputs))
    for table, topic in (("pushes", CONFIGS), ("connections", CONNECTIONS)):
        until(lambda table=table, topic=topic: rows(history_dir, table).keys() >= records[topic].keys())
        _compares_rows(rows(history_dir, table), records[topic])
    until(lambda: quarantined(bootstrap_servers).keys() >= none.keys() | set(skipped))
    recorded = quarantined(bootstrap_servers)
    assert {place: recorded.pop(place)["reason"] for place in skipped} == dict.fromkeys(skipped, "crashed")
    assert recorded == none
    newest_ms = max(each["appended_ms"] for each in (*pushes, *inputs))
    until(lambda: _findings(bootstrap_servers), _without_clients(oracle.findings(pushes, inputs, newest_ms)))
