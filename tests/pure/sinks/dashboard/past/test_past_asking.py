"""The past over HTTP, with the process that reads it: answers, and every reason why there is none."""

from __future__ import annotations

import csv
import os
import queue
import shutil
import signal
import threading
from collections.abc import Callable, Iterator
from datetime import date
from pathlib import Path

import pytest
from every import every
from fastapi.testclient import TestClient
from page_state import browser, live, pushed, says
from past_tables import DAY_MS, HOUR_MS, MINUTE_MS, NOW_MS, append, connection, finding, gauge, heartbeat, push, setting
from patience import LIMIT_S, until
from record_bytes import setting as record_setting

from clientscope.model.enums import Kind
from sinks.dashboard.api import routes_past
from sinks.dashboard.past import asking
from sinks.dashboard.past.asking import Past
from sinks.dashboard.past.tables import NoAnswer
from sinks.dashboard.state.state import State
from sinks.history.erase import ErasureSubject, erase_rows
from sinks.history.maintain import maintain

Asking = Callable[..., TestClient]
SPAN = [NOW_MS - HOUR_MS, NOW_MS]
PATHS = ["series", "clients", "starts?client_id=app", "findings", "findings/ended"]


def write(folder: Path) -> Path:
    rows = [
        connection(NOW_MS - HOUR_MS, Kind.OPENED, 1),
        heartbeat(NOW_MS - 99),
        connection(NOW_MS - 9, Kind.CLOSED, 2, client_id="canary"),
    ]
    append(folder, "connections", rows)
    append(folder, "gauges", [gauge(NOW_MS - 9 * MINUTE_MS, 3)])
    append(folder, "pushes", [push(NOW_MS - HOUR_MS, setting("acks", "all"))])
    append(folder, "findings", [finding(NOW_MS - HOUR_MS, 1)])
    return folder


@pytest.fixture
def history(tmp_path: Path) -> Path:
    return write(tmp_path)


def asks_of(past: Past, state: State | None = None) -> TestClient:
    return browser(state or State(), lambda: NOW_MS, past=past)


@pytest.fixture
def asks() -> Iterator[Asking]:
    pasts: list[Past] = []

    def ask(folder: Path | None, **changed: float) -> TestClient:
        pasts.append(Past(folder and str(folder), **changed))
        return asks_of(pasts[-1])

    yield ask
    for past in pasts:
        past.process.close()


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Past]:
    """One process for all tests that change nothing: to start one takes a second."""
    past = Past(str(write(tmp_path_factory.mktemp("history"))))
    yield past
    past.process.close()


def test_everything_is_answered_in_the_models_of_the_api(shared: Past) -> None:
    client = asks_of(shared)
    assert client.get("/api/v1/history").json() == {"configured": True}
    series = client.get("/api/v1/history/series").json()
    assert (series["step_ms"], max(n or 0 for n in series["connections"])) == (5 * MINUTE_MS, 3)
    assert series["to_ms"] % MINUTE_MS == 0
    listed = client.get("/api/v1/history/clients", params={"q": "software:librdkafka", "sort": "client_id", "to": NOW_MS}).json()
    assert [(item["client_id"], item["open"]) for item in listed["items"]] == [("app", 1), ("canary", 0)]
    start = client.get("/api/v1/history/starts", params={"application": "app"}).json()["items"][0]
    assert (start["setting_count"], start["changes"], start["first"]) == (1, None, True)
    found = client.get("/api/v1/history/findings", params={"q": "code:AN*"}).json()
    assert (found["total"], found["items"][0]["message"]) == (1, "Set acks.")
    assert client.get("/api/v1/history/findings/ended").json()["total"] == 0


