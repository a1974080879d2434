"""``clientscope deliver`` on real parts: Kafka, Alertmanager, and receivers that misbehave (F30 to F32)."""

from __future__ import annotations

import base64
import json
import shutil
import signal
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import standardwebhooks
from alert_receivers import SECRET, Server, hang, serving, status
from conftest import running_processes
from forked import clientscope
from made_findings import leak, made
from observe import metrics, page, private_file, read_all
from patience import eventually, until
from programs import running

from clientscope.demo.fleet import Fleet
from clientscope.kafka.writer import TopicWriter
from clientscope.local.process import free_port
from clientscope.model.client import Application
from clientscope.model.codec import decode, encode_whole
from clientscope.model.finding import Finding
from clientscope.model.status import ProcessStatus
from clientscope.model.topics import FINDINGS, STATUS

MANY = 1_000
CANARY = "canary-6f2c"


@dataclass
class Deliver:
    """The process, with a receivers file of its own."""

    broker: Any
    folder: Path
    processes: Fleet
    metrics_url: str

    def start(self, name: str = "deliver") -> None:
        address = self.metrics_url.split("/")[2] if name == "deliver" else "127.0.0.1:0"
        self.processes.start(
            name, "deliver", "--bootstrap-servers", self.broker.internal, "--receivers", str(self.folder / "receivers.toml"),
            "--metrics-listen", address,
        )  # fmt: skip
        self.processes.await_ready(name)

    def write(self, *findings: Finding) -> None:
        with closing(TopicWriter(self.broker.internal, FINDINGS)) as writer:
            writer.write({one.fingerprint: encode_whole(one) for one in findings})

    def log(self) -> str:
        return "".join(path.read_text() for path in (self.folder / "logs").glob("*.log"))


@contextmanager
def delivering(spare: Any, folder: Path, *receivers: str) -> Iterator[Deliver]:
    private_file(folder / "secret", "whsec_" + base64.b64encode(SECRET).decode())
    private_file(folder / "header", CANARY)
    (folder / "receivers.toml").write_text("\n".join(receivers))
    with running_processes(folder / "logs") as processes:
        running = Deliver(spare, folder, processes, f"http://127.0.0.1:{free_port()}/metrics")
        running.start()
        yield running


def hook(name: str, server: Server, folder: Path, codes: str, wait_s: float = 0.5) -> str:
    return (
        f'[[receiver]]\nname = "{name}"\nkind = "webhook"\nurl = "{server.url}/{CANARY}"\nsecrets = ["file:{folder}/secret"]\n'
        f'headers = {{ Authorization = "file:{folder}/header" }}\ncode = "{codes}"\ntimeout_seconds = 2\n'
        f"group_wait_seconds = {wait_s}\n"
    )


def told(server: Server, status: str) -> int:
    """Findings that came with this status, each message once."""
    every = {got.headers["webhook-id"]: json.loads(got.body) for got in server.got}
    return sum(body["data"]["count"] for body in every.values() if body["type"] == f"clientscope.findings.{status}")


def figure(running: Deliver, name: str, receiver: str, value: float) -> bool:
    return eventually(lambda: metrics(running.metrics_url)[f"clientscope_deliver_{name}", receiver] == value)


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
    with running(folder / "alertmanager.log", *command, ready=lambda: alerts_of(url) == []):
        yield url


def alerts_of(url: str) -> list[dict[str, Any]] | None:
    status, text = page(f"{url}/am/api/v2/alerts")
    return list(json.loads(text)) if status == 200 else None


