"""The first minute of a new user: ``clientscope demo`` as a process, its end, and its errors when something is missing."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psutil
import pytest
from forked import refused
from observe import make_topic
from patience import LIMIT_S
from programs import ran

from clientscope.local.process import free_port

pytestmark = pytest.mark.faults

COMMAND = [sys.executable, "-m", "clientscope.cli"]


def ports() -> list[str]:
    names = ("--gateway-port", "--broker-port", "--internal-port", "--page-port")
    return [word for name in names for word in (name, str(free_port()))]


def processes_of(marker: str) -> list[str]:
    """Command lines of all running processes that name ``marker``."""
    running = (" ".join(each.info["cmdline"] or ()) for each in psutil.process_iter(["cmdline"]) if each.pid != os.getpid())
    return [words for words in running if marker in words]


def test_the_demo_proves_itself_and_leaves_nothing_behind(tmp_path: Path) -> None:
    result = ran(*COMMAND, "demo", "--seconds", "8", "--json", "--data-dir", tmp_path / "demo", *ports())
    summary: dict[str, Any] = json.loads(result.stdout.splitlines()[-1])
    assert summary["passed"] and all(summary["checks"].values()) and len(summary["checks"]) == 7
    assert summary["connections"] == summary["jmx_connections"]
    named = {row["software_name"] for row in summary["connections"]}
    assert named == {"kafka-python", "confluent-kafka-python", "careless-client", "unknown"}
    assert (summary["findings"]["AN101"], summary["findings"]["SK001"]) == (1, 1)
    assert "the page: http://127.0.0.1:" in result.stdout
    assert processes_of(str(tmp_path)) == []
    assert [path for path in (tmp_path / "demo" / "logs").iterdir() if "Traceback" in path.read_text()] == []


def test_ctrl_c_stops_everything(tmp_path: Path) -> None:
    demo = subprocess.Popen([*COMMAND, "demo", "--data-dir", str(tmp_path / "demo"), *ports()], stdout=subprocess.PIPE, text=True)
    assert demo.stdout is not None
    lines = []
    for line in demo.stdout:
        lines.append(line)
        if "gateway: ready" in line:
            break
    assert len(processes_of(str(tmp_path))) >= 3
    demo.send_signal(signal.SIGINT)
    time.sleep(0.2)
    demo.send_signal(signal.SIGINT)  # an impatient person's second one
    rest, _ = demo.communicate(timeout=LIMIT_S)
    assert demo.returncode == 0, "".join(lines) + rest
    assert processes_of(str(tmp_path)) == []


@pytest.mark.long
def test_a_demo_that_is_killed_takes_its_processes_with_it(tmp_path: Path) -> None:
    with subprocess.Popen([*COMMAND, "demo", "--data-dir", str(tmp_path / "demo"), *ports()], stdout=subprocess.PIPE, text=True) as demo:
        assert demo.stdout is not None
        assert any("gateway: ready" in line for line in demo.stdout)
        demo.kill()
    deadline = time.monotonic() + 60  # the job takes 20 s after its signal at most; a busy machine has the rest
    while processes_of(str(tmp_path)) and time.monotonic() < deadline:
        time.sleep(0.2)
    assert processes_of(str(tmp_path)) == []


def test_a_taken_port_is_an_error_that_says_so(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        text = refused("demo", *ports(), "--gateway-port", port, TMPDIR=str(tmp_path), status=1)
        assert list(tmp_path.iterdir()) == []
        assert text.splitlines() == [
            f"error: gateway-port: cannot listen on 127.0.0.1:{port}: Address already in use",
            "hint: stop what listens there, or choose another with --gateway-port",
        ]
        arguments = ["--port", str(free_port()), "--internal-port", port, "--data-dir", str(tmp_path)]
        text = refused("broker", *arguments, status=1)
        assert text.startswith(f"error: internal-port: cannot listen on 127.0.0.1:{port}")


def test_without_java_it_says_what_to_install(tmp_path: Path) -> None:
    text = refused("demo", *ports(), PATH=str(tmp_path), JAVA_HOME="", status=1)
    assert text.startswith("error: no Java on PATH\nhint: install Java 17 or 21")


def test_without_network_on_the_first_run_it_says_so(tmp_path: Path) -> None:
    settings = tmp_path / ".ivy2" / "ivysettings.xml"
    settings.parent.mkdir()
    nobody = f"http://127.0.0.1:{free_port()}/maven2/"
    settings.write_text(
        '<ivysettings><settings defaultResolver="r"/><resolvers>'
        f'<ibiblio name="r" m2compatible="true" root="{nobody}"/></resolvers></ivysettings>'
    )
    text = refused(
        "jars", CLIENTSCOPE_JARS=str(tmp_path / "jars"), HOME=str(tmp_path), JAVA_TOOL_OPTIONS=f"-Duser.home={tmp_path}", status=1
    )
    assert text.splitlines()[0].startswith("error: the jars could not be downloaded: ")
    assert text.splitlines()[1].startswith("hint: the first run needs the network")
    assert not list((tmp_path / "jars").rglob("*.jar"))


def test_processes_refuse_topics_that_are_missing_or_otherwise_set(broker: Any, tmp_path: Path) -> None:
    from clientscope.local.broker import BrokerPlan, EmbeddedBroker

    plan = BrokerPlan(free_port(), free_port(), f"127.0.0.1:{free_port()}", tmp_path / "broker")
    with EmbeddedBroker(plan):
        for command in ("gateway", "serve", "stream"):
            text = refused(command, "--bootstrap-servers", plan.internal, status=1)
            assert text.startswith("error: topics are missing: ") and "hint: run: clientscope topics" in text

        make_topic(plan.internal, "clientscope.configs")
        text = refused("topics", "--bootstrap-servers", plan.internal, status=1)
        assert text.startswith("error: topic clientscope.configs has message.timestamp.type=CreateTime, not LogAppendTime")