def test_starts_are_complete_as_far_as_the_topic_has_none_later(shared: Past) -> None:
    later = NOW_MS + MINUTE_MS  # the client may have pushed before that, too: only its newest push is known
    for live_ms, complete_ms in ((NOW_MS - HOUR_MS, NOW_MS), (NOW_MS - MINUTE_MS, NOW_MS - HOUR_MS), (later, NOW_MS - HOUR_MS)):
        client = asks_of(shared, live(pushed(9, record_setting("acks", "1"), at_ms=live_ms)))
        for path in ("starts", "diff"):
            answer = client.get(f"/api/v1/history/{path}", params={"client_id": "app", "to": NOW_MS}).json()
            assert answer["complete_ms"] == complete_ms, (path, live_ms)


def test_a_mistake_is_reported_with_its_place(shared: Past) -> None:
    assert says(asks_of(shared), __file__, "mistakes.txt")


def test_no_history_no_table_no_disk(tmp_path: Path, asks: Asking) -> None:
    for folder, words in ((None, "--history-dir"), (tmp_path, "clientscope stream"), (tmp_path / "unmounted", "clientscope stream")):
        client = asks(folder)
        for path in (*PATHS, "clients/export"):
            answer = client.get(f"/api/v1/history/{path}")
            assert (answer.status_code, words in answer.json()["hint"]) == (404, True), path
        assert client.get("/api/v1/history").json() == {"configured": folder is not None}


