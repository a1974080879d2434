"""`clientscope readiness` on request logs of real brokers, with versions, times and names replaced."""

from __future__ import annotations

import csv
import gzip
import io
import json
import re
from collections.abc import Sequence
from pathlib import Path

import pytest
from command_runs import Listed, Run
from every import every
from golden import cases, is_golden, session
from request_logs import LOGS, lines_of

from clientscope.commands.xray import inventory as inventories
from clientscope.commands.xray import output as xray_output
from clientscope.commands.xray import result

PRODUCE = lines_of("broker-3.9", '"PRODUCE"', "python-orders-1")[0]
API_VERSIONS = lines_of("broker-3.9", '"API_VERSIONS"', "python-orders-1")[0]
OWNERS = """
[[owner]]
team = "payments"
contact = "#payments"
client_id = "orders-*"
"""


def produced(
    version: int, client_id: str = "orders-1", at: str = "2026-11-20 10:00:00", software: str = "unknown 0", principal: str = "User:alice"
) -> str:
    """A line of a real broker 3.9.2, with what matters replaced."""
    name, _, number = software.partition(" ")
    found = PRODUCE
    for before, after in (
        (PRODUCE[1:20], at),
        ('"requestApiVersion":9', f'"requestApiVersion":{version}'),
        ('"clientId":"python-orders-1"', f'"clientId":{json.dumps(client_id)}'),
        ('"softwareName":"kafka-python"', f'"softwareName":"{name}"'),
        ('"softwareVersion":"3.0.12"', f'"softwareVersion":"{number}"'),
        ('"principal":"User:ANONYMOUS"', f'"principal":{json.dumps(principal)}'),
    ):
        assert before in found
        found = found.replace(before, after)
    return found


MIXED = (
    produced(2, "orders-1"),
    produced(2, "orders-2"),
    produced(9, "orders-3", software="kafka-python 3.0.12", at="2026-11-21 10:00:00"),
    produced(9, "billing-1", software="kafka-python 3.0.12", principal="User:bob"),
    produced(2, "legacy-1", software="librdkafka 1.0.0", principal="User:bob"),
)
"""Of 4.0.0: two that break and one that is fine of one application, one that is fine, and one that can't be judged."""


def log_of(lines: Sequence[str], name: str = "broker.log") -> str:
    Path(name).write_text("\n".join(lines) + "\n")
    return name


def test_what_is_printed(run: Run) -> None:
    Path("owners.toml").write_text(OWNERS)
    for name, lines in {
        "mixed": MIXED,
        "legacy": MIXED[-1:],
        "unknown": MIXED[3:],
        "unreadable": (API_VERSIONS.replace('"requestApiVersion":', '"requestApiVersion":9,"was":'), MIXED[3]),
        "fine": MIXED[3:4],
        "broker": lines_of("broker"),
        "two": [produced(2, "orders-9", principal="User:bob")],
        "several": [produced(2, name) for name in ("alpha", "beta", "gamma", "delta", "epsilon")],
        "timeless": [produced(2, "orders-1")[len("[2026-11-20 10:00:00,000] ") :], produced(9, "billing-1")],
        "other": ["[2026-11-24 01:00:00,000] INFO started (kafka.server.Kafka)"],
    }.items():
        log_of(lines, f"{name}.log")
    Path("broken.gz").write_bytes(gzip.compress(PRODUCE.encode())[:-20])
    said = session(lambda *words: run(*words, "--owners", "owners.toml"), [line for (line,) in cases(__file__, "lines.txt")])
    assert is_golden(said, __file__, "by_logs.txt")
    assert "no broker answers at 127.0.0.1:1" in run("--bootstrap-servers", "127.0.0.1:1").err


