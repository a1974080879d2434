"""A `State` with clients, pushes and findings, as tests of the page's lists need it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any
from uuid import UUID

from every import every
from fastapi.testclient import TestClient
from golden import is_golden
from page_app import page_app
from prometheus_client.exposition import generate_latest
from prometheus_client.parser import text_string_to_metric_families
from record_bytes import config_record, connection_record, setting

from clientscope.model.client_key import client_key
from clientscope.model.codec import adapter, encode_whole
from clientscope.model.enums import Kind
from clientscope.model.status import BrokerStatus, ProcessStatus
from clientscope.model.topics import CONFIGS, CONNECTIONS, FINDINGS, GAUGES, RESULTS, STATUS
from clientscope.profiles.owners import NO_OWNERS, Owners
from sinks.dashboard.api.metrics import registry
from sinks.dashboard.state.known import TopicRecord
from sinks.dashboard.state.state import State
from streaming.checkpoints.plans import PLANS

NOW_MS = 1_795_330_000_000
INSTANCE = UUID("12345678-1234-5678-1234-567812345678")


def opened(number: int, *, gateway: str = "gw", at_ms: int = NOW_MS - 60_000, kind: Kind = Kind.OPENED, **fields: Any) -> TopicRecord:
    """An open connection; ``number`` is the record's sequence and the connection's."""
    made = {"gateway": gateway, "connection": number, "timestamp_ms": at_ms, "client_id": "app", "address": "10.0.0.1"}
    return TopicRecord(CONNECTIONS, at_ms, gateway.encode(), connection_record(number, kind=kind, **{**made, **fields}))


def beat(sequence: int, *counts: tuple[str, str, int], **fields: Any) -> TopicRecord:
    """A heartbeat, with how many connections of each software and version are open; other arguments as of `opened`."""
    return opened(sequence, kind=Kind.HEARTBEAT, **{"connection": -1, "counts": [(*each, 0, 0) for each in counts], **fields})


def pushed(offset: int, *settings: Any, at_ms: int = NOW_MS - 50_000, key: str = "gw/1/1", **fields: Any) -> TopicRecord:
    """A push, as it lies on ``clientscope.configs``."""
    made = {"client_id": "app", "address": "10.0.0.1", "principal": None, **fields}
    value = config_record(*(settings or (setting("acks", "all"),)), **made)
    return TopicRecord(CONFIGS, at_ms, key.encode(), value, offset=offset)


def result(
    offset: int,
    *,
    at_ms: int = NOW_MS - 49_000,
    rules: Iterable[str | tuple[str, str]] = (),
    passed: Iterable[str] = ("AN101",),
    **fields: Any,
) -> TopicRecord:
    """What the rules said of a push; those that fired by code, of severity high, or by code and severity."""
    fired = [(each, "high") if isinstance(each, str) else each for each in rules]
    value = {
        "version": 1, "topic": CONFIGS, "partition": 0, "offset": offset, "appended_ms": at_ms, "received_ms": at_ms, "cluster": "c",
        "broker": 1, "gateway": "gw", "epoch": 1, "connection": 1, "listener": "CLIENT", "security_protocol": "PLAINTEXT",
        "address": "10.0.0.1", "client_id": "app", "software_name": "unknown", "software_version": "unknown", "origin": "pushed",
        "application": "[null,\"app\",null]", "setting_count": 1, "redacted_count": 0, "passed": list(passed),
        "rules": [{"code": code, "name": "", "severity": severity, "message": ""} for code, severity in fired], **fields,
    }  # fmt: skip
    whose = (value.get(each) for each in ("cluster", "principal", "address", "instance_id", "gateway", "epoch", "connection"))
    value["client"] = client_key(*whose)
    return TopicRecord(RESULTS, at_ms, b"app", json.dumps(value).encode())


def found(number: int, **fields: Any) -> TopicRecord:
    """A finding; without ``state`` in ``fields`` an open one of severity high, of the client ``app`` at 10.0.0.1."""
    fingerprint = f"{number:032x}"
    value = {
        "fingerprint": fingerprint, "code": "AN101", "name": "acks-zero", "kind": "setting", "severity": "high", "state": "open",
        "message": "Set acks.", "client_count": 1, "clients": [{"client_id": "app", "address": "10.0.0.1"}],
        "application": {"client_id": "app"}, "first_seen_ms": 1, "last_seen_ms": 2, "opened_ms": 1, **fields,
    }  # fmt: skip
    return TopicRecord(FINDINGS, NOW_MS - 40_000, fingerprint.encode(), json.dumps(value).encode())


def gauge(
    count: int | None,
    name: str = "librdkafka",
    version: str = "1.0",
    *,
    cluster: str = "c",
    broker: int = 1,
    gateway: str = "gw",
    at_ms: int = NOW_MS,
    **fields: Any,
) -> TopicRecord:
    """How many connections of a client's software a gateway has; None is a tombstone."""
    place = {
        "cluster": cluster, "broker": broker, "gateway": gateway, "listener": "CLIENT", "software_name": name, "software_version": version,
    }  # fmt: skip
    value = None if count is None else json.dumps({**place, "connections": count, **fields}).encode()
    return TopicRecord(GAUGES, at_ms, json.dumps([*place.values()]).encode(), value)


