"""``clientscope history clients``, ``starts`` and ``diff``: what they show of a page with history."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator

import pytest
from command_runs import Run
from page_state import live
from past_tables import DAY_MS, HOUR_MS, MINUTE_MS, NOW_MS, append, connection, push, setting
from served_page import serving

from clientscope.records.layouts import Kind, ValueState

HOSTILE = "a\x1b[31mb[red]c"
SECRET = setting("sasl.jaas.config", None, value_state=int(ValueState.KEY_INFIX), value_length=90, value_digest=bytes(range(32)))
DAY = ("--from", "2026-09-20T14:14", "--to", "2026-09-21T14:13:59")


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("history")
    append(
        folder,
        "connections",
        [
            connection(NOW_MS - 10 * MINUTE_MS, Kind.CLOSED, 1, client_id="orders-1"),
            connection(NOW_MS - 5 * HOUR_MS, Kind.CLOSED, 2, client_id="payments", client_software_name="go", broker_id=2),
            connection(NOW_MS - 3 * HOUR_MS, Kind.PRESENT, 3, client_id=HOSTILE),
            connection(NOW_MS - 7 * MINUTE_MS, Kind.HEARTBEAT, 0),
        ],
    )
    old = {"client_software_version": "3.9.1"}
    append(
        folder,
        "pushes",
        [
            push(NOW_MS - 3 * DAY_MS, setting("acks", "all"), setting("linger.ms", "5"), SECRET, client_id="orders-1", **old),
            push(NOW_MS - 2 * HOUR_MS + 400, setting("acks", "1"), setting("linger.ms", "5"), SECRET, client_id="orders-1"),
            push(NOW_MS - HOUR_MS + 400, setting("acks", "0"), setting("linger.ms", "5"), SECRET, client_id="orders-1"),
            *(push(NOW_MS - 59 * MINUTE_MS + origin, setting("acks", "0"), client_id="orders-1", origin=origin) for origin in (1, 2, 4)),
            push(NOW_MS - 9 * MINUTE_MS, setting("acks", HOSTILE), client_id=HOSTILE),
            push(NOW_MS - 8 * MINUTE_MS, setting("acks", "1"), setting("client.id", "seen"), client_id="seen", origin=1),
            push(NOW_MS - 7 * MINUTE_MS, setting("acks", "all"), client_id="seen", origin=1),
        ],
    )
    with serving(live(), history_dir=folder) as url:
        yield url


@pytest.fixture
def history(clientscope: Run, page: str) -> Run:
    return lambda command, *words: clientscope("history", command, "--url", page, *words)


def test_clients_of_a_range_by_the_minute(history: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "140")
    title, headings, *rows = history("clients", *DAY).printed.splitlines()
    assert title.startswith("3 clients were connected from 2026-09-20T14:14:00+00:00 to 2026-09-21T14:14:00+00:00; times are UTC")
    assert headings.split()[0] == "CLIENT.ID" and headings.split()[-2:] == ["LAST", "SEEN"]
    by_name = {row.split()[0]: row.split() for row in rows}
    assert by_name["orders-1"][-2:] == ["2026-09-21", "14:04"]
    assert by_name["a\ufffd[31mb[red]c"][-3:] == ["at", "its", "end"]
    out = history("clients", "--from", "2026-09-21T14:04", "--to", "2026-09-21T14:04", "-o", "name").printed
    assert out.splitlines()[-1] == "orders-1", "a range of one second"
    err = history("clients", "--from", "2026-09-21T14:05", "--to", "2026-09-21T14:06", "client_id:orders-1").noted
    assert err == "no client matches from 2026-09-21T14:05:00+00:00 to 2026-09-21T14:06:01+00:00\n"


def test_says_until_when_it_is_complete(history: Run) -> None:
    complete = "history is complete until 14:07:00Z; the streaming job writes it once a minute\n"
    err = history("clients", "--from", "2026-09-21T14:05", "--to", "2026-09-21T14:10", "client_id:orders-1").noted
    assert err == "no client matches from 2026-09-21T14:05:00+00:00 to 2026-09-21T14:07:00+00:00\n" + complete
    status, out, err = history("clients", "--from", "2026-09-21T14:05", "--to", "2026-09-22T14:10")
    assert status == 0
    assert "connected from" in out and err == complete.replace("Z;", "Z on 2026-09-21;")
    err = history("clients", "--from", "2026-09-22T14:05", "--to", "2026-09-22T14:10", "client_id:x").noted
    assert err.startswith("history has no records from 2026-09-22T14:05:00+00:00 to ")
    err = history("clients", "--from", "2026-09-11", "--to", "2026-09-12").noted
    assert err.startswith("history has no records from 2026-09-11T00:00:00+00:00 to ")
    err = history("diff", "--client-id", "x", "--from", "2026-09-21T14:05", "--to", "2026-09-21T14:10").noted
    assert "complete until" not in err, "nothing has come that isn't written"


def test_clients_take_the_grammar_and_the_flags_of_all_lists(history: Run) -> None:
    out = history("clients", *DAY, "-o", "name", "broker:2 OR client_id:orders-*", "--sort=-client_id").printed
    assert out.split() == ["payments", "orders-1"]
    out = history("clients", *DAY, "-o", "csv", "client_id:orders-1", "--columns", "client_id,last_seen,brokers,owner").printed
    assert out == "client_id,last_seen,brokers,owner\norders-1,2026-09-21T14:04:00+00:00,1,\n"
    assert history("clients", *DAY, "sofware:x").refused.startswith("error: the search is wrong at character 1: ")


def test_starts_with_what_each_pushed(history: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    out = history("starts", "--application", "orders", "--from", "2026-09-18", "--to", "2026-09-21T14:13:59").printed
    lines = [line.rstrip() for line in out.splitlines()]
    assert lines == [
        "2026-09-21T13:14:00+00:00  producer orders-1",
        "  apache-kafka-java 4.1.0, User:ANONYMOUS, 10.0.0.1",
        "  - acks = 1",
        "  + acks = 0",
        "",
        "2026-09-21T12:14:00+00:00  producer orders-1",
        "  apache-kafka-java 4.1.0, User:ANONYMOUS, 10.0.0.1",
        "  - acks = all",
        "  + acks = 1",
        "",
        "2026-09-18T14:14:00+00:00  producer orders-1",
        "  apache-kafka-java 3.9.1, User:ANONYMOUS, 10.0.0.1",
        "  no start before it in this range",
    ]
    status, out, err = history("starts", "--client-id", "orders-1", *DAY, "-o", "wide", "--limit", "1")
    assert status == 0
    assert "    linger.ms = 5" in out and "    sasl.jaas.config = redacted (key infix, digest 0001020304050607…)" in out
    assert err == "1 more start; raise --limit or ask for a shorter range to see them\n"
    rows = list(csv.DictReader(io.StringIO(history("starts", "--client-id", "orders-1", *DAY, "-o", "csv").printed)))
    assert [(row["pushed"], row["key"], row["before"], row["after"]) for row in rows] == [
        ("2026-09-21T13:14:00+00:00", "acks", "1", "0"),
        ("2026-09-21T12:14:00+00:00", "", "", ""),
    ]


def test_what_changed_between_two_times(history: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    lines = [line.rstrip() for line in history("diff", "--application", "orders", *DAY).printed.splitlines()]
    assert lines == [
        "orders-1  producer of User:ANONYMOUS",
        "  before  2026-09-18T14:14:00+00:00  apache-kafka-java 3.9.1, 10.0.0.1",
        "  after   2026-09-21T13:14:00+00:00  apache-kafka-java 4.1.0, 10.0.0.1",
        "  - apache-kafka-java 3.9.1",
        "  + apache-kafka-java 4.1.0",
        "  - acks = all",
        "  + acks = 0",
    ]
    two_starts = ("--from", "2026-09-21T12:14:00+00:00", "--to", "2026-09-21T13:14:00+00:00")
    out = history("diff", "--client-id", "orders-1", *two_starts, "-o", "csv", "--columns", "key,before,after").printed
    assert out == "key,before,after\nacks,1,0\n", "by the times that history starts prints"
    out = history("diff", "--client-id", "orders-1", *two_starts, "-o", "json").printed
    assert json.loads(out)[0]["changes"] == [{"key": "acks", "before": "1", "after": "0"}]
    err = history("diff", "--client-id", "orders-1", "--from", "2026-09-21T13:15", "--to", "2026-09-21T13:20").noted
    assert err == "nothing started and nothing changed from 2026-09-21T13:15:01+00:00 to 2026-09-21T13:20:01+00:00\n"


def test_change_of_client_that_never_pushes(history: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    between = ("--from", "2026-09-21T14:06", "--to", "2026-09-21T14:08")
    assert [line.rstrip() for line in history("diff", "--client-id", "seen", *between).printed.splitlines()] == [
        "seen  producer of User:ANONYMOUS",
        "  before  2026-09-21T14:06:00+00:00  apache-kafka-java 4.1.0, 10.0.0.1",
        "  after   2026-09-21T14:07:00+00:00  apache-kafka-java 4.1.0, 10.0.0.1; seen of its requests",
        "  - acks = 1",
        "  + acks = all",
    ]
    assert history("starts", "--client-id", "seen", *DAY).noted.startswith("no start from ")


def test_a_hostile_client_is_shown_as_it_is(history: Run) -> None:
    for command in ("starts", "diff"):
        out = history(command, "--client-id", HOSTILE.replace("\x1b", "\ufffd"), *DAY).printed
        assert "\x1b" not in out and "[red]" in out, command


@pytest.mark.parametrize("command", ["starts", "diff"])
def test_it_must_be_given_whose(history: Run, command: str) -> None:
    assert history(command).refused.startswith("error: say whose: --application, --client-id, --principal or --address\nhint: ")
    assert history(command, "--client-id", "", *DAY).status == 0, "clients that have none"


@pytest.mark.parametrize("words", [("clients",), ("starts", "--client-id", "a"), ("diff", "--client-id", "a")])
def test_no_history(words: tuple[str, ...], clientscope: Run) -> None:
    with serving(live()) as without:
        err = clientscope("history", *words, "--url", without).failed
    assert err == "error: this page has no history\nhint: start clientscope serve with --history-dir, the streaming job's\n"
