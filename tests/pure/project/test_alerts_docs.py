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
from prometheus_client import generate_latest
from prometheus_client.parser import text_string_to_metric_families

from sinks.alerts import receivers_file
from sinks.alerts.kinds.webhook import payload
from sinks.alerts.message import Texts
from sinks.alerts.metrics import DeliverMetrics, Figures, ReceiverFigures
from sinks.alerts.receiver_tables import HttpTable, MessageTable
from sinks.alerts.sending import OK

DOCS = ROOT / "docs" / "alerts.md"
TEXT = DOCS.read_text()
METRICS = DOCS.with_name("metrics.md").read_text()
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
        (tmp_path / name).write_text(secret)
        (tmp_path / name).chmod(0o600)
    file = tmp_path / "receivers.toml"
    file.write_text(blocks("toml")[0].replace("/run/secrets", str(tmp_path)))
    environ = {"TICKETS_AUTHORIZATION": "Bearer x", "ONCALL_URL": "pagerduty://key@token"}
    read = receivers_file.read(file, environ)
    assert [one.name for one in read.every] == ["alertmanager", "tickets", "oncall", "payments"]
    assert len(read.silences) == 2


def test_a_default_in_the_table_is_the_code_s() -> None:
    rows = {name: row for row in TEXT.splitlines() if row.startswith("| `") for name in re.findall(r"`(\w+)`", row.split("|")[1])}
    fields = {**HttpTable.model_fields, **MessageTable.model_fields}
    assert fields.keys() < rows.keys()
    for key in ("timeout_seconds", "max_attempts", "group_wait_seconds", "group_interval_seconds"):
        assert re.search(rf"\b{fields[key].default}\b", rows[key]), key


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
    Path("wrong.toml").write_text(local.replace('allow_networks = ["127.0.0.1"]\n', ""))
    with serving() as server:
        Path("local.toml").write_text(local.replace("18099", str(server.port)))
        for block in blocks("console"):
            assert session(block, capsys) == block
        assert json.loads(server.got[0].body)["type"] == "clientscope.test"


def test_the_documented_text_is_the_text_of_the_message() -> None:
    assert blocks("text") == [Texts(PAGE).body(message(made())) + "\n"]


def test_the_body_is_what_is_sent() -> None:
    sent = json.loads(payload(message(made()), Texts(PAGE)))
    sent["data"]["text"] = "OPEN, high\n…"
    assert blocks("json") == [json.dumps(sent, indent=2, ensure_ascii=False) + "\n"]


def test_every_metric_is_in_it_and_follows_the_conventions() -> None:
    metrics = DeliverMetrics(["hook"])
    metrics.show(lambda: Figures(True, 1, 0, (ReceiverFigures("hook", alerts=3),)))
    metrics.attempted("hook", OK, 2, 0.1)
    families = list(text_string_to_metric_families(generate_latest(metrics.registry).decode()))
    table = METRICS[METRICS.index("<!-- metrics: deliver -->") :]
    for family in (family for family in families if not family.name.endswith("_created")):
        assert family.documentation
        name = family.name.removeprefix("clientscope_deliver_") + ("_total" if family.type == "counter" else "")
        assert f"`clientscope_deliver_{name}`" in table, name
    values = {(sample.name, sample.labels.get("receiver")): sample.value for family in families for sample in family.samples}
    assert values["clientscope_deliver_messages_delivered_total", "hook"] == 1
    assert values["clientscope_deliver_retries_total", "hook"] == 1
    assert values["clientscope_deliver_alertmanager_alerts", "hook"] == 3
