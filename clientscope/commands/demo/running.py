"""Implementation of ``clientscope demo``: everything on one machine, with real clients, and a check of all results."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack, closing, nullcontext, suppress
from pathlib import Path
from types import FrameType
from typing import Any

from rich.live import Live

from clientscope import topics
from clientscope.commands.demo import DemoSettings
from clientscope.config import PageSettings
from clientscope.demo.clients import CLIENTS
from clientscope.demo.fleet import Fleet
from clientscope.demo.watch import Series, jmx_connections, render, said, snapshot
from clientscope.errors import EnvironmentProblem
from clientscope.kafka.admin import new_admin
from clientscope.local.broker import BrokerPlan, EmbeddedBroker
from clientscope.local.jars import jars
from clientscope.local.java import java
from clientscope.local.process import free_port, require_free, spawn, tail
from clientscope.report.api import Api
from clientscope.report.text import counted
from streaming.releases import installed

_HEARTBEAT_S = 2.0
_PATIENCE_S = 30.0
_COMES_AND_GOES = "visitor"
_TOPIC = "demo.orders"
_SEND_ALWAYS = {"orders-producer", "orders-consumer", "metrics-firehose", "legacy-billing", "payments"}
"""client.ids of the demo's clients that send requests every second."""
_LOOKS_S = (3, 6, 12)
"""At the request log, until it has shown them: on a busy machine a client may send nothing for some seconds."""
_LEAK, _BAD_SETTING = "SK001", "AN101"


def run(settings: DemoSettings) -> int:
    """Runs the demo; returns 0 if it ended as it should, 1 if a check failed.

    Raises:
        ClientscopeError: something could not be started; says what to do.
    """
    signal.signal(signal.SIGTERM, _interrupt)
    signal.signal(signal.SIGINT, _interrupt)
    keep = settings.data_dir is not None
    data_dir = settings.data_dir.resolve() if settings.data_dir else Path(tempfile.mkdtemp(prefix="clientscope-demo-"))
    started = time.monotonic()

    def say(line: str) -> None:
        print(f"[{time.monotonic() - started:5.1f} s] {line}", flush=True)

    passed = False
    try:
        with ExitStack() as stack:
            try:
                demo = _Demo(settings, data_dir, say, stack)
                demo.start()
                summary = demo.follow()
                passed = summary["passed"]
            except KeyboardInterrupt:
                say("stopping everything")
                passed, summary = True, {"passed": True, "interrupted": True}
        say("all stopped" if passed else f"a check failed; the logs are in {data_dir / 'logs'}")
        if settings.json_summary:
            print(json.dumps(summary), flush=True)
        return 0 if passed else 1
    finally:
        # What failed leaves its logs; what never began, nothing.
        if not keep and (passed or not (data_dir / "logs").is_dir()):
            shutil.rmtree(data_dir, ignore_errors=True)


def _interrupt(number: int, frame: FrameType | None) -> None:
    # Once is enough: a second Ctrl-C while everything is being stopped must not leave a process behind.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise KeyboardInterrupt


