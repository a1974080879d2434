"""The page in a real browser, from real records on a real broker's topics: what it shows, and how soon."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from kafka import KafkaProducer
from made_findings import made
from page_browser import SECONDS, watched
from playwright.sync_api import Browser, expect

from clientscope.findings.record import Application, Finding
from clientscope.records.codec import ClientConnectionRecord, encode
from clientscope.records.layouts import Kind
from clientscope.records.topics import CONNECTIONS, FINDINGS, GAUGES, RESULTS

START = """
import sys
from clientscope.config import ServeSettings
from sinks.dashboard.server import run
run(ServeSettings(bootstrap_servers=sys.argv[1], listen="127.0.0.1:0", data_docs_dir=sys.argv[2]))
"""


class Topics:
    """Writes what a gateway and the streaming job would write."""

    def __init__(self, bootstrap_servers: str) -> None:
        self.gateway = f"page-test-{uuid4()}"
        self._epoch = time.time_ns() // 1_000_000
        self._sequence = 0
        self._found: set[bytes] = set()
        self._producer = KafkaProducer(bootstrap_servers=bootstrap_servers)

    def gauge(self, name: str, version: str, count: int) -> None:
        key = ["cluster-1", 1, self.gateway, "CLIENT", name, version]
        fields = ("cluster", "broker", "gateway", "listener", "software_name", "software_version")
        self._send(GAUGES, _json(key), _json({**dict(zip(fields, key, strict=True)), "connections": count}) if count else None)

    def connection(self, kind: Kind, connection: int, **fields: Any) -> None:
        record = ClientConnectionRecord(
            **{
                "kind": kind,
                "cluster_id": "cluster-1",
                "broker_id": 1,
                "gateway_id": self.gateway,
                "gateway_epoch": self._epoch,
                "sequence": self._sequence,
                "timestamp_ms": time.time_ns() // 1_000_000,
                "connection_id": connection,
                "listener_name": "CLIENT",
                "security_protocol": "PLAINTEXT",
                "client_address": "10.20.30.40",
                **fields,
            }
        )
        self._sequence += 1
        self._send(CONNECTIONS, self.gateway.encode(), encode(record))

    def heartbeat(self, interval_ms: int) -> None:
        self.connection(Kind.HEARTBEAT, -1, heartbeat_interval_ms=interval_ms, heartbeat_parts=1)

    def result(self, offset: int, client_id: str, *rules: dict[str, Any], **codes: list[str]) -> None:
        value = {
            "topic": f"clientscope.configs/{self.gateway}",
            "partition": 0,
            "offset": offset,
            "received_ms": time.time_ns() // 1_000_000,
            "cluster": "cluster-1",
            "broker": 1,
            "gateway": self.gateway,
            "epoch": self._epoch,
            "connection": 1,
            "listener": "CLIENT",
            "security_protocol": "PLAINTEXT",
            "address": "10.20.30.40",
            "principal": None,
            "client_id": client_id,
            "software_name": "kafka-python",
            "software_version": "3.0.12",
            "instance_id": None,
            "origin": "pushed",
            "application": json.dumps([None, client_id, None]),
            "settings": 25,
            "redacted": 1,
            "rules": list(rules),
            **codes,
        }
        self._send(RESULTS, _json([None, client_id, None]), _json(value))

    def finding(self, finding: Finding) -> Finding:
        """Under a fingerprint of its own, since the topic is other tests' too."""
        finding = finding.model_copy(update={"fingerprint": uuid4().hex})
        self.found_again(finding)
        return finding

    def found_again(self, finding: Finding) -> None:
        self._found.add(finding.fingerprint.encode())
        self._send(FINDINGS, finding.fingerprint.encode(), finding.model_dump_json().encode())

    def broken(self) -> None:
        self._found.add(b"key")
        for topic in (GAUGES, CONNECTIONS, RESULTS, FINDINGS):
            self._send(topic, b"key", b"\x00\xffno record")

    def _send(self, topic: str, key: bytes, value: bytes | None) -> None:
        self._producer.send(topic, key=key, value=value).get(10)

    def close(self) -> None:
        for fingerprint in self._found:
            self._send(FINDINGS, fingerprint, None)
        self._producer.close()


def _json(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


def _rule(settings: list[dict[str, Any]], message: str = "") -> dict[str, Any]:
    return {
        "code": "SK001",
        "name": "pushed_credential",
        "severity": "critical",
        "settings": settings,
        "message": message,
    }


@pytest.fixture
def topics(broker: Any) -> Iterator[Topics]:
    writer = Topics(broker.internal)
    yield writer
    writer.heartbeat(0)  # its goodbye
    writer.close()


@pytest.fixture
def address(broker: Any, tmp_path: Path) -> Iterator[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", START, broker.internal, str(tmp_path / "data-docs")], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    try:
        ready = process.stdout.readline()
        assert ready.startswith("clientscope serve: ready at http://127.0.0.1:"), ready
        yield ready.split()[-1]
        process.send_signal(signal.SIGTERM)
        assert process.wait(15) == 0
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def test_the_page_shows_what_is_on_the_topics_and_follows_it(topics: Topics, address: str, browser: Browser) -> None:
    name, client = f"soft-{uuid4().hex[:8]}", f"client-{uuid4().hex[:8]}"
    topics.heartbeat(60_000)
    topics.gauge(name, "1.2.3", 7)
    topics.connection(Kind.OPENED, 1, client_id=client, client_software_name=name, client_software_version="1.2.3", principal="User:anna")
    topics.result(1, client, _rule([], "This client pushed a credential."))
    topics.result(2, f"{client}-clean", passed=["SK001"])
    topics.result(3, f"{client}-open", not_evaluable=["SK001"])
    common = {"application": Application(client_id=client, principal="User:anna"), "message": f"{client}, User:anna (acks): set acks=all"}
    setting = topics.finding(made(**common, client_count=1240))
    topics.broken()

    with watched(browser) as opens:
        page = opens(f"{address}?mix=all")
        expect(page.locator("#feed")).to_have_text("Live")
        mix = page.locator("section:has(#mix) tr.row", has_text=name)
        expect(mix).to_contain_text("1.2.3")
        expect(mix.locator("td").last).to_have_text("7")
        newest = page.locator("section:has(#newest) tr.row")
        expect(newest.filter(has_text=f"{client}-clean").locator("td").last).to_have_text("clean")
        expect(newest.filter(has_text=f"{client}-open").locator("td").last).to_have_text("–")
        expect(page.locator(".notices")).to_contain_text("could not be decoded")
        topics.gauge(name, "1.2.3", 8)
        expect(mix.locator("td").last).to_have_text("8", timeout=2 * SECONDS)

        page.goto(f"{address}?view=clients&q={client}")
        row = page.locator(".list tr.row", has_text=client)
        for text in (name, "10.20.30.40", "User:anna"):
            expect(row).to_contain_text(text)
        topics.connection(Kind.OPENED, 2, client_id=f"{client}-new")
        expect(page.locator(".list tr.row", has_text=f"{client}-new")).to_be_visible(timeout=2 * SECONDS)
        topics.connection(Kind.CLOSED, 1)
        expect(row).to_have_count(1, timeout=2 * SECONDS)

        page.goto(f"{address}?view=findings&q=client_id:{client}")
        listed = page.locator(".list tr.row", has_text=client)
        expect(listed).to_contain_text("1,240")
        topics.found_again(setting.model_copy(update={"state": "resolved", "ended_ms": setting.last_seen_ms}))
        expect(listed).to_have_count(0, timeout=2 * SECONDS)
