"""clientscope push: files in their formats, and what is shown; no network."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from command_runs import Run, Said
from golden import is_golden, session
from listeners import taking

from clientscope.commands.push.pushing import read
from clientscope.settings_files import MAX_BYTES


@pytest.fixture
def push(clientscope: Run, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs the command on a file of this name and content: status, stdout, stderr."""
    monkeypatch.setenv("COLUMNS", "200")

    def run(name: str, content: str, *flags: str) -> Said:
        Path(name).write_bytes(content.encode(errors="surrogateescape"))
        return clientscope("push", "--properties", name, *flags)

    return run


def test_json_and_yaml_flat_or_nested(tmp_path: Path) -> None:
    def given(name: str, content: str, file_format: str = "") -> dict[str, str]:
        path = tmp_path / name
        path.write_text(content)
        return read(path, file_format)

    expected = {"acks": "all", "linger.ms": "5", "enable.idempotence": "true", "bootstrap.servers": "a:1,b:2"}
    text = '{"acks": "all", "linger": {"ms": 5}, "enable.idempotence": true, "bootstrap.servers": ["a:1", "b:2"], "client.id": null}'
    assert given("c.json", text) == expected
    text = "acks: all\nlinger:\n  ms: 5\nenable.idempotence: yes\nbootstrap.servers: [a:1, 'b:2']\nclient.id:\n"
    for suffix in (".yaml", ".yml", ".YML"):
        assert given(f"c{suffix}", text) == expected
    assert given("c.conf", "acks=1", "properties") == {"acks": "1"}


WRONG = {
    "c.conf": "acks=1",
    "list.json": "[1, 2]",
    "bytes.json": '{"a": "\udcff"}',
    "alias.yaml": "a: b\npassword: *hunter2\n",
    "tag.yaml": "password: !hunter2 x\n",
    "empty.yaml": "",
    "large.json": "acks=1" * MAX_BYTES,
}


def test_a_wrong_file_is_said_and_not_quoted(push: Run) -> None:
    said = session(lambda name: push(name, WRONG[name], "--dry-run"), WRONG)
    assert "hunter2" not in said and is_golden(said, __file__, "wrong_files.txt")


DRY_RUNS = {
    "acks,linger.ms,retries,sasl.jaas.config,app.setting,client.id,transactional.id": (
        "acks=-1\nlinger.ms=20\nsasl.jaas.config=hunter2\nclient.id=https://u:hunter2@h/\ntransactional.id=x\\u001b[31m\n"
    ),
    # The version decides about defaults.
    "linger.ms --software-version 3.9.2": "acks=1",
    "linger.ms --software-version 4.0.0": "acks=1",
    "linger.ms --software-version unknown": "acks=1",
    # Who it is.
    "group.id": "group.id=g",
    "group.id,application.id": "application.id=a\ngroup.id=g",
    "group.id --client-type share-consumer --software-version 4.4.0": "group.id=g",
    "group.id --dialect librdkafka --software-name confluent-kafka-go": "group.id=g",
}


def test_a_dry_run_shows_values_and_what_is_held_back(push: Run) -> None:
    lines = {f"--dry-run --allowed-keys {flags}": content for flags, content in DRY_RUNS.items()}
    said = session(lambda *words: push("c.properties", lines[" ".join(words)], *words), lines)
    assert "hunter2" not in said and is_golden(said, __file__, "dry_runs.txt")


REFUSED = {
    "--software-name='my client'": "acks=1",
    "--software-version=-1": "acks=1",
    "--bootstrap-servers=kafka": "acks=1",
    "--client-type=broker": "acks=1",
    "--dialect=cobol": "acks=1",
    "--timeout-ms=1000": "config.push.allowed.keys=app.password\napp.password=hunter2\nbootstrap.servers=127.0.0.1:1",
    "--timeout-ms=1001": "acks=1",
    # A client that needs to be let in needs flags.
    "--dialect=java": "security.protocol=SASL_SSL\nbootstrap.servers=127.0.0.1:1",
    "--dialect=aiokafka": "security_protocol=SASL_SSL\nbootstrap.servers=127.0.0.1:1",
}


def test_what_is_refused(push: Run, clientscope: Run) -> None:
    contents = {flag.replace("'", ""): content for flag, content in REFUSED.items()}
    said = session(lambda flag: push("c.properties", contents[flag], flag), REFUSED)
    said += session(lambda *words: clientscope("push", *words), ["--dry-run", "--properties none.properties"])
    assert "hunter2" not in said and is_golden(said, __file__, "refused.txt")


@pytest.mark.parametrize(
    ("name", "content"),
    [("c.properties", "enable.config.push = False"), ("c.yaml", "enable.config.push: no"), ("c.json", '{"enable_config_push": false}')],
)
def test_a_file_that_says_no_is_obeyed_and_that_is_said(push: Run, name: str, content: str) -> None:
    assert push(name, content) == (0, f"not pushed, as {name} says enable.config.push=false\n", "")


@pytest.fixture
def hanging_up() -> Iterator[tuple[str, list[None]]]:
    """An address where every connection is closed at once, and a list as long as their number."""
    accepted: list[None] = []
    with taking(lambda connection: accepted.append(None)) as address:
        yield address, accepted


def test_a_push_that_fails_is_an_error(push: Run, hanging_up: tuple[str, list[None]]) -> None:
    address, _ = hanging_up
    status, out, err = push("c.properties", "bootstrap.servers=kafka:9092", "--bootstrap-servers", address, "--timeout-ms", "300")
    assert (status, out) == (1, "")
    assert err.startswith("error: not pushed: ")
    assert "\nhint: check the addresses" in err
