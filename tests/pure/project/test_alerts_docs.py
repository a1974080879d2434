"""docs/alerts.md: its files are read, its commands say what it says they do, its examples are what is sent."""

from __future__ import annotations

import base64
import json
import re
import shlex
from pathlib import Path

import pytest
from alert_receivers import SECRET, command, message, serving
from made_findings import made
from places import ROOT
from private_files import private

from sinks.alerts import receivers
from sinks.alerts.message import Texts
from sinks.alerts.webhook import payload

DOCS = ROOT / "docs" / "alerts.md"
TEXT = DOCS.read_text()
PAGE = "https://clientscope.example.com/"
WHSEC = "whsec_" + base64.b64encode(SECRET).decode()


def blocks(kind: str) -> list[str]:
    return re.findall(rf"^```{kind}\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)


def test_the_receivers_file_is_read(tmp_path: Path) -> None:
    secrets = {
        "tickets-new": WHSEC,
        "tickets-old": WHSEC,
        "payments-slack": "slack://T1JJ3T3L2/A1BRTD4JD/TIiajkdnlazkcOXrIdevi7FQ/#payments",
    }
    for name, secret in secrets.items():
        private(tmp_path / name, secret)
    file = tmp_path / "receivers.toml"
    file.write_text(blocks("toml")[0].replace("/run/secrets", str(tmp_path)))
    environ = {"TICKETS_AUTHORIZATION": "Bearer x", "ONCALL_URL": "pagerduty://key@token"}
    assert [one.name for one in receivers.read(file, environ)] == ["alertmanager", "tickets", "oncall", "payments"]


def session(block: str, capsys: pytest.CaptureFixture[str]) -> str:
    said, status = "", 0
    for line in (line for line in block.splitlines() if line.startswith("$ ")):
        said += f"{line}\n"
        if line == "$ echo $?":
            said += f"{status}\n"
            continue
        status = command(*shlex.split(line)[2:])
        out = capsys.readouterr()
        said += out.out + out.err
    return said


def test_the_commands_say_what_it_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOOK_SECRET", WHSEC)
    local = blocks("toml")[1]
    Path("wrong.toml").write_text(f'allowed_hosts = ["10.0.0.0/8"]\n{local}')
    with serving() as server:
        Path("local.toml").write_text(local.replace("18099", str(server.port)))
        for block in blocks("console"):
            assert session(block, capsys) == block
        assert json.loads(server.got[0].body)["type"] == "clientscope.test"


def test_the_documented_message_is_what_is_sent() -> None:
    assert blocks("text") == [Texts(PAGE).body(message(made())) + "\n"]
    sent = json.loads(payload(message(made()), Texts(PAGE)))
    sent["data"]["text"] = "OPEN, high\n…"
    assert blocks("json") == [json.dumps(sent, indent=2, ensure_ascii=False) + "\n"]
