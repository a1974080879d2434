"""The run of checks, its output, and the checks of this machine: Java, PySpark, disk, ports, keys, tokens and certificates."""

from __future__ import annotations

import io
import json
import re
import shlex
import socket
import ssl
import struct
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from certificates import Authority
from command_runs import Run
from golden import is_golden
from kafka.errors import TopicAuthorizationFailedError, UnknownTopicOrPartitionError
from listeners import taking
from places import ROOT
from private_files import private
from rich.console import Console
from scripted_broker import ScriptedBroker

from clientscope.commands.doctor import cluster, machine
from clientscope.commands.doctor.files import check_certificates, check_files, expiry
from clientscope.commands.doctor.listeners import AdvertisedListener, Probed, advertised, judge, probe
from clientscope.commands.doctor.machine import check_ports
from clientscope.commands.doctor.result import CheckResult, Outcome, Situation, not_checked, ok, problem, warning
from clientscope.commands.doctor.running import CHECKS, block, outcomes, print_end, run_all, worst
from clientscope.config import GatewaySettings, KafkaSettings, PageSettings, ServeSettings, StreamSettings
from clientscope.errors import EnvironmentProblem
from clientscope.local.java import java
from clientscope.local.process import free_port
from clientscope.model.topics import BY_NAME, CONFIGS, CONNECTIONS, JOB, STATUS, USED_BY, used_by
from sinks.dashboard.state import reader
from streaming import job


def situation(stream: StreamSettings | None = None, gateway: GatewaySettings | None = None) -> Situation:
    return Situation(KafkaSettings(), gateway, stream, None, None)


def fails(_: Situation) -> Iterator[CheckResult]:
    yield ok("first")
    raise EnvironmentProblem("no right")


def hangs(_: Situation) -> Iterator[CheckResult]:
    time.sleep(5)
    yield ok("late")


def test_the_others_run() -> None:
    found = dict(run_all(situation(), {"a": fails, "b": hangs, "c": lambda _: iter([ok("well")])}, limit_s=0.2))
    assert [[(each.outcome, each.text) for each in results] for results in found.values()] == [
        [(Outcome.OK, "first"), (Outcome.NOT_CHECKED, "no right")],
        [(Outcome.NOT_CHECKED, "no answer within 0 s")],
        [(Outcome.OK, "well")],
    ]


def test_an_invalid_setting_of_a_process_is_a_result_and_not_shown(tmp_path: Path, clientscope: Run) -> None:
    file = tmp_path / "c.toml"
    file.write_text(f'[kafka]\n"bootstrap.servers" = "127.0.0.1:{free_port()}"\n[gateway]\nbroker_jmx = "ftp://me:CNRYSECRET@x"\n')
    status, out, err = clientscope("doctor", "--config", str(file), "-o", "json")
    found = {each["check"]: (each["outcome"], each["text"]) for each in json.loads(out)["results"]}
    assert (status, found["settings"]) == (1, ("problem", f"invalid setting of gateway: {file}, [gateway] broker_jmx"))
    assert "CNRYSECRET" not in out + err
    assert {found[check][0] for check in ("listeners", "topics", "rights", "clocks")} == {"not checked"}, "without a broker"


def test_what_others_need_comes_before() -> None:
    titles = [*CHECKS]
    assert titles.index("files") < titles.index("brokers") < min(titles.index(each) for each in ("listeners", "topics", "clocks"))


HOSTILE = "client ```\n[red]x[/red]\x1b[31m"
RESULTS = [
    ("a", [ok("1"), ok("2")]),
    ("b", [ok("3"), warning(HOSTILE, "do"), problem("bad", "fix", "run 'it'")]),
    ("c", [not_checked("why")]),
]


def test_what_a_terminal_of_80_columns_shows() -> None:
    assert outcomes(RESULTS) == "1 problem, 1 warning, 1 not checked, 3 ok"
    assert (worst([("b", [ok("x"), warning("y"), not_checked("z")])]), worst([])) == (Outcome.WARNING, Outcome.OK)
    out = io.StringIO()
    console = Console(file=out, width=80, no_color=True, highlight=False)
    console.print(block(*RESULTS[1]))
    print_end(console, {"Java": "x" * 100}, RESULTS)
    assert "\x1b" not in out.getvalue() and is_golden(re.sub("(?m) +$", "", out.getvalue()), __file__, "shown.txt")


