"""``clientscope lint`` on reading, with the real rules: which reading, whose settings, exit statuses, errors."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from datetime import date
from pathlib import Path

import pytest
from command_runs import Run
from golden import asked, cases, is_golden, session, texts
from programs import python

from clientscope import cli
from clientscope.catalog.dialects import dialect
from clientscope.commands import sources
from clientscope.commands.lint import LintSettings, linting, reading
from clientscope.settings_files import MAX_BYTES

BAD = "bootstrap.servers=k:9092\nclient.id=orders\nacks=0\n"
GOOD = "bootstrap.servers=k:9092\nclient.id=orders\nacks=all\n"


@pytest.fixture(autouse=True)
def no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("FORCE_COLOR", "NO_COLOR", "CLIENTSCOPE_CONFIG"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def linted(run: Run) -> Callable[..., set[str]]:
    """The codes of what is found."""
    return lambda *words: {each["code"] for each in json.loads(run(*words, "--output-format", "json").out)["findings"]}


LINES = [
    "good.properties --fail-on critical", "bad.properties", "bad.properties --fail-on high", "bad.properties --fail-on critical",
    "bad.properties --fail-on never", "bad.properties nothing.properties",
    # What is wrong with one file keeps nobody from the others.
    "wrong.json bad.properties large.properties",
    # What is not judged is never called clean.
    "log4j.properties", "no_client.properties",
    # The last of several counts.
    "again.properties", "wrong_again.properties",
    "librdkafka.conf --dialect librdkafka", "secret.properties", "word.properties",
    # A directory, each file once.
    "src src/a.conf",
]  # fmt: skip


KEPT = re.compile(r"(\$ |note: |– |error: |hint: |\[status|\d+ findings? in ).*|\S+:\d+:\d+: \w+ \w+")
"""Not what follows a code, which is a text of a rule."""


def test_what_is_printed_of_files(run: Run) -> None:
    large = [(name, "x" * (MAX_BYTES + 1)) for name in ("large.properties", "src/large.xml")]
    for name, text in (*texts(__file__, "command.txt"), *large):
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(text)
    Path("src/again").symlink_to(Path("src").resolve())
    said = session(lambda *words: run(*words, "--output-format", "concise"), LINES)
    said += session(run, ["log4j.properties", "no_client.properties", "again.properties", "src"])
    short = "".join(f"{kept[0]}\n" for line in said.splitlines() if (kept := KEPT.match(line)))
    short = re.sub(r"; \d+ checks? passed; – \d+ could not be judged", "", short)  # as many as there are rules
    assert "hunter2" not in said and "canary" not in said and is_golden(short, __file__, "command.txt")
    unjudged = json.loads(run("no_client.properties", "--output-format", "json").out)["files"][0]["not_judged"]
    assert "AN101" in unjudged, "which is not clean"


def test_wrong_use_is_status_2(run: Run) -> None:
    assert is_golden(session(run, asked(__file__, "wrong_use.txt")), __file__, "wrong_use.txt")
    assert run().refused.startswith("usage: clientscope lint")


def test_the_standard_input(monkeypatch: pytest.MonkeyPatch, run: Run) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(BAD.encode())))
    assert "<stdin>:3:6: AN101" in run("-", "--output-format", "concise")[1]
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b'{"acks": 0}')))
    assert "<stdin>:1:10: AN101" in run("-", "--format", "json", "--output-format", "concise")[1]


def test_suppressions_and_profiles_come_from_the_rules_file(run: Run) -> None:
    Path("x.properties").write_text(BAD)
    Path("rules.toml").write_text(
        "[[suppress]]\ncode = 'AN101'\nclient_id = 'ord*'\nreason = 'metrics only'\nuntil = 9999-01-01\n"
        "[[suppress]]\ncode = 'AN101'\npath = '*'\nreason = 'old'\nuntil = 2020-01-01\n"
    )
    Path("clientscope.toml").write_text("[rules]\nfile = 'rules.toml'\n")
    out = run("x.properties")[1]
    assert "note: x.properties:3: AN101 is suppressed until 9999-01-01 by rules.toml:1: metrics only" in out
    assert "note: rules.toml:6: the suppression of AN101 ended on 2020-01-01 and counts no longer" in out
    settings = sources.load(LintSettings, {"paths": ["x.properties"], "principal": "User:a"}, {})
    assert "AN101" not in {finding.rule.code for finding in linting.lint(settings, date(2026, 11, 22)).findings}
    Path("rules.toml").write_text("default = 'x'\n[profiles.x]\nofff = ['AN101']\n")
    status, _, err = run("x.properties")
    assert (status, err.splitlines()[0]) == (2, "error: rules.toml:3: unknown key profiles.x.offf")


def test_a_profile_judges_by_its_limits(linted: Callable[..., set[str]]) -> None:
    Path("x.properties").write_text(GOOD + "batch.size=32768\n")
    Path("rules.toml").write_text("[[assign]]\nprofile = 'msk'\nprincipal = 'User:cloud'\n")
    assert "AN110" not in linted("x.properties")
    assert "AN110" in linted("x.properties", "--profile", "msk")
    assert "AN110" not in linted("x.properties", "--rules", "rules.toml", "--principal", "User:orders")
    assert "AN110" in linted("x.properties", "--rules", "rules.toml", "--principal", "User:cloud")
    assert "AN110" not in linted("x.properties", "--rules", "rules.toml", "--principal", "User:cloud", "--profile", "apache")


@pytest.mark.parametrize(("library", "names", "expected"), cases(__file__, "client_types.txt"))
def test_which_client_the_settings_are_for(library: str, names: str, expected: str) -> None:
    found = reading.client_types(names.split(), dialect(library))
    assert [each.value if each else "unknown" for each in found] == expected.split()


PROGRAM = """
import sys
from clientscope.__main__ import main
sys.argv = ["clientscope", "lint", "x.properties"]
status = main()
print(*(name for name in ("pandas", "pyspark", "kafka", "fastapi", "rich") if name in sys.modules))
sys.exit(status)
"""


def test_the_command_as_a_process(tmp_path: Path) -> None:
    """As a shell runs it on a terminal of few characters: status, no colours in a pipe, and nothing loaded that it doesn't need."""
    (tmp_path / "x.properties").write_text(BAD + "client.id=caf\\u00e9\n")
    environment = {**os.environ, "PYTHONPATH": str(Path(cli.__file__).parent.parent), "PYTHONIOENCODING": "ascii"}
    done = python("-c", PROGRAM, cwd=tmp_path, env=environment, encoding="ascii", status=1)
    assert done.stderr == ""
    *lines, loaded = done.stdout.splitlines()
    assert "AN101 high" in lines[0] and loaded == ""
    assert "\x1b" not in done.stdout


def test_a_pipe_that_ends_keeps_the_status(tmp_path: Path) -> None:
    (tmp_path / "a.properties").write_text("acks=0\n" + "".join(f"unknown.{number}=1\n" for number in range(3000)))
    command = [sys.executable, "-m", "clientscope", "lint", str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout and process.stderr
        process.stdout.read(1)
        process.stdout.close()
        assert (process.stderr.read(), process.wait(60)) == (b"", 1)