def of_gateway(broker: int = 1, *, cluster: str = "c", gateway: str = "gw", at_ms: int = NOW_MS, **figures: Any) -> TopicRecord:
    """A gateway's own figures, beside its gauges; without any a tombstone."""
    value = json.dumps({"cluster": cluster, "broker": broker, "gateway": gateway, **figures}).encode() if figures else None
    return TopicRecord(GAUGES, at_ms, json.dumps([cluster, broker, gateway]).encode(), value)


def live(*records: TopicRecord, owners: Owners = NO_OWNERS, **limits: int) -> State:
    """A state that has read these to their end."""
    state = State(owners, **limits)
    state.apply(records)
    state.live()
    return state


def process(kind: Any = "query", name: str = next(iter(PLANS)), *, at_ms: int = NOW_MS, **fields: Any) -> TopicRecord:
    """What a process says of itself."""
    made = {"condition": "ok", "started_ms": 1, "told_ms": at_ms + 90_000, "interval_ms": 5_000, **fields}
    return _said(ProcessStatus, {"kind": kind, "id": name, **made}, at_ms)


def broker(number: int = 1, *, at_ms: int = NOW_MS, **fields: Any) -> TopicRecord:
    """What its gateway says of a broker."""
    made = {"cluster": "c", "broker": number, "told_ms": 1, "interval_ms": 60_000, "gateway": f"gw{number}", **fields}
    return _said(BrokerStatus, {"id": f"{made['cluster']}/{number}", **made}, at_ms)


def _said(of: type[ProcessStatus] | type[BrokerStatus], made: dict[str, Any], at_ms: int) -> TopicRecord:
    status: Any = adapter(of).validate_python(made, strict=False)
    return TopicRecord(STATUS, at_ms, status.key, encode_whole(status))


def browser(state: State, now_ms: Callable[[], int] = lambda: NOW_MS, **parts: Any) -> TestClient:
    """A browser of the page that shows this, on the same machine."""
    return TestClient(page_app(state, now_ms, **parts), base_url="http://localhost")


_LABELS = (
    "cluster", "broker", "gateway", "listener", "client_software_name", "client_software_version", "topic", "reason", "severity", "state",
)  # fmt: skip


def samples(state: State, name: str) -> dict[tuple[str, ...], float]:
    """The samples of a metric of the page, each by the values of its labels."""
    text = generate_latest(registry(state)).decode()
    return {
        tuple(sample.labels[label] for label in _LABELS if label in sample.labels): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.name == name
    }


def answers(http: TestClient, paths: Iterable[str], brief: Callable[[Any], Any] = lambda body: body) -> str:
    """What the API says to each of these, in short: a text for `golden.is_golden`."""
    text = ""
    for path in paths:
        answer = http.get(f"/api/v1/{path}")
        body = brief(answer.json()) if answer.status_code == 200 else answer.json()
        text += f"GET {path}\n{answer.status_code} {json.dumps(body, ensure_ascii=False)}\n\n"
    return text


def says(http: TestClient, test: str, name: str, brief: Callable[[Any], Any] = lambda body: body) -> bool:
    """Whether the API says, in short, to all that the text of that name beside a test's ``__file__`` asks for what stands there."""
    asked = re.findall(r"^GET (.*)$", (Path(test).parent / "golden" / name).read_text(), re.MULTILINE)
    return is_golden(answers(http, every(asked), brief), test, name)
