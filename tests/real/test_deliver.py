"""``clientscope deliver`` on real parts: Kafka, Alertmanager, and receivers that misbehave (F30 to F32)."""

from __future__ import annotations

import base64
import json
import shutil
import signal
import subprocess
import sys
import urllib.request
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import standardwebhooks
from alert_receivers import SECRET, Server, cut, drip, hang, serving, status
from conftest import RunningBroker, start_broker
from made_findings import leak, made
from observe import eventually, metrics, read_all
from scale import LONG

from clientscope.demo.fleet import Fleet
from clientscope.findings.record import Application, Finding
from clientscope.kafka.writer import TopicWriter
from clientscope.local.process import free_port, spawn, stop
from clientscope.records.topics import DEADLETTER, DELIVERIES, FINDINGS

SLOW = 60.0
MANY = 10_000 if LONG else 1_000
GATHERED_S = 10.0 if LONG else 1.5
"""How long a group gathers: ten seconds, in which F32's storm comes, are the default."""
STORM_GATHERED_S = 20.0
"""A busy machine takes seconds to write a storm, and what comes later is another message."""
CANARY = "canary-6f2c"


@dataclass
class Deliver:
    """The process, with a receivers file of its own."""

    broker: Any
    folder: Path
    processes: Fleet
    metrics_url: str

    def arguments(self, *more: str) -> list[str]:
        return ["deliver", *more, "--bootstrap-servers", self.broker.internal]

    def start(self, name: str = "deliver", sign: str = ": ready") -> None:
        address = self.metrics_url.split("/")[2] if name == "deliver" else "127.0.0.1:0"
        self.processes.start(name, *self.arguments("run"), "--receivers", str(self.folder / "receivers.toml"), "--metrics-listen", address)
        self.processes.await_ready(name, sign)

    def command(self, *words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "clientscope.cli", *self.arguments(*words)]
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)

    def write(self, *findings: Finding) -> None:
        with closing(TopicWriter(self.broker.internal, FINDINGS)) as writer:
            writer.write({one.fingerprint: one.model_dump_json().encode() for one in findings})

    def log(self) -> str:
        return "".join(path.read_text() for path in (self.folder / "logs").glob("*.log"))


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningBroker]:
    """One of its own: made-up findings are on its topics, which other tests read."""
    started, running = start_broker(tmp_path_factory.mktemp("broker"))
    yield running
    started.stop()


@contextmanager
def delivering(broker: Any, folder: Path, *receivers: str) -> Iterator[Deliver]:
    (folder / "secret").write_text("whsec_" + base64.b64encode(SECRET).decode())
    (folder / "header").write_text(CANARY)
    for name in ("secret", "header"):
        (folder / name).chmod(0o600)
    (folder / "receivers.toml").write_text("\n".join(receivers))
    processes = Fleet(folder / "logs", lambda line: None)
    running = Deliver(broker, folder, processes, f"http://127.0.0.1:{free_port()}/metrics")
    try:
        running.start()
        yield running
    finally:
        processes.stop()


def hook(name: str, server: Server, folder: Path, codes: str, more: str = "", gathered_s: float = GATHERED_S) -> str:
    return (
        f'[[receiver]]\nname = "{name}"\nkind = "webhook"\nurl = "{server.url}/{CANARY}"\nsecrets = ["file:{folder}/secret"]\n'
        f'headers = {{ Authorization = "file:{folder}/header" }}\nallow_networks = ["127.0.0.1"]\ncode = "{codes}"\n'
        f"timeout_seconds = 2\ngroup_wait_seconds = {gathered_s}\ngroup_interval_seconds = 0.5\n{more}\n"
    )


def received(server: Server) -> list[tuple[str, int]]:
    """What came, each id once, as a receiver that dedupes sees it."""
    every = {got.headers["webhook-id"]: json.loads(got.body) for got in server.got}
    return [(body["type"].rpartition(".")[2], body["data"]["count"]) for body in every.values()]


def figure(running: Deliver, name: str, receiver: str, value: float) -> bool:
    return eventually(lambda: metrics(running.metrics_url)[f"clientscope_deliver_{name}", receiver] == value, SLOW)


