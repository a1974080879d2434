"""``clientscope lint`` on files, with the real rules: which files, whose settings, exit statuses, errors."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from datetime import date
from pathlib import Path

import pytest
from command_runs import Document, Run
from golden import is_golden, session

from clientscope import cli
from clientscope.catalog.configs import ClientType
from clientscope.catalog.dialects import dialect
from clientscope.commands import sources
from clientscope.commands.lint import LintSettings, files, linting

BAD = "bootstrap.servers=k:9092\nclient.id=orders\nacks=0\n"
GOOD = "bootstrap.servers=k:9092\nclient.id=orders\nacks=all\n"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("FORCE_COLOR", "NO_COLOR", "CLIENTSCOPE_CONFIG"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


@pytest.fixture
def linted(run: Run) -> Callable[..., set[str]]:
    """The codes of what is found."""
    return lambda *words: {each["code"] for each in json.loads(run(*words, "--output-format", "json").out)["findings"]}


@pytest.mark.parametrize(
    ("words", "status"),
    [
        ("good.properties --fail-on critical", 0),
        ("bad.properties", 1),
        ("bad.properties --fail-on high", 1),
        ("bad.properties --fail-on critical", 0),
        ("bad.properties --fail-on never", 0),
        ("bad.properties nothing.properties", 2),
    ],
)
def test_exit_statuses(words: str, status: int, here: Path, run: Run) -> None:
    (here / "bad.properties").write_text(BAD)
    (here / "good.properties").write_text(GOOD)
    assert run(*words.split()).status == status


WRONG = [
    "nothing.properties", ".", "x.properties --dialect klingon", "x.properties --profile klingon", "x.properties --rules none.toml",
    "x.properties --owners none.toml", "x.properties --fail-on sometimes", "x.settings",
]  # fmt: skip


def test_wrong_use_is_status_2(run: Run) -> None:
    assert is_golden(session(run, WRONG), __file__, "wrong_use.txt")
    assert run().refused.startswith("usage: clientscope lint")


def test_what_is_wrong_with_one_file_keeps_nobody_from_the_others(here: Path, run: Run) -> None:
    (here / "a.json").write_text('{"acks": hunter2}')
    (here / "b.properties").write_text(BAD)
    (here / "c.properties").write_bytes(b"x" * (1024 * 1024 + 1))
    status, out, err = run("a.json", "b.properties", "c.properties", "--output-format", "concise")
    assert status == 2
    assert "b.properties:3:6: AN101 high" in out
    assert "error: a.json is not JSON: line 1, column 10" in err
    assert "error: c.properties is larger than 1048576 bytes" in err
    assert "2 files not read" in out


def test_a_directory(here: Path, run: Run) -> None:
    for name in ("b/orders.properties", "a.conf", ".git/x.properties", "node_modules/x.properties", "b/orders.txt", ".hidden.properties"):
        path = here / "src" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(BAD)
    (here / "src/log4j.properties").write_text("log4j.rootLogger=INFO\n")
    (here / "src/server.properties").write_text("process.roles=broker\nlog.dirs=/tmp\nacks=0\n")
    (here / "src/worker.properties").write_text("key.converter=x\ngroup.id=connect\n")
    (here / "src/chart.yaml").write_text("a: {{ .Values.x }}: y\n")
    (here / "src/data.json").write_text("[1, 2]")
    (here / "src/client.yaml").write_text("client.id: orders\nacks: 0\n")
    (here / "src/again").symlink_to(here / "src")
    status, out, err = run("src", "src/a.conf", "--output-format", "json")
    assert (status, err) == (1, "")
    document = json.loads(out)
    judged = [file["path"] for file in document["files"] if not file["skipped"]]
    assert judged == [
        "src/a.conf",
        "src/client.yaml",
        "src/b/orders.properties",
    ]
    assert {file["path"]: file["skipped"].split(":")[0] for file in document["files"] if file["skipped"]} == {
        "src/chart.yaml": "src/chart.yaml is not YAML",
        "src/data.json": "src/data.json is not JSON",
        "src/log4j.properties": "no setting of a Kafka client (java) in it",
        "src/server.properties": "a broker's settings",
        "src/worker.properties": "a Connect worker's settings",
    }


def test_what_is_not_judged_is_never_called_clean(here: Path, run: Run) -> None:
    (here / "log4j.properties").write_text("log4j.rootLogger=INFO\n")
    status, out, _ = run("log4j.properties")
    assert status == 0
    assert out.splitlines()[0] == "– log4j.properties: not judged: no setting of a Kafka client (java) in it"
    (here / "x.properties").write_text("security.protocol=PLAINTEXT\nbootstrap.servers=a:1\n")
    document = json.loads(run("x.properties", "--output-format", "json")[1])
    assert document["not_judged"] > 0
    assert "AN101" in document["files"][0]["not_judged"]


def test_the_standard_input(monkeypatch: pytest.MonkeyPatch, run: Run) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(BAD.encode())))
    assert "<stdin>:3:6: AN101" in run("-", "--output-format", "concise")[1]
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b'{"acks": 0}')))
    assert "<stdin>:1:10: AN101" in run("-", "--format", "json", "--output-format", "concise")[1]


def test_the_last_of_several_counts(here: Path, run: Run) -> None:
    (here / "x.properties").write_text(BAD + "acks=all\n")
    out = run("x.properties")[1]
    assert "AN101" not in out
    assert "note: x.properties:3: acks is there again in line 4, which counts" in out
    (here / "y.properties").write_text(GOOD + "acks=0\n")
    assert "y.properties:4:6: AN101" in run("y.properties", "--output-format", "concise")[1]


def test_librdkafkas_names_are_found_again(here: Path, run: Run) -> None:
    (here / "x.conf").write_text("metadata.broker.list=a:1\nrequest.required.acks=0\n")
    assert "x.conf:2:23: AN101" in run("x.conf", "--dialect", "librdkafka", "--output-format", "concise")[1]


def test_suppressions_and_profiles_come_from_the_rules_file(here: Path, run: Run) -> None:
    (here / "x.properties").write_text(BAD)
    (here / "rules.toml").write_text(
        "[[suppress]]\ncode = 'AN101'\nclient_id = 'ord*'\nreason = 'metrics only'\nuntil = 9999-01-01\n"
        "[[suppress]]\ncode = 'AN101'\npath = '*'\nreason = 'old'\nuntil = 2020-01-01\n"
    )
    (here / "clientscope.toml").write_text("[rules]\nfile = 'rules.toml'\n")
    out = run("x.properties")[1]
    assert "note: x.properties:3: AN101 is suppressed until 9999-01-01 by rules.toml:1: metrics only" in out
    assert "note: rules.toml:6: the suppression of AN101 ended on 2020-01-01 and counts no longer" in out
    settings = sources.load(LintSettings, {"paths": ["x.properties"], "principal": "User:a"}, {})
    assert "AN101" not in {finding.rule.code for finding in linting.lint(settings, date(2026, 11, 22)).findings}
    (here / "rules.toml").write_text("default = 'x'\n[profiles.x]\nofff = ['AN101']\n")
    status, _, err = run("x.properties")
    assert (status, err.splitlines()[0]) == (2, "error: rules.toml:3: unknown key profiles.x.offf")


def test_a_profile_judges_by_its_limits(here: Path, linted: Callable[..., set[str]]) -> None:
    (here / "x.properties").write_text(GOOD + "batch.size=32768\n")
    (here / "rules.toml").write_text("[[assign]]\nprofile = 'msk'\nprincipal = 'User:cloud'\n")
    assert "AN110" not in linted("x.properties")
    assert "AN110" in linted("x.properties", "--profile", "msk")
    assert "AN110" not in linted("x.properties", "--rules", "rules.toml", "--principal", "User:orders")
    assert "AN110" in linted("x.properties", "--rules", "rules.toml", "--principal", "User:cloud")
    assert "AN110" not in linted("x.properties", "--rules", "rules.toml", "--principal", "User:cloud", "--profile", "apache")


@pytest.mark.parametrize(
    ("names", "library", "expected"),
    [
        (["acks"], "java", (ClientType.PRODUCER,)),
        (["group.id"], "java", (ClientType.CONSUMER,)),
        (["max.poll.records"], "java", (ClientType.CONSUMER,)),
        (["bootstrap.servers", "security.protocol", "client.id"], "java", (None,)),
        (["linger.ms", "group.id"], "java", (ClientType.PRODUCER, ClientType.CONSUMER)),
        (["application.id", "acks"], "java", (ClientType.STREAMS,)),
        (["share.acquire.mode", "group.id"], "java", (ClientType.SHARE_CONSUMER,)),
        (["queue.buffering.max.ms"], "librdkafka", (ClientType.PRODUCER,)),
        (["group_id"], "kafka-python", (ClientType.CONSUMER,)),
    ],
)
def test_which_client_the_settings_are_for(names: list[str], library: str, expected: tuple[ClientType | None, ...]) -> None:
    assert files.client_types(names, dialect(library)) == expected


PROGRAM = """
import sys
from clientscope.__main__ import main
sys.argv = ["clientscope", "lint", "x.properties"]
status = main()
print(*(name for name in ("pandas", "pyspark", "kafka", "clientscope.findings.record", "fastapi", "rich") if name in sys.modules))
sys.exit(status)
"""


def test_the_command_as_a_process(here: Path) -> None:
    """As a shell runs it on a terminal of few characters: status, no colours in a pipe, and nothing loaded that it doesn't need."""
    (here / "x.properties").write_text(BAD + "client.id=caf\\u00e9\n")
    environment = {**os.environ, "PYTHONPATH": str(Path(cli.__file__).parent.parent), "PYTHONIOENCODING": "ascii"}
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, env=environment, check=False)
    assert (done.returncode, done.stderr) == (1, b"")
    *lines, loaded = done.stdout.decode("ascii").splitlines()
    assert "AN101 high" in lines[0] and loaded == ""
    assert b"\x1b" not in done.stdout


def test_a_word_about_security_is_checked_and_a_secret_in_its_place_stays_hidden(lint: Document) -> None:
    found = lint("orders.properties", "acks=all\nsecurity.protocol=SASL_TLS\n")["findings"]
    assert ("CF103", 2, 19) in {(each["code"], each["line"], each["column"]) for each in found}
    found = lint("orders.properties", "acks=all\nsecurity.protocol=https://user:canary-1@host/\n")
    assert "SK002" in {each["code"] for each in found["findings"]} and "canary" not in json.dumps(found)