def test_tables_that_grow_are_damaged_or_are_no_tables_of_the_jobs(
    history: Path, asks: Asking, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = asks(history)

    def listed(to_ms: int = NOW_MS) -> tuple[list[str], int | None]:
        answer = client.get("/api/v1/history/clients", params={"from": NOW_MS - DAY_MS, "to": to_ms}).json()
        return [item["client_id"] for item in answer["items"]], answer["complete_ms"]

    assert listed() == (["app", "canary"], NOW_MS - 9)
    append(history, "connections", [connection(NOW_MS - 5, Kind.OPENED, 3, client_id="late")])
    assert listed() == (["app", "late", "canary"], NOW_MS - 5), "its table has more"
    append(history, "connections", [heartbeat(NOW_MS + 5)])
    assert listed() == (["app", "late", "canary"], NOW_MS)
    assert listed(NOW_MS - 2 * HOUR_MS) == ([], None), "before there was any history"

    log = history / "gauges" / "_delta_log" / "00000000000000000000.json"
    whole = log.read_text()
    files = every((history / "connections").rglob("*.parquet"))
    log.write_text(whole[: len(whole) // 2])
    for file in files:
        file.rename(file.with_suffix(".away"))
    for path in ("series", f"clients?from={NOW_MS - 3 * DAY_MS}"):
        answer = client.get(f"/api/v1/history/{path}")
        assert (answer.status_code, answer.headers["retry-after"]) == (503, "10")
        assert answer.json()["detail"] == "history can't be read now"
        assert str(history) not in answer.text
    assert "history can't be read" in caplog.text
    assert client.get("/api/v1/overview").status_code == 200
    log.write_text(whole)
    for file in files:
        file.with_suffix(".away").rename(file)
    for path in PATHS:
        assert client.get(f"/api/v1/history/{path}").status_code == 200

    monkeypatch.setattr(routes_past, "ROWS_AT_ONCE", 2)
    rows = [connection(NOW_MS - 99, Kind.CLOSED, number, client_id=f'=HYPERLINK("{number}")') for number in range(5, 10)]
    append(history, "connections", rows)
    asked = {"q": "HYPERLINK", "sort": "-client_id"}
    text = client.get("/api/v1/history/clients/export", params={**asked, "format": "csv"}).text
    head, *lines = csv.reader(text.splitlines())
    assert head[:4] == ["cluster", "address", "principal", "client_id"]
    assert [line[3] for line in lines] == [f'\'=HYPERLINK("{number}")' for number in range(9, 4, -1)], "no formula"
    items = client.get("/api/v1/history/clients", params=asked).json()["items"]
    assert client.get("/api/v1/history/clients/export", params={**asked, "format": "json"}).json() == items

    shutil.rmtree(history / "gauges")
    shutil.copytree(history / "findings", history / "gauges")
    assert client.get("/api/v1/history/series").status_code == 503
    assert client.get("/api/v1/history/findings").status_code == 200


def test_while_it_is_compacted_and_erased(history: Path, asks: Asking) -> None:
    for number in range(3, 12):
        append(history, "connections", [connection(NOW_MS - DAY_MS - number, Kind.CLOSED, number, client_id=f"app-{number}")])
    client = asks(history)
    answers: list[int] = []
    done = threading.Event()

    def ask() -> None:
        at = NOW_MS
        while not done.is_set():
            at -= 1  # another question each time
            answers.append(client.get("/api/v1/history/clients", params={"from": NOW_MS - 2 * DAY_MS, "to": at}).status_code)

    asking_on = threading.Thread(target=ask)
    asking_on.start()
    try:
        maintain(str(history / "connections"), date(2026, 9, 22), 0)
        erased = erase_rows(str(history / "connections"), ErasureSubject(client_id="canary"))
        until(lambda: len(answers) >= 10)
    finally:
        done.set()
        asking_on.join()
    assert erased is not None and erased.left == 0
    assert {*answers} == {200}
    listed = client.get("/api/v1/history/clients", params={"from": NOW_MS - 3 * DAY_MS, "q": "canary"}).json()
    assert (listed["total"], listed["items"]) == (0, [])


def test_a_question_that_takes_too_long_is_ended_and_the_next_one_is_answered(
    history: Path, asks: Asking, monkeypatch: pytest.MonkeyPatch
) -> None:
    late = asks(history, deadline_s=0.01).get("/api/v1/history/series")
    assert (late.status_code, late.json()["hint"]) == (503, "ask for a shorter range, or try again")
    assert "retry-after" in late.headers
    monkeypatch.setenv("CLIENTSCOPE_KAFKA_SASL_PASSWORD", "canary-of-the-environment")
    past = Past(str(history))
    try:
        past.ask("series", span=SPAN)
        process_id = past.process.pid
        assert process_id is not None
        assert "canary" not in Path(f"/proc/{process_id}/environ").read_text()
        os.kill(process_id, signal.SIGKILL)  # as the kernel does where memory runs out
        with pytest.raises(NoAnswer) as error:
            past.ask("series", span=SPAN)
        assert error.value.status == 503
        assert past.ask("series", span=SPAN)["points"]
    finally:
        past.process.close()
    assert past.process.pid is None and not Path(f"/proc/{process_id}").exists(), "nothing is left of it"
    with pytest.raises(NoAnswer):
        past.ask("series", span=SPAN)


@pytest.mark.parametrize("one_too_many", [False, True])
def test_who_waits_for_too_long_or_is_one_too_many_comes_again(history: Path, monkeypatch: pytest.MonkeyPatch, one_too_many: bool) -> None:
    """The process stands still until the first of two has heard."""
    if one_too_many:
        monkeypatch.setattr(asking, "MOST_WAITING", 1)
    past = Past(str(history), deadline_s=60, wait_s=60 if one_too_many else 0.01)
    heard: queue.SimpleQueue[str] = queue.SimpleQueue()

    def ask() -> None:
        try:
            past.ask("series", span=SPAN)
        except NoAnswer as error:
            heard.put(f"{error.kind} {error.status}")
        else:
            heard.put("")

    try:
        past.ask("series", span=SPAN)
        assert past.process.pid is not None
        os.kill(past.process.pid, signal.SIGSTOP)
        threads = [threading.Thread(target=ask) for _ in range(2)]
        for thread in threads:
            thread.start()
        first = heard.get(timeout=LIMIT_S)
        os.kill(past.process.pid, signal.SIGCONT)
        for thread in threads:
            thread.join(20)
        assert [first, heard.get(timeout=LIMIT_S)] == ["busy 503", ""]
    finally:
        past.process.close()


def test_the_process_ends_when_nobody_asks(history: Path) -> None:
    past = Past(str(history), idle_s=0.01)
    past.ask("series", span=SPAN)
    until(lambda: past.process.pid, None)
    past.process.close()
