"""Clients, connections, pushes and findings for the page's benchmarks, in any number: of all kinds of names, some unlike all others."""

from __future__ import annotations

import json
import random
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

from fastapi import FastAPI
from prometheus_client import CollectorRegistry

from bench import records
from clientscope.bounded_http import refusals
from clientscope.clock import now_ms
from clientscope.model.connection import SeriesCount
from clientscope.model.enums import Kind
from clientscope.model.topics import CONFIGS, CONNECTIONS, FINDINGS, GAUGES
from sinks.dashboard.api.app import create_app
from sinks.dashboard.http import files
from sinks.dashboard.http.access import Access, Visitor
from sinks.dashboard.past.asking import Past
from sinks.dashboard.state.known import TopicRecord
from sinks.dashboard.state.state import State

BATCH = 2_000
"""Records that a reader takes at once."""

STEP_S = 0.2
"""How often one does, where little comes."""

SOFTWARE = [(name, f"{major}.{minor}.{patch}") for name in ("apache-kafka-java", "librdkafka", "kafka-python", "franz-go", "sarama")
            for major in (2, 3, 4) for minor in range(6) for patch in range(3)]  # fmt: skip


class Load:
    """A fleet with so many open connections, and the changes in it."""

    def __init__(self, connections: int) -> None:
        self._connections = connections
        self._events = _events(connections)

    def opened(self) -> list[TopicRecord]:
        """The connections, as they opened."""
        return [next(self._events) for _ in range(self._connections)]

    def gauges(self) -> list[TopicRecord]:
        """What the job counted of them: a series for each version."""
        return [_gauge(name, version, self._connections // len(SOFTWARE)) for name, version in SOFTWARE]

    def findings(self) -> list[TopicRecord]:
        """A thousand."""
        return _findings()

    def pushes(self, count: int) -> list[TopicRecord]:
        """Of as many clients, one each."""
        dice = random.Random(9)  # noqa: S311 - no secret
        return [_push(number, _client(dice, self._connections)) for number in range(count)]

    def change(self, state: State, per_second: int, applied: list[int]) -> None:
        """Applies what closes and opens, for ever, in a thread of its own; how many is counted in ``applied``."""
        aside(self._change, state, per_second, applied)

    def _change(self, state: State, per_second: int, applied: list[int]) -> None:
        due = time.monotonic()
        while True:
            batch = [next(self._events) for _ in range(int(per_second * STEP_S))]
            state.apply(batch)
            applied[0] += len(batch)
            due += STEP_S
            time.sleep(max(0.0, due - time.monotonic()))


def page_app(state: State) -> FastAPI:
    """The page of this, for everybody on this machine, without configurations and history."""
    return create_app(
        state, files.load(), now_ms, alive=lambda: True, stopping=lambda: False, data_docs_dir=None,
        access=Access(anyone=Visitor("local", "admin"), loopback_only=True), fetch=lambda places: {},
        write=lambda *written: None, past=Past(None), refused=refusals(CollectorRegistry()),
    )  # fmt: skip


def aside(work: Callable[..., None], *arguments: Any) -> None:
    """In a thread that ends with the process."""
    threading.Thread(target=work, args=arguments, daemon=True).start()


def read(state: State, records: list[TopicRecord]) -> float:
    """Applies records as a reader does that catches up; returns the seconds that it took."""
    begin = time.perf_counter()
    for at in range(0, len(records), BATCH):
        state.apply(records[at : at + BATCH])
    return time.perf_counter() - begin


def _events(connections: int) -> Iterator[TopicRecord]:
    """Connections that open, as many as wanted; then closes and opens by turns."""
    dice = random.Random(8)  # noqa: S311 - no secret
    open_now: list[tuple[int, dict[str, Any]]] = []
    for sequence in range(1 << 62):
        if len(open_now) >= connections and sequence % 2:
            place = dice.randrange(len(open_now))
            open_now[place], open_now[-1] = open_now[-1], open_now[place]
            yield _record(Kind.CLOSED, sequence, *open_now.pop())
        else:
            open_now.append((sequence, _client(dice, connections)))
            yield _record(Kind.OPENED, sequence, *open_now[-1])


def _client(dice: random.Random, connections: int) -> dict[str, Any]:
    number = dice.randrange(connections) if dice.random() < 1 / 3 else dice.randrange(max(1, connections // 20))
    kind = ("orders", "payments", "stock", "audit", "search", "mail", "billing", "fraud")[number % 8]
    name, version = SOFTWARE[(number // 50 * 7 + number % 2) % len(SOFTWARE)]  # an application has one library, in two versions
    return {
        "client_id": None if number % 50 == 0 else f"{kind}-{number % 997}-{number}",
        "principal": None if number % 10 == 0 else f"User:app-{number // 50}",
        "address": f"10.{number >> 12 & 255}.{number >> 4 & 255}.{number & 15}",
        "software_name": name,
        "software_version": version,
    }


def _record(kind: Kind, sequence: int, connection: int, client: dict[str, Any]) -> TopicRecord:
    name, version = client["software_name"], client["software_version"]
    touched = (SeriesCount("CLIENT", name, version, 1, 1, 0),)
    value = records.connection(sequence, kind, touched, timestamp_ms=now_ms(), connection=connection, **client)
    return TopicRecord(CONNECTIONS, now_ms(), b"gw", value)


def _findings() -> list[TopicRecord]:
    made = []
    for number in range(1_000):
        fingerprint = f"{number:032x}"
        value = {
            "fingerprint": fingerprint, "code": f"AN{101 + number % 17}", "name": "x", "kind": "setting",
            "severity": ("low", "medium", "high", "critical")[number % 4], "state": "open", "message": "m", "client_count": 50,
            "application": {"principal": f"User:app-{number // 50}", "client_id": f"orders-{number % 997}"},
            "first_seen_ms": 1, "last_seen_ms": 1, "opened_ms": 1,
        }  # fmt: skip
        made.append(TopicRecord(FINDINGS, 1, fingerprint.encode(), json.dumps(value).encode()))
    return made


def _push(number: int, client: dict[str, Any]) -> TopicRecord:
    settings = (records.setting(key, value) for key, value in (("acks", "all"), ("linger.ms", "5"), ("compression.type", "lz4")))
    value = records.push(settings, received_ms=now_ms(), connection=number, **client)
    return TopicRecord(CONFIGS, now_ms(), f"gw/1/{number}".encode(), value, offset=number)


def _gauge(name: str, version: str, connections: int) -> TopicRecord:
    key = ["c", 1, "gw", "CLIENT", name, version]
    fields = ("cluster", "broker", "gateway", "listener", "software_name", "software_version")
    value = {**dict(zip(fields, key, strict=True)), "connections": connections}
    return TopicRecord(GAUGES, now_ms(), json.dumps(key).encode(), json.dumps(value).encode())
