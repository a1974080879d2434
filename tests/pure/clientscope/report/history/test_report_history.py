"""``clientscope history clients``, ``starts`` and ``diff``: what they show of a page with history."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from command_runs import Run
from golden import is_golden, session
from page_state import live
from past_tables import DAY_MS, HOUR_MS, MINUTE_MS, NOW_MS, append, connection, push, setting
from served_page import serving

from clientscope.records.enums import Kind, ValueState

HOSTILE = "a\x1b[31mb[red]c"
SECRET = setting("sasl.jaas.config", None, value_state=int(ValueState.KEY_INFIX), value_length=90, value_digest=bytes(range(32)))


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
            *(
                push(NOW_MS - 59 * MINUTE_MS + n, setting("acks", "0"), client_id="orders-1", origin=of)
                for n, of in ((1, "observed"), (2, "request_log"))
            ),
            push(NOW_MS - 9 * MINUTE_MS, setting("acks", HOSTILE), client_id=HOSTILE),
            push(NOW_MS - 8 * MINUTE_MS, setting("acks", "1"), setting("client.id", "seen"), client_id="seen", origin="observed"),
            push(NOW_MS - 7 * MINUTE_MS, setting("acks", "all"), client_id="seen", origin="observed"),
        ],
    )
    with serving(live(), history_dir=folder) as url:
        yield url


@pytest.fixture
def history(clientscope: Run, page: str) -> Run:
    return lambda command, *words: clientscope("history", command, "--url", page, *words)


DAY = "--from 2026-09-20T14:14 --to 2026-09-21T14:13:59"
TWO_STARTS = "--from 2026-09-21T12:14:00+00:00 --to 2026-09-21T13:14:00+00:00"
SHOWN = HOSTILE.replace("\x1b", "\ufffd")
SESSIONS = {
    "clients": [
        f"clients {DAY}",
        "clients --from 2026-09-21T14:04 --to 2026-09-21T14:04 -o name",  # a range of one second
        f"clients {DAY} -o name 'broker:2 OR client_id:orders-*' --sort=-client_id",
        f"clients {DAY} -o csv client_id:orders-1 --columns client_id,last_seen,brokers,owner",
        f"clients {DAY} sofware:x",
        # How far history is complete is said where something may be missing.
        "clients --from 2026-09-21T14:05 --to 2026-09-21T14:06 client_id:orders-1",
        "clients --from 2026-09-21T14:05 --to 2026-09-21T14:10 client_id:orders-1",
        "clients --from 2026-09-21T14:05 --to 2026-09-22T14:10",
        "clients --from 2026-09-22T14:05 --to 2026-09-22T14:10 client_id:x",
        "clients --from 2026-09-11 --to 2026-09-12",
    ],
    "starts": [
        "starts --application orders --from 2026-09-18 --to 2026-09-21T14:13:59",
        f"starts --client-id orders-1 {DAY} -o wide --limit 1",
        f"starts --client-id orders-1 {DAY} -o csv",
        f"starts --client-id seen {DAY}",  # which never pushes
        f"starts --client-id '{SHOWN}' {DAY}",
        f"starts --client-id '' {DAY}",  # clients that have none
        "starts",
    ],
    "diff": [
        f"diff --application orders {DAY}",
        f"diff --client-id orders-1 {TWO_STARTS} -o csv --columns key,before,after",  # by the times that starts prints
        f"diff --client-id orders-1 {TWO_STARTS} -o json",
        "diff --client-id orders-1 --from 2026-09-21T13:15 --to 2026-09-21T13:20",
        "diff --client-id x --from 2026-09-21T14:05 --to 2026-09-21T14:10",  # nothing has come that isn't written
        "diff --client-id seen --from 2026-09-21T14:06 --to 2026-09-21T14:08",
        f"diff --client-id '{SHOWN}' {DAY}",
        f"diff --client-id '' {DAY}",
        "diff",
    ],
}


@pytest.mark.parametrize("name", SESSIONS)
def test_what_is_printed(name: str, history: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "140")
    said = session(history, SESSIONS[name])
    assert "\x1b" not in said and is_golden(said, __file__, f"{name}.txt")


@pytest.mark.parametrize("words", [("clients",), ("starts", "--client-id", "a"), ("diff", "--client-id", "a")])
def test_no_history(words: tuple[str, ...], clientscope: Run) -> None:
    with serving(live()) as without:
        err = clientscope("history", *words, "--url", without).failed
    assert err == "error: this page has no history\nhint: start clientscope serve with --history-dir, the streaming job's\n"