def said(folder: Path, title: str, results: Iterable[CheckResult]) -> str:
    """Results as a text, whatever folder a test has."""
    text = f"{title}\n"
    for each in results:
        text += f"  {each.outcome.value}: {each.text}\n" + "".join(f"    {more}\n" for more in (each.remedy, each.command) if more)
    return text.replace(str(folder), "FOLDER")


def java_of(folder: Path, version: str) -> None:
    path = folder / "bin" / "java"
    path.parent.mkdir(parents=True)
    path.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\" 2024-01-16' >&2\n")
    path.chmod(0o755)


def checked(home: Path, monkeypatch: pytest.MonkeyPatch) -> CheckResult:
    monkeypatch.setenv("JAVA_HOME", str(home))
    java.cache_clear()
    try:
        (found,) = machine.check_java(situation())
    finally:
        java.cache_clear()
    return found


def test_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    java_of(tmp_path / "new", "21.0.5")
    java_of(tmp_path / "old", "11.0.22")
    found = checked(tmp_path / "new", monkeypatch)
    assert (found.outcome, found.text) == (Outcome.OK, f"Java 21.0.5, {tmp_path}/new/bin/java")
    found = checked(tmp_path / "old", monkeypatch)
    assert found.outcome is Outcome.PROBLEM and "is Java 11" in found.text and "install Java 17" in found.remedy
    assert checked(tmp_path / "none", monkeypatch).outcome is Outcome.PROBLEM


def test_jars_are_looked_for_and_not_downloaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLIENTSCOPE_JARS", str(tmp_path / "jars"))
    (found,) = machine.check_spark(situation())
    assert (found.outcome, found.command) == (Outcome.WARNING, "clientscope jars")
    assert not (tmp_path / "jars").exists()


def test_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stream = StreamSettings(checkpoint_dir=tmp_path / "a b" / "checkpoints", history_dir=tmp_path / "history")
    for low, full, outcome in ((0, 0, Outcome.OK), (2**62, 0, Outcome.WARNING), (2**62, 2**62, Outcome.PROBLEM)):
        monkeypatch.setattr(machine, "_LOW_BYTES", low)
        monkeypatch.setattr(machine, "_FULL_BYTES", full)
        (found,) = machine.check_disk(situation(stream))
        assert found.outcome is outcome
        assert "GiB are free" in found.text
        assert bool(found.command) == (outcome is not Outcome.OK)


def ports(timeout_s: float = 5.0, **gateway: str) -> dict[str, CheckResult]:
    """Results by flag."""
    off = {"listen": "127.0.0.1:0", "metrics_listen": "127.0.0.1:0", "admin_listen": "127.0.0.1:0"}
    found = check_ports(replace(situation(gateway=GatewaySettings(**{**off, **gateway})), timeout_s=timeout_s))
    return {each.text.split()[1]: each for each in found}


def test_free_off_and_elsewhere() -> None:
    found = ports(listen=f"127.0.0.1:{free_port()}", metrics_listen="192.0.2.1:9464")
    assert found["--listen"].outcome is Outcome.OK and found["--listen"].text.endswith(" is free")
    assert found["--metrics-listen"].outcome is Outcome.WARNING and "cannot listen here" in found["--metrics-listen"].text
    assert found["--admin-listen"].outcome is Outcome.NOT_CHECKED


def test_one_that_never_answers_is_another() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        found = ports(0.2, listen=address)["--listen"]
        assert (found.outcome, found.command) == (Outcome.PROBLEM, f"ss -ltnp 'sport = :{silent.getsockname()[1]}'")
        assert ports(0.2, metrics_listen=address)["--metrics-listen"].outcome is Outcome.PROBLEM


KEY, OTHER, TOKEN = "CNRYKEY0" * 5, "CNRYKEY1" * 5, "CNRYTOKEN" * 3


class PageOf(PageSettings):
    """The page's settings alone."""

    section = "page"