def test_real_alertmanagers_have_what_is_open_and_forget_what_is_resolved(spare: Any, tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    with alertmanager(tmp_path / "a") as first, alertmanager(tmp_path / "b") as second:
        down = f"http://127.0.0.1:{free_port()}"
        peers = f'[[receiver]]\nname = "am"\nkind = "alertmanager"\nurls = ["{down}", "{first}/am", "{second}/am/"]\ncode = "AN7*"\n'
        evil = Application(principal='"} or vector(1) #\n', client_id="<!channel>{{ .Labels }}")
        finding = made(0x701, code="AN701", application=evil, message="{{ template }} <@U1> " + "x" * 2_000)
        with delivering(spare, tmp_path, peers) as running:
            running.write(finding, made(0x702, code="AN702", confidence="low"), leak(0x703, code="AN703", state="stopped"))
            for url in (first, second):
                assert eventually(lambda url=url: len(alerts_of(url) or ()) == 2), (alerts_of(url), running.log())
                (alert,) = (one for one in alerts_of(url) or () if one["labels"]["code"] == "AN701")
                assert alert["labels"]["client_id"] == "‹!channel›❴❴ .Labels ❵❵"
                assert alert["labels"]["fingerprint"] == finding.fingerprint
                assert not {"clients", "first_seen", "summary"} & alert["labels"].keys()
                assert alert["annotations"]["clients"] == "1"
                assert alert["status"]["state"] == "active"
            assert figure(running, "receiver_failing", "am", 1)
            test = clientscope("deliver", "--test", "--receivers", str(tmp_path / "receivers.toml"))
            assert (test.returncode, test.stdout) == (1, "am 1: connection refused\nam 2: ok\nam 3: ok\n")
            assert [one["labels"]["alertname"] for one in alerts_of(first) or ()].count("clientscope_test") == 1
            running.write(replace(finding, state="resolved", ended_ms=1))
            until(lambda: "AN701" not in {one["labels"].get("code") for one in alerts_of(first) or ()})


@pytest.mark.faults
def test_f31_f32_a_storm_is_a_message_and_a_kill_in_mid_send_loses_and_repeats_nothing(spare: Any, tmp_path: Path) -> None:
    with serving() as well, serving(hang) as struck, serving(always=hang) as dead:
        receivers = [hook(name, server, tmp_path, "AN8*", 3) for name, server in (("well", well), ("struck", struck), ("dead", dead))]
        storm = [made(0x80000 + number, code="AN801") for number in range(MANY)]
        with delivering(spare, tmp_path, *receivers) as running:
            running.start("copy")
            running.write(*storm)
            assert eventually(lambda: told(well, "firing") == MANY), running.log()
            assert len(well.got) <= 4, "a message or two from each copy"
            assert eventually(lambda: bool(struck.got and dead.got)), running.log()
            running.processes.signal("deliver", signal.SIGKILL)  # perhaps `struck` has its request, and hasn't answered
            assert eventually(lambda: told(struck, "firing") == MANY), running.log()
            body = standardwebhooks.Webhook(base64.b64encode(SECRET).decode()).verify(struck.got[-1].body, dict(struck.got[-1].headers))
            assert "findings of AN801\n" in body["data"]["text"]
            before = len(well.got)
            running.write(*(replace(one, state="resolved", ended_ms=1) for one in storm))
            assert eventually(lambda: told(well, "ended") == MANY), running.log()
            time.sleep(2)  # until that is committed
            running.processes.stop("copy")
            after = len(well.got)
            running.start()
            running.write(made(0x8FFFF, code="AN802"))
            assert eventually(lambda: told(well, "firing") == MANY + 1), running.log()
            assert len(well.got) == after + 1 > before, "and nothing once more"
            assert figure(running, "undelivered_findings", "well", 0)
            assert figure(running, "receiver_failing", "dead", 1)
            assert metrics(running.metrics_url)["clientscope_deliver_oldest_undelivered_seconds", "dead"] > 0
    assert CANARY not in running.log() + str([(one.key, one.value) for one in read_all(spare.internal, STATUS)])


def test_f30_what_a_receiver_refuses_is_given_up_counted_and_said_on_the_topic_of_statuses(spare: Any, tmp_path: Path) -> None:
    def said() -> list[ProcessStatus]:
        """What the newest record of the receiver says, which the job makes a finding of."""
        found = [decode(ProcessStatus, one.value) for one in read_all(spare.internal, STATUS) if one.key == b'["receiver","gone"]']
        return found[-1:]

    with serving(status(410)) as gone:
        with delivering(spare, tmp_path, hook("gone", gone, tmp_path, "AN9*")) as running:
            running.write(made(0x901, code="AN901"))
            assert figure(running, "given_up_total", "gone", 1), running.log()
            assert figure(running, "undelivered_findings", "gone", 0)
            until(lambda: [(each.condition, each.reason) for each in said()], [("failed", "HTTP 410")])
            running.write(made(0x902, code="AN902"))
            assert eventually(lambda: len(gone.got) == 2), running.log()
            until(lambda: [each.condition for each in said()], ["ok"])
        assert CANARY not in running.log() + str([one.value for one in read_all(spare.internal, STATUS)])