class _Demo:
    def __init__(self, settings: DemoSettings, data_dir: Path, say: Callable[[str], None], stack: ExitStack) -> None:
        self._settings = settings
        self._data_dir = data_dir
        self._say = say
        self._stack = stack
        self._gateway = f"127.0.0.1:{settings.gateway_port}"
        self._page = f"127.0.0.1:{settings.page_port}"
        jmx_port = self._free_port()
        self._plan = BrokerPlan(settings.broker_port, settings.internal_port, self._gateway, data_dir / "broker", jmx_port)

    def start(self) -> None:
        """Brings everything up, a line each."""
        java()
        require_free(self._gateway, "gateway-port")
        require_free(f"127.0.0.1:{self._settings.broker_port}", "broker-port")
        require_free(self._plan.internal, "internal-port")
        require_free(self._page, "page-port")
        jars(installed().jars, self._say)
        self._data_dir.mkdir(parents=True, exist_ok=True)
        self._say(f"clientscope demo: data and logs in {self._data_dir}")
        broker = EmbeddedBroker(self._plan, self._say)
        self._stack.callback(broker.stop)
        broker.start()
        self._say(f"clientscope broker: ready, Kafka in KRaft mode, JMX at 127.0.0.1:{self._plan.jmx_port}/metrics")
        topics.create(self._plan.internal)
        with closing(new_admin({"bootstrap_servers": self._plan.internal})) as admin:
            if _TOPIC not in admin.list_topics():
                admin.create_topics({_TOPIC: {"num_partitions": 2, "configs": {"retention.bytes": "10000000"}}}, wait_for_metadata=True)
        key_file = self._data_dir / "digest.key"
        key_file.touch(mode=0o600)
        key_file.write_text(secrets.token_hex(32))

        self._processes = Fleet(self._data_dir / "logs", self._say)
        self._stack.callback(self._processes.stop)
        internal = ["--bootstrap-servers", self._plan.internal]
        digests = ["--digest-key-file", str(key_file)]
        # Spark takes longest; it starts first, and the others while it does.
        self._processes.start(
            "stream", "stream", *internal, *digests,
            "--checkpoint-dir", str(self._data_dir / "checkpoints"), "--history-dir", str(self._data_dir / "history"),
            "--history-interval-seconds", "10", "--metrics-listen", f"127.0.0.1:{self._free_port()}",
        )  # fmt: skip
        admin = f"127.0.0.1:{self._free_port()}"
        self._processes.start(
            "gateway", "gateway", *internal, *digests, "--listen", self._gateway, "--upstream", f"127.0.0.1:{self._plan.port}",
            "--metrics-listen", f"127.0.0.1:{self._free_port()}", "--admin-listen", admin,
            "--broker-jmx", f"http://127.0.0.1:{self._plan.jmx_port}/metrics",
            "--heartbeat-interval-ms", str(int(_HEARTBEAT_S * 1000)),
            # The policy's process yields to all others, and here a broker, a JVM and seven clients start at once on one machine.
            "--policy-deadline-ms", "10000",
        )  # fmt: skip
        self._processes.start(
            "serve", "serve", *internal, "--listen", self._page,
            "--history-dir", str(self._data_dir / "history"), "--data-docs-dir", str(self._data_dir / "history" / "data-docs"),
        )  # fmt: skip
        self._processes.await_ready("gateway")
        self._processes.await_ready("serve")
        self._api = Api(PageSettings(url=f"http://{self._page}", token_file=None))
        self._stack.callback(self._processes.stop, *CLIENTS)  # before the gateway, so that none loses its connection
        for name in CLIENTS:
            self._processes.start(name, name, "--bootstrap", self._gateway, "--topic", _TOPIC, module="clientscope.demo.clients")
        for name in CLIENTS:
            self._processes.await_ready(name, "connected")
        self._say(f"the page: http://{self._page}/ (clients now; gauges and findings once Spark is up, in some 20 s)")
        self._say(f"who is connected, in another terminal: clientscope connections --admin {admin}")
        self._processes.await_ready("stream")
        self._seen: set[str] = set()
        for seconds in _LOOKS_S:
            self._seen |= self._look_at_the_request_log(seconds)
            if not (missing := _SEND_ALWAYS - self._seen):
                break
            self._say(f"the request log doesn't show {', '.join(sorted(missing))} yet")

    def _look_at_the_request_log(self, seconds: int) -> set[str]:
        """What `clientscope xray` sees of the same clients without the gateway: their applications."""
        report = self._data_dir / "report.html"
        command = [
            sys.executable, "-m", "clientscope.cli", "xray", "--bootstrap-servers", self._plan.internal, "--seconds", str(seconds), "--yes",
            str(self._plan.data_dir / "broker.log"), "--html", str(report), "--output-format", "json",
        ]  # fmt: skip
        environment = {**os.environ, "XDG_STATE_HOME": str(self._data_dir / "state")}
        with (self._data_dir / "logs" / "xray.log").open("wb") as log:
            looked = spawn(command, log, environment, stdout=subprocess.PIPE)
            try:
                output = looked.communicate()[0]
            except KeyboardInterrupt:
                looked.send_signal(signal.SIGINT)  # it restores the broker's log level, which takes a second
                looked.wait(10)
                raise
        if looked.returncode:
            self._say(f"clientscope xray ended with {looked.returncode}: {tail(self._data_dir / 'logs' / 'xray.log', 2)}")
            return set()
        found = json.loads(output)
        self._say(
            f"without the gateway, by the broker's request log: {counted(found['clients'], 'client')}, clientscope's own among them, in "
            f"{counted(len(found['software']), 'software version')}; {counted(len(found['problems']), 'rule')} found something: "
            f"{report.as_uri()}"
        )
        return {row["application"] for row in found["readiness"]}

    def follow(self) -> dict[str, Any]:
        """Shows the live summary for as long as was asked, by default until Ctrl-C, then checks; the report, as ``--json`` prints it.

        Its ``connections`` are the page's, ``jmx_connections`` the broker's own, and ``findings`` how many there are by a rule's code.
        """
        self._show(self._settings.seconds or float("inf"))
        self._say("holding the clients open for two heartbeats, then comparing with the broker's own JMX")
        self._processes.stop(_COMES_AND_GOES)
        time.sleep(2 * _HEARTBEAT_S)
        self._await(lambda: snapshot(self._api).connections == jmx_connections(self._plan.jmx_port))
        before = snapshot(self._api)
        gauges, oracle = before.connections, jmx_connections(self._plan.jmx_port)
        found = Counter(each.code for each in before.findings)
        self._say("closing all clients")
        self._processes.stop(*CLIENTS)
        gone = self._await(lambda: not snapshot(self._api).connections)
        checks = {
            "push_decoded": before.pushes > 0,
            "leak_found": _LEAK in found,
            "bad_setting_found": _BAD_SETTING in found,
            "gauges_equal_jmx": bool(gauges) and gauges == oracle,
            "pushing_clients_named": bool(before.pushing) and before.pushing <= set(gauges),
            "series_gone": gone,
            "request_log_shows_clients": self._seen >= _SEND_ALWAYS,
        }
        for check, passed in checks.items():
            self._say(f"{'ok    ' if passed else 'FAILED'} {check.replace('_', ' ')}")
        return {
            "passed": all(checks.values()),
            "checks": checks,
            "connections": _as_rows(gauges),
            "jmx_connections": _as_rows(oracle),
            "pushes": before.pushes,
            "findings": dict(found),
        }

    def _show(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        page = f"http://{self._page}/"
        # Without a terminal, a line every ten seconds is enough.
        next_line = 0.0
        with Live(auto_refresh=False) if sys.stdout.isatty() else nullcontext() as live:
            while (now := time.monotonic()) < end:
                with suppress(EnvironmentProblem):  # the page is late, as on a machine that slept; whether it runs is checked below
                    if live:
                        live.update(render(snapshot(self._api), page), refresh=True)
                    elif now >= next_line:
                        self._say(said(snapshot(self._api)))
                        next_line = now + 10
                self._processes.check()
                time.sleep(min(0.5, max(0.0, end - now)))

    def _free_port(self) -> int:
        settings = self._settings
        return free_port(besides=(settings.gateway_port, settings.broker_port, settings.internal_port, settings.page_port))

    @staticmethod
    def _await(condition: Callable[[], bool]) -> bool:
        deadline = time.monotonic() + _PATIENCE_S
        while not condition():
            if time.monotonic() > deadline:
                return False
            time.sleep(0.2)
        return True


def _as_rows(connections: dict[Series, int]) -> list[dict[str, object]]:
    return [
        {"software_name": name, "software_version": version, "connections": count} for (name, version), count in sorted(connections.items())
    ]