def test_files_and_certificates(tmp_path: Path) -> None:
    key, token = private(tmp_path / "digest.key", KEY), private(tmp_path / "to ken", f"ann {TOKEN}")
    gateway = GatewaySettings(digest_key_file=key, admin_token_file=token, ssl_key_location=private(tmp_path / "tls.key", "x"))
    stream, serve = StreamSettings(digest_key_file=key), ServeSettings(reader_token_file=token)
    everything = Situation(KafkaSettings(), gateway, stream, serve, PageOf(token_file=token))
    text = said(tmp_path, "files", check_files(everything))
    assert everything.access is not None
    token.chmod(0o644)
    text += said(tmp_path, "a token that others may read", check_files(everything))
    key.unlink()
    text += said(tmp_path, "no key", check_files(everything))
    other = StreamSettings(digest_key_file=private(tmp_path / "b", OTHER))
    two = situation(other, GatewaySettings(digest_key_file=private(tmp_path / "a", KEY)))
    text += said(tmp_path, "two digest keys", check_files(two))
    now = datetime(2026, 5, 1, tzinfo=UTC)
    text += said(tmp_path, "expiry", (expiry("x", now + timedelta(days=days), now) for days in (-0.5, 7, 90)))
    authority = Authority(tmp_path)
    (tmp_path / "no.pem").write_text("nothing")
    of_gateway = GatewaySettings(
        ssl_certificate_location=authority.sign("old", days=-1).certificate,
        ssl_ca_location=authority.certificate,
        upstream_ssl_ca_location=tmp_path / "no.pem",
        upstream_ssl_certificate_location=tmp_path / "gone.pem",
    )
    found = said(tmp_path, "certificates", check_certificates(situation(gateway=of_gateway)))
    text += re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d UTC", "SOME DAY", found)
    assert "CNRY" not in text and is_golden(text, __file__, "files.txt")


GATEWAY, BROKER, NOBODY, SILENT = Probed(keys=frozenset({18, 1324})), Probed(keys=frozenset({18})), Probed("no connection"), Probed()


def test_advertised() -> None:
    found = advertised(
        3,
        {
            "advertised.listeners": "CLIENT://gw-3:9092, INTERNAL://[fd00::3]:19092,ODD://nowhere,BAD",
            "listener.security.protocol.map": "CLIENT:SASL_SSL,INTERNAL:PLAINTEXT",
            "inter.broker.listener.name": "INTERNAL",
        },
    )
    assert found == [
        AdvertisedListener(3, "CLIENT", "gw-3", 9092, "SASL_SSL", False),
        AdvertisedListener(3, "INTERNAL", "fd00::3", 19092, "PLAINTEXT", True),
    ]
    assert advertised(1, {"listeners": "SSL://b:1", "advertised.listeners": None})[0].protocol == "SSL"
    assert advertised(1, {}) == []


LISTENERS = [
    ("CLIENT", False, False, GATEWAY), ("CLIENT", False, False, BROKER), ("CLIENT", False, False, NOBODY), ("CLIENT", False, False, SILENT),
    ("INTERNAL", True, True, BROKER), ("INTERNAL", True, True, GATEWAY), ("REPLICATION", True, False, NOBODY),
    ("OTHER", False, False, BROKER),
]  # fmt: skip
"""Name, whether it is for brokers, whether clientscope itself uses it, and what answers."""


def test_a_hostile_host_is_in_no_command() -> None:
    found = judge(AdvertisedListener(1, "CLIENT", "h;rm -rf $HOME", 9092, "PLAINTEXT", False), NOBODY, "CLIENT", own=False)
    assert found.command == "clientscope gateway --listen HOST:9092"


def described(**allowed: set[str]) -> dict[str, Any]:
    """All topics; those that aren't given have all rights."""
    every = {"DESCRIBE", "READ", "WRITE", "DESCRIBE_CONFIGS"}
    given = {f"clientscope.{name}": operations for name, operations in allowed.items()}
    return {name: {"error_code": 0, "authorized_operations": given.get(name, every)} for name in BY_NAME}


def test_needed_is_what_the_documentation_says() -> None:
    documented: dict[str, tuple[set[str], set[str]]] = {}
    for line in (ROOT / "docs" / "security.md").read_text().splitlines():
        if line.startswith("kafka-acls.sh"):
            words = shlex.split(line, comments=True)
            named = [word for flag, word in pairwise(words) if flag == "--topic"]
            who = words[words.index("--allow-principal") + 1].removeprefix("User:")
            reads, writes = documented.setdefault(who, (set(), set()))
            reads.update(named if "Read" in words else ())
            writes.update(named if "Write" in words else ())
    needed = {name: used_by(name, client_telemetry=True) for name in USED_BY}
    assert {name: (set(of.reads), set(of.writes)) for name, of in needed.items()} == {name: documented[name] for name in USED_BY}