@contextmanager
def alertmanager(folder: Path) -> Iterator[str]:
    """A real one, by Debian's package."""
    program = shutil.which("prometheus-alertmanager")
    assert program, "apt-get install prometheus-alertmanager"
    (folder / "alertmanager.yml").write_text("route: {receiver: none}\nreceivers: [{name: none}]\n")
    url = f"http://127.0.0.1:{free_port()}"
    command = [
        program, f"--config.file={folder}/alertmanager.yml", f"--storage.path={folder}/data", "--cluster.listen-address=",
        f"--web.listen-address={url.removeprefix('http://')}", "--web.route-prefix=/am",
    ]  # fmt: skip
    with (folder / "alertmanager.log").open("wb") as log:
        child = spawn(command, log)
    try:
        assert eventually(lambda: alerts_of(url) == [], SLOW)
        yield url
    finally:
        stop(child)


def alerts_of(url: str) -> list[dict[str, Any]] | None:
    try:
        with urllib.request.urlopen(f"{url}/am/api/v2/alerts", timeout=5) as response:
            return list(json.load(response))
    except OSError:
        return None


def test_real_alertmanagers_have_what_is_open_and_forget_what_is_resolved(broker: Any, tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    with alertmanager(tmp_path / "a") as first, alertmanager(tmp_path / "b") as second:
        down = f"http://127.0.0.1:{free_port()}"
        peers = (
            f'[[receiver]]\nname = "am"\nkind = "alertmanager"\nurls = ["{down}", "{first}/am", "{second}/am/"]\n'
            'allow_networks = ["127.0.0.1"]\ncode = "AN7*"\n'
        )
        evil = Application(principal='"} or vector(1) #\n', client_id="<!channel>{{ .Labels }}")
        finding = made(0x701, code="AN701", application=evil, message="{{ template }} <@U1> " + "x" * 2_000)
        with delivering(broker, tmp_path, peers) as running:
            running.write(finding, made(0x702, code="AN702", confidence="low"), leak(0x703, code="AN703", state="stopped"))
            for url in (first, second):
                assert eventually(lambda url=url: len(alerts_of(url) or ()) == 2, SLOW), (alerts_of(url), running.log())
                (alert,) = (one for one in alerts_of(url) or () if one["labels"]["code"] == "AN701")
                assert alert["labels"]["client_id"] == "‹!channel›❴❴ .Labels ❵❵"
                assert alert["labels"]["fingerprint"] == finding.fingerprint
                assert not {"clients", "first_seen", "summary"} & alert["labels"].keys()
                assert alert["annotations"]["clients"] == "1"
                assert alert["status"]["state"] == "active"
            assert figure(running, "alertmanager_alerts", "am", 2)
            assert figure(running, "receiver_failing", "am", 1)
            test = subprocess.run(
                [sys.executable, "-m", "clientscope.cli", "deliver", "--test", "--receivers", str(tmp_path / "receivers.toml")],
                capture_output=True, text=True, check=False, timeout=60,
            )  # fmt: skip
            assert (test.returncode, test.stdout) == (1, "am 1: connection refused\nam 2: ok\nam 3: ok\n")
            assert [one["labels"]["alertname"] for one in alerts_of(first) or ()].count("clientscope_test") == 1
            running.write(finding.model_copy(update={"state": "resolved", "ended_ms": 1}))
            assert eventually(lambda: "AN701" not in {one["labels"].get("code") for one in alerts_of(first) or ()}, SLOW)


@pytest.mark.faults
@pytest.mark.long_form
def test_f31_f32_a_storm_is_a_page_and_after_a_kill_in_mid_send_a_copy_tells_nothing_twice(broker: Any, tmp_path: Path) -> None:
    with serving() as well, serving(hang) as struck, serving(always=hang) as dead:
        servers = (("well", well), ("struck", struck), ("dead", dead))
        receivers = [hook(name, server, tmp_path, "AN8*", gathered_s=STORM_GATHERED_S) for name, server in servers]
        storm = [made(0x80000 + number, code="AN801") for number in range(MANY)]
        with delivering(broker, tmp_path, *receivers) as running:
            running.start("copy", "standing by")
            running.write(*storm)
            assert eventually(lambda: bool(well.got and struck.got and dead.got), SLOW), running.log()
            running.processes.signal("deliver", signal.SIGKILL)  # `struck` has the request, and hasn't answered
            sent = struck.got[0].headers["webhook-id"]
            running.write(made(0x80000 + MANY, code="AN801"))  # of the same group, which must not change the message
            assert eventually(lambda: len(received(struck)) == len(received(well)) == 2 and len(struck.got) == 3, SLOW), (
                len(struck.got),
                running.log(),
            )
            assert [got.headers["webhook-id"] for got in struck.got].count(sent) == 2
            assert received(struck) == received(well) == [("firing", MANY), ("firing", 1)]
            (again,) = (got for got in struck.got[1:] if got.headers["webhook-id"] == sent)
            body = standardwebhooks.Webhook(base64.b64encode(SECRET).decode()).verify(again.body, dict(again.headers))
            assert body["data"]["text"].startswith(f"OPEN, high: {MANY:,} findings of AN801\n")
            running.write(*(one.model_copy(update={"state": "resolved", "ended_ms": 1}) for one in storm))
            assert eventually(lambda: len(received(well)) == 3, SLOW), running.log()
            running.processes.stop("copy")
            running.start()
            running.write(made(0x8FFFF, code="AN802"))
            assert eventually(lambda: len(received(well)) == len(received(struck)) == 4, SLOW), running.log()
            assert received(well) == [("firing", MANY), ("firing", 1), ("ended", MANY), ("firing", 1)], "and nothing once more"
            assert figure(running, "undelivered_findings", "well", 0)
            assert figure(running, "receiver_failing", "dead", 1)
            assert metrics(running.metrics_url)["clientscope_deliver_queue_length", "dead"] >= 1
            assert metrics(running.metrics_url)["clientscope_deliver_oldest_undelivered_seconds", "dead"] > 0
    seen = running.log() + str([(one.key, one.value) for topic in (DELIVERIES, DEADLETTER) for one in read_all(broker.internal, topic)])
    assert CANARY not in seen


def test_f30_dead_letters_are_listed_and_replayed_under_the_same_ids(broker: Any, tmp_path: Path) -> None:
    with serving(status(500)) as failing, serving(status(410)) as gone:
        receivers = [hook("failing", failing, tmp_path, "AN901", "max_attempts = 1"), hook("gone", gone, tmp_path, "AN9*")]
        with delivering(broker, tmp_path, *receivers) as running:
            running.write(made(0x901, code="AN901"))
            assert figure(running, "dead_letters_total", "failing", 1), running.log()
            assert figure(running, "receiver_disabled", "gone", 1), running.log()
            listed = running.command("dead", "list").stdout
            assert len(listed.splitlines()) == 2
            assert "OPEN, high: AN901 acks_zero, orders  (1 attempts: HTTP 500)" in listed
            running.write(made(0x902, code="AN902"))
            assert figure(running, "undelivered_findings", "gone", 1), "it waits until somebody says that it may come"
            assert "2 messages will be sent again" in running.command("dead", "replay", "--all").stdout
            assert eventually(lambda: len(failing.got) == 2 and len(received(gone)) == 2, SLOW), running.log()
            assert failing.got[0].headers["webhook-id"] == failing.got[1].headers["webhook-id"] in listed
            assert [count for _, count in received(gone)] == [1, 1], "what had to wait meanwhile comes too"
            assert figure(running, "undelivered_findings", "gone", 0)
            assert figure(running, "receiver_disabled", "gone", 0)
            assert running.command("dead", "list").stdout == ""
            assert CANARY not in listed


@pytest.mark.long_form(only=True)
def test_f30_receivers_that_misbehave_cost_others_nothing_and_are_given_up(broker: Any, tmp_path: Path) -> None:
    """A finding that is read twice is also delivered only once (F31)."""
    answers = {"refuses": status(500), "throttles": status(429, Retry_After="1"), "hangs": hang, "drips": drip, "cuts": cut}
    with ExitStack() as stack:
        bad = {name: stack.enter_context(serving(always=answer)) for name, answer in answers.items()}
        well = stack.enter_context(serving())
        receivers = [hook(name, server, tmp_path, "AN95*", "max_attempts = 2") for name, server in bad.items()]
        findings = [made(0x950 + number, code=f"AN95{number}") for number in range(4)]
        running = stack.enter_context(delivering(broker, tmp_path, *receivers, hook("well", well, tmp_path, "AN95*")))
        running.write(*findings)
        assert eventually(lambda: len(received(well)) == 4, SLOW), running.log()
        for name, server in bad.items():
            assert figure(running, "dead_letters_total", name, 4), running.log()
            attempts = Counter(got.headers["webhook-id"] for got in server.got)
            assert (len(attempts), set(attempts.values())) == (4, {2}), "each message twice, under one id"
            assert metrics(running.metrics_url)["clientscope_deliver_queue_length", name] == 0
        dead = read_all(broker.internal, DEADLETTER)
        assert {json.loads(one.value)["receiver"] for one in dead if one.value} >= set(bad)
        running.write(*findings)
        running.write(made(0x95F, code="AN95F"))
        assert eventually(lambda: len(received(well)) == 5, SLOW), running.log()
        assert len(well.got) == 5, "not even a receiver that doesn't dedupe sees one twice"
