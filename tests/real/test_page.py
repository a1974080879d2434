"""The page in a real browser, from real records on a real broker's topics: what it shows, how soon, and that nothing runs in it."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from kafka import KafkaProducer
from made_findings import leak, made
from playwright.sync_api import Browser, Page, expect, sync_playwright
from prometheus_client import CollectorRegistry
from quality_batches import NOW_MS, a_batch, connections, import_the_library
from record_bytes import connection_record

from clientscope.findings.record import Application, Decided, Finding, Place
from clientscope.records.codec import ClientConnectionRecord, Kind, encode
from clientscope.records.topics import CONNECTIONS, FINDINGS, GAUGES, RESULTS
from sinks.findings.conditions import Conditions
from sinks.quality.quality import Quality

CHROMIUM = "/usr/bin/chromium"
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
HOSTILE = "<img src=x onerror=alert(1)>"
SECONDS = 1_000
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


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=CHROMIUM, headless=True, args=FLAGS)
        yield started
        started.close()


@pytest.fixture
def open_page(browser: Browser) -> Iterator[Callable[..., Page]]:
    """Opens pages; any message of warning or error on a console, and any violation of the policy, fails the test."""
    complaints: list[str] = []
    contexts = []

    def open_one(address: str, **options: Any) -> Page:
        context = browser.new_context(**options)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(10 * SECONDS)
        # In a sandbox not even the script below may run, and only that one tries.
        blocked = re.compile(rf"Blocked script execution in '{address}data-docs/")
        page.on("console", lambda m: complaints.append(m.text) if m.type in ("error", "warning") and not blocked.match(m.text) else None)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("dialog", lambda dialog: (complaints.append("a dialog"), dialog.dismiss()))
        page.add_init_script(
            "addEventListener('securitypolicyviolation', (e) => console.error('violates', e.violatedDirective, e.blockedURI))"
        )
        page.goto(address)
        return page

    yield open_one
    for context in contexts:
        context.close()
    assert complaints == []


def test_the_page_shows_gauges_clients_and_findings_and_follows_them(topics: Topics, address: str, open_page: Callable[..., Page]) -> None:
    name, client = f"soft-{uuid4().hex[:8]}", f"client-{uuid4().hex[:8]}"
    topics.heartbeat(60_000)
    topics.gauge(name, "1.2.3", 7)
    topics.connection(Kind.OPENED, 1, client_id=client, client_software_name=name, client_software_version="1.2.3", principal="User:anna")
    topics.result(1, client, _rule([], "This client pushed a credential."))
    topics.result(2, f"{client}-clean", passed=["SK001"])
    topics.result(3, f"{client}-open", not_evaluable=["SK001"])
    topics.broken()

    page = open_page(address)
    expect(page.locator("#feed")).to_have_text("Live")
    gauge = page.locator("#software tbody tr", has_text=name)
    expect(gauge).to_contain_text("1.2.3")
    expect(gauge.locator("b")).to_have_text("7")
    row = page.locator("#clients tbody tr", has_text=client)
    for text in (name, "10.20.30.40", "User:anna", topics.gateway):
        expect(row).to_contain_text(text)
    expect(page.locator("#pushes tbody tr", has_text=client).locator(".pill").first).to_have_text("SK001")
    expect(page.locator("#pushes tbody tr", has_text=f"{client}-clean").locator("td").last).to_have_text("clean")
    expect(page.locator("#pushes tbody tr", has_text=f"{client}-open").locator("td").last).to_have_text("–")
    expect(page.locator("#notices")).to_contain_text("could not be decoded")

    page.evaluate("globalThis.notReloaded = true")
    node = gauge.element_handle()
    topics.gauge(name, "1.2.3", 8)
    topics.connection(Kind.OPENED, 2, client_id=f"{client}-new")
    expect(gauge.locator("b")).to_have_text("8", timeout=2 * SECONDS)
    expect(page.locator("#clients tbody tr", has_text=f"{client}-new")).to_be_visible(timeout=2 * SECONDS)
    assert node is not None
    assert node.evaluate("(node) => node.isConnected")  # changed in place

    topics.gauge(name, "1.2.3", 0)
    topics.connection(Kind.CLOSED, 1)
    expect(gauge).to_have_count(0, timeout=2 * SECONDS)
    expect(row).to_have_count(1, timeout=2 * SECONDS)
    assert page.evaluate("globalThis.notReloaded")


def test_findings_are_listed_explained_and_followed(topics: Topics, address: str, open_page: Callable[..., Page]) -> None:
    name = f"app-{uuid4().hex[:8]}"
    whose = Application(client_id=name, principal="User:anna")
    setting = topics.finding(made(application=whose, client_count=1240))
    secret = topics.finding(leak(application=whose, places=[Place(application=whose, key="sasl.jaas.config", clients=2)], place_count=1))
    topics.finding(leak(code="SK004", severity="medium", confidence="low", application=whose, places=[], place_count=0))
    decided = Decided(resolution="rotated", by="ada", why="new since Monday", at_ms=setting.opened_ms)
    topics.finding(made(code="AN999", state="closed", application=whose, decided=decided, link="javascript:alert(1)"))

    page = open_page(address)
    listed = page.locator("#findings li.finding", has_text=name)
    expect(listed).to_have_count(2)
    expect(listed.locator(".pill")).to_have_text(["critical", "high"])
    expect(listed.nth(1)).to_contain_text("1,240 clients")
    link = listed.nth(1).get_by_role("link", name="AN101")
    assert (link.get_attribute("href"), link.get_attribute("rel")) == (setting.link, "noopener noreferrer")

    listed.nth(0).get_by_role("button").click()
    told = [
        "sasl.jaas.config", "key infix, 90 bytes", "a file that only the client reads", "redacted at gw-1", "clientscope.configs-0@42",
        "2 clients, last seen", "this one may have been rotated", "nobody is named", secret.fingerprint,
    ]  # fmt: skip
    for text in told:
        expect(listed.nth(0).locator(".details")).to_contain_text(text)
    page.locator("#doubtful summary").click()
    expect(page.locator("#low li.finding", has_text=name)).to_contain_text("SK004")

    topics.found_again(setting.model_copy(update={"state": "resolved", "ended_ms": setting.last_seen_ms}))
    expect(listed).to_have_count(1, timeout=2 * SECONDS)
    expect(listed.locator(".details")).to_be_visible()  # what is being read stays open
    page.locator("#findings-view").select_option("closed")
    expect(listed).to_have_count(1)
    expect(listed.locator(".rule")).to_have_text("AN999")
    assert listed.get_by_role("link").count() == 0
    listed.get_by_role("button").click()
    expect(listed.locator(".details")).to_contain_text("rotated, by ada")
    page.locator("#findings-severity").select_option("critical")
    expect(page.locator("#findings")).to_contain_text("There is no closed critical finding.")


def test_data_docs_open_from_the_page_and_need_nothing_but_themselves(address: str, open_page: Callable[..., Page], tmp_path: Path) -> None:
    page = open_page(address)
    expect(page.locator("#feed")).to_have_text("Live")
    expect(page.locator("#data-docs")).to_be_hidden()
    import_the_library()
    quality = Quality(tmp_path / "data-docs", Conditions(), CollectorRegistry())
    quality.look(CONNECTIONS, a_batch(CONNECTIONS, connections(connection_record(99, kind=5, timestamp_ms=NOW_MS))))

    requests: list[str] = []
    for scheme in ("light", "dark"):
        page = open_page(address, color_scheme=scheme, viewport={"width": 360, "height": 800})
        page.locator("#data-docs").click()
        expect(page).to_have_title("Data quality")
        page.on("request", lambda request: requests.append(request.url))
        assert page.evaluate("document.documentElement.scrollWidth") <= 360
        page.locator("a", has_text=re.compile("^20")).click()
        failed = page.locator(".ge-section", has_text="kind_known")
        expect(failed).to_contain_text("1 unexpected values found. ≈1.961% of 51 total rows.")
        expect(failed.locator(".text-danger").first).to_have_css("color", "rgb(192, 44, 44)" if scheme == "light" else "rgb(255, 122, 122)")
        others = page.locator(".ge-section", has_text="gateway_id_given")
        above = [each.bounding_box() for each in (failed, others)]
        assert above[0] and above[1] and above[0]["y"] < above[1]["y"], "what failed comes first"
        assert page.evaluate("document.documentElement.scrollWidth") <= 360
        assert page.evaluate("self.origin") == "null", "an origin of its own"
        page.locator("a", has_text="clientscope.connections").first.click()
        expect(page.locator("body")).to_contain_text("no gateway uses a number twice in one epoch")
        page.locator("a", has_text="Home").click()
        expect(page).to_have_title("Data quality")
    assert requests and all(url.startswith(f"{address}data-docs/") for url in requests), requests


def test_hostile_strings_stay_text(topics: Topics, address: str, open_page: Callable[..., Page]) -> None:
    topics.heartbeat(60_000)
    topics.gauge(HOSTILE, HOSTILE, 3)
    topics.connection(
        Kind.OPENED,
        1,
        **dict.fromkeys(("client_id", "client_software_name", "client_software_version", "principal", "client_address"), HOSTILE),
    )
    topics.result(1, HOSTILE, _rule([{"key": HOSTILE, "value": HOSTILE}], HOSTILE))
    whose = Application(client_id=HOSTILE, principal=HOSTILE, group=HOSTILE)
    texts = dict.fromkeys(("message", "use_instead", "code", "name", "link"), HOSTILE)
    topics.finding(leak(application=whose, places=[Place(application=whose, key=HOSTILE)], evidence=[HOSTILE], **texts))

    page = open_page(address)
    for section in ("#software", "#clients", "#findings", "#pushes"):
        expect(page.locator(section)).to_contain_text(HOSTILE)
    page.locator("#findings li.finding", has_text=HOSTILE).get_by_role("button").click()
    expect(page.locator("#findings .details")).to_contain_text(HOSTILE)
    assert page.locator("main img").count() == 0
    assert page.locator("[onerror]").count() == 0


def test_narrow_and_dark(topics: Topics, address: str, open_page: Callable[..., Page]) -> None:
    topics.heartbeat(60_000)
    topics.gauge("x" * 300, "1" * 100, 3)
    topics.connection(Kind.OPENED, 1, client_id="c" * 249, client_software_name="x" * 300)
    topics.finding(made(message="m" * 500, settings=[{"key": "k" * 200, "value": "v" * 200}], application=Application(client_id="c" * 249)))

    for scheme in ("light", "dark"):
        page = open_page(address, viewport={"width": 360, "height": 800}, color_scheme=scheme)
        expect(page.locator("#clients")).to_contain_text("c" * 200)
        expect(page.locator("#findings")).to_contain_text("m" * 400)
        page.locator("#findings .toggle").first.click()
        expect(page.locator("#findings .details")).to_contain_text("k" * 200)
        assert page.evaluate("document.documentElement.scrollWidth") <= 360
        ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert (ground == "rgb(245, 246, 244)") == (scheme == "light")


def test_a_server_that_goes_away_is_told_and_found_again(address: str, open_page: Callable[..., Page]) -> None:
    page = open_page(address)
    expect(page.locator("#feed")).to_have_text("Live")
    page.route("**/api/v1/events", lambda route: route.fulfill(status=204))
    page.reload()
    expect(page.locator("#feed")).to_have_text("Connection lost")
    expect(page.get_by_role("button", name="Try again").first).to_be_visible()
    page.unroute("**/api/v1/events")
    page.get_by_role("button", name="Try again").first.click()
    expect(page.locator("#feed")).to_have_text("Live")
