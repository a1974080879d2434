"""clientscope push: files in their formats, and what is shown; no network."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from command_runs import Run, Said
from golden import is_golden, session, texts
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


WRONG = {**dict(texts(__file__, "wrong_files.txt")), "bytes.json": '{"a": "\udcff"}', "large.json": "acks=1" * MAX_BYTES}


def test_a_wrong_file_is_said_and_not_quoted(push: Run) -> None:
    said = session(lambda name: push(name, WRONG[name], "--dry-run"), WRONG)
    assert "hunter2" not in said and is_golden(said, __file__, "wrong_files.txt")


def test_a_dry_run_shows_values_and_what_is_held_back(push: Run) -> None:
    lines = {f"--dry-run --allowed-keys {flags}": content for flags, content in texts(__file__, "dry_runs.txt")}
    said = session(lambda *words: push("c.properties", lines[" ".join(words)], *words), lines)
    assert "hunter2" not in said and is_golden(said, __file__, "dry_runs.txt")


def test_what_is_refused(push: Run, clientscope: Run) -> None:
    lines = dict(texts(__file__, "refused.txt"))
    contents = {flag.replace("'", ""): content for flag, content in lines.items()}
    said = session(lambda flag: push("c.properties", contents[flag], flag), lines)
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