def test_an_upgraded_client_is_judged_by_what_it_sends_since(run: Run, listed: Listed) -> None:
    """The newer log is read first, as `*.log*` sorts it, and the client.id is another after the upgrade of one of two."""
    new = [produced(9, "orders-1", "2026-11-23 09:00:00"), produced(9, "orders-2", "2026-11-23 09:00:01", "kafka-python 2.0.2")]
    log_of(new, "server.log")
    log_of([produced(2, "orders-1"), produced(2, "orders-2", "2026-11-20 11:30:00")], "server.log.1")
    assert [row["readiness"] for row in listed(".")] == ["breaks"]
    for since in ("2026-11-20 11:30:01", "2026-11-23", "2026-11-23T09:00"):
        (row,) = listed(".", "--since", since)
        assert (row["readiness"], row["clients"], row["last_old"]) == ("fine", 2, "2026-11-20 11:30:00")
    (row,) = listed(".", "--since", "2026-11-20 11:30:00")
    assert (row["readiness"], row["breaks"], row["fine"]) == ("breaks", 1, 2)
    status, out, err = run(".", "--since", "2026-11-23")
    assert status == 0
    assert "last seen 2026-11-20 11:30:00" in out
    assert "Clients at Kafka 4.0.0: fine: 2, by requests since 2026-11-23." in out
    assert "name no time zone" in out
    assert "sent nothing since 2026-11-23, which are not judged: 1." in err


HOSTILE = "=1+1\x1b\n<script>alert(1)</script>{{ 7 * 7 }}[red]"


def test_hostile_names_are_escaped(run: Run) -> None:
    log = log_of([produced(2, HOSTILE, principal=HOSTILE, software="<b>lib</b> =1+1")])
    for output in ("table", "wide", "name", "csv", "json", "jsonl"):
        out = run(log, "-o", output, "--html", "page.html")[1]
        assert "<script>alert(1)</script>{{ 7 * 7 }}" in out
        assert all(character.isprintable() or character == "\n" for character in every(out))
        if output == "csv":
            (row,) = list(csv.DictReader(io.StringIO(out)))
            assert row["application"].startswith("'=1+1")
    page = Path("page.html").read_text()
    assert "&lt;script&gt;alert(1)&lt;/script&gt;{{ 7 * 7 }}[red]" in page
    assert "&lt;b&gt;lib&lt;/b&gt;" in page
    assert "<script" not in page
    assert all(character.isprintable() or character == "\n" for character in every(page))


def test_names_that_look_like_a_secret_are_not_shown(run: Run) -> None:
    for output in ("table", "json", "csv"):
        out = run(str(LOGS), "-o", output)[1]
        assert "[redacted]" in out
        assert not [canary for canary in ("canary", "iNdQUinP1aFQ", "Y2FuYXJ5") if canary in out]


def test_the_page_has_every_grouping_and_needs_nothing_else(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    log = log_of(MIXED)
    status, out, err = run(log, "--html", "page.html", "-o", "name")
    assert (status, out) == (1, "orders\nlegacy\nbilling\n")
    assert "wrote page.html" in err
    page = Path("page.html").read_text()
    assert re.findall(r"<h2>(.*?)</h2>", page) == [
        "Upgrade to Kafka 4.0.0", "By application", "By owner", "By principal", "By software", "Not seen",
    ]  # fmt: skip
    assert "last seen 2026-11-20 10:00:00" in page
    assert not re.search(r"(?:src|href)=|url\(|@import|<script", page)
    monkeypatch.setattr(xray_output, "MOST_ROWS", 1)
    run(log, "--html", "page.html")
    assert "2 more; -o json has all." in Path("page.html").read_text()


def test_every_bound_that_is_reached_is_printed_and_what_it_left_out_is_unknown(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    log = log_of([produced(9, f"orders-{number}") for number in range(40)])

    def statuses(*words: str) -> list[int]:
        return [run(log, "--fail-on", each, *words)[0] for each in ("unknown", "falls_back", "breaks", "never")]

    assert statuses() == [0, 0, 0, 0]
    bound = ("--max-bytes", "10000")
    _, out, err = run(log, *bound, "-o", "json")
    assert 1 < json.loads(out)[0]["clients"] < 40 and "--max-bytes 10,000" in err
    assert statuses(*bound) == [1, 1, 0, 0]
    for module in (inventories, result):
        monkeypatch.setattr(module, "MOST_CLIENTS", 10)
    _, out, err = run(log, "-o", "json")
    assert json.loads(out)[0]["clients"] == 10 and "30 requests of clients beyond the first 10" in err
    assert statuses() == [1, 1, 0, 0]
