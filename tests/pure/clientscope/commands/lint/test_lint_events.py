"""Events in clients' logs, each a finding of that client with its line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_runs import Run

from clientscope.logs.client_logs import LoggedLine
from clientscope.logs.events import EVENTS, MOST, EventLog

ROWS = [row.split("~") for row in (Path(__file__).parent / "cases" / "events.txt").read_text().splitlines() if not row.startswith("#")]
POLL = "[Consumer clientId=orders-7, groupId=orders] consumer poll timeout has expired."


@pytest.mark.parametrize(("lines", "expected"), ROWS)
def test_events(lines: str, expected: str, run: Run) -> None:
    Path("app.log").write_text(lines.replace(";", "\n").strip() + "\n")
    said = run("app.log", "--output-format", "json", "--fail-on", "high")
    report = json.loads(said.out)
    if not expected.strip():
        assert (said.status, report["findings"]) == (0, [])
        return
    (finding,), (file,) = report["findings"], report["files"]
    assert f"{finding['code']} {file['instance']['client_id'] or '-'} {finding['line']}" == expected.strip()
    assert said.status == (0 if finding["code"] == "LG102" else 1)


@pytest.mark.parametrize("form", ["full", "concise", "json", "sarif", "github"])
def test_nothing_of_the_line_is_shown_but_a_judged_name(form: str, run: Run) -> None:
    token = f"ghp_{'a1B2' * 9}"
    line = POLL.replace("orders-7", token) + " password=canary-1x topics: [canary-topic] \x1b[31m"
    Path("app.log").write_text(line)
    said = run("app.log", "--output-format", form)
    assert "LG101" in said.out
    assert token[-20:] not in said.out and "canary" not in said.out and "\x1b" not in said.out


def test_a_suppression_and_an_owner_are_the_clients(run: Run) -> None:
    Path("app.log").write_text(POLL)
    Path("owners.toml").write_text('[[owner]]\nteam = "payments"\ncontact = "#p"\ngroup = "orders"\nprincipal = "User:a"\n')
    Path("rules.toml").write_text('[[suppress]]\ncode = "LG101"\nclient_id = "orders-*"\nreason = "known"\nuntil = 2099-01-01\n')
    assert "owner: payments" in run("app.log", "--owners", "owners.toml", "--principal", "User:a").out
    assert run("app.log", "--rules", "rules.toml").status == 0


def test_a_flood_of_names_is_bounded() -> None:
    log = EventLog()
    for number in range(MOST + 5):
        log.read(number, LoggedLine("", POLL.replace("orders-7", f"c{number}")))
    assert (len(log.found), log.left_out) == (MOST, 5)


def test_each_kind_says_what_to_do() -> None:
    assert all(": " in kind.message and kind.source.startswith("https://") for kind in EVENTS)