def test_it_is_what_the_job_and_the_page_read_and_write() -> None:
    read = {topic for query in job.QUERIES.values() for topic in query.reads} | {*job.RECORDED, JOB}
    written = {topic for query in job.QUERIES.values() for topic in query.writes} | {STATUS, JOB}
    assert tuple(map(set, used_by("stream", client_telemetry=True))) == (read, written)
    assert set(USED_BY["serve"].reads) == set(reader.TOPICS)


def rights() -> Iterator[CheckResult]:
    telemetry = described(telemetry={"DESCRIBE"})
    yield from cluster.judge_rights(telemetry, "User:g", "gateway")
    yield from cluster.judge_rights(telemetry, "User:g", "gateway", client_telemetry={"gateway"})
    yield from cluster.judge_rights(telemetry, "User:s", "stream", client_telemetry={"stream"})
    yield from cluster.judge_rights(described(results={"DESCRIBE"}), "User:me", "")  # of another process they may be missing
    denied = {name: {"error_code": error.errno, "authorized_operations": None} for name, error in DENIED.items()}
    yield from cluster.judge_rights(described() | denied, "User:a b", "gateway")
    yield from cluster.judge_rights({name: {"error_code": 0, "authorized_operations": None} for name in BY_NAME}, "User:me", "")


DENIED = {CONFIGS: TopicAuthorizationFailedError, CONNECTIONS: UnknownTopicOrPartitionError}


def judged() -> dict[str, list[CheckResult]]:
    return {
        "a record that arrives": [cluster.judge_clock(ahead_ms) for ahead_ms in (80, -400, 2_500, -60_000)],
        "the newest record is a bound": [cluster.bounded(age) for age in (-5_000, None, 3_600_000, -500)],
        "listeners": [
            judge(AdvertisedListener(1, name, "h", 9092, "PLAINTEXT", inside), probed, "CLIENT", own=own)
            for name, inside, own, probed in LISTENERS
        ],
        "rights": [*rights()],
    }


def test_what_is_made_of_what_is_found(tmp_path: Path) -> None:
    assert is_golden("".join(said(tmp_path, name, results) for name, results in judged().items()), __file__, "judged.txt")


@contextmanager
def answering(answer: bytes, tls: ssl.SSLContext | None = None) -> Iterator[int]:
    """A port where each connection gets these bytes for its first ones, then silence."""

    def serve(connection: socket.socket) -> None:
        with tls.wrap_socket(connection, server_side=True) if tls else connection as wrapped:
            wrapped.recv(1024)
            wrapped.sendall(answer)
            wrapped.recv(1024)

    with taking(serve) as address:
        yield int(address.rpartition(":")[2])


@pytest.mark.parametrize("advertises", [True, False])
def test_a_gateway_and_a_broker(advertises: bool) -> None:
    broker = ScriptedBroker(advertises=advertises)
    try:
        found = probe("127.0.0.1", broker.port, tls=False, timeout_s=5)
    finally:
        broker.close()
    assert (found.failure, found.is_gateway, found.keys is not None) == ("", advertises, True)


def test_nobody_and_no_such_name() -> None:
    assert probe("127.0.0.1", free_port(), tls=False, timeout_s=2).failure.startswith("no connection")
    for name in ("no-such-host.invalid", "x" * 80 + ".invalid", "\udcff"):
        assert "doesn't resolve" in probe(name, 9092, tls=False, timeout_s=5).failure


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"HTTP/1.1 400 Bad Request\r\n\r\n",
        struct.pack(">i", 2**31 - 1),
        struct.pack(">i", -1),
        struct.pack(">iihi", 10, 1, 0, 2**31 - 1),
        struct.pack(">iihi", 10, 1, 0, -1),
        struct.pack(">iihi", 10, 1, 35, 0),
        struct.pack(">ii", 200_000, 1),
    ],
)
def test_hostile_answers_are_no_answer(answer: bytes) -> None:
    with answering(answer) as port:
        found = probe("127.0.0.1", port, tls=False, timeout_s=0.3)
    assert (found.failure, found.keys, found.is_gateway) == ("", None, False)


def test_a_certificate_is_read_though_it_has_expired(tmp_path: Path) -> None:
    pair = Authority(tmp_path).sign("old", days=-1)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pair.certificate, pair.key)
    with answering(struct.pack(">iihihhh", 16, 1, 0, 1, 1324, 0, 0), context) as port:
        found = probe("127.0.0.1", port, tls=True, timeout_s=5)
    assert found.is_gateway and found.expires is not None and found.expires.timestamp() < time.time()
