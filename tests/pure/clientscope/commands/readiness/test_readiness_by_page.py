"""`clientscope readiness --url`: the verdicts of serve, through the command to its output and exit status."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from command_runs import Listed, Run
from page_state import NOW_MS, live, opened
from served_page import serving

from clientscope.local.process import free_port
from clientscope.readiness.judging import utc
from clientscope.records.layouts import Kind
from clientscope.records.requested_versions import pack, pair
from sinks.dashboard.state.record import TopicRecord

OLD = ((3, 0), (0, 2), (1, 3))
NEW = ((18, 3), (3, 9), (0, 9), (1, 12))


def used(number: int, *versions: tuple[int, int], **fields: Any) -> TopicRecord:
    requested = {"requested_versions": pack([pair(*each) for each in versions]), "kind": Kind.PRESENT, "principal": "User:alice"}
    return opened(number, **{**requested, "client_id": f"orders-{number}", **fields})


@pytest.fixture(scope="module")
def page() -> Iterator[str]:
    records = (used(1, *OLD), used(2, *NEW), used(3, *NEW, client_id="billing", principal="User:bob", client_software_name="go"))
    with serving(live(*records), at_ms=NOW_MS) as url:
        yield url


def test_groups_as_from_kafka(page: str, run: Run, listed: Listed, monkeypatch: pytest.MonkeyPatch) -> None:
    orders, billing = listed("--url", page)
    assert (orders["application"], orders["readiness"], orders["clients"], orders["breaks"]) == ("orders", "breaks", 2, 1)
    assert (orders["last_old"], billing["readiness"], billing["principal"]) == (utc(NOW_MS - 60_000), "fine", "User:bob")
    monkeypatch.setenv("COLUMNS", "140")
    status, out, err = run("--url", page)
    assert (status, "Clients at Kafka 4.0.0: breaks: 1, fine: 2." in out) == (1, True)
    assert "1 of 2" in out and f"last recorded at {utc(NOW_MS - 60_000)}" in out and "--broker-release" in err
    assert run("--url", page, "-o", "name", "--group-by", "principal", "--fail-on", "never")[:2] == (0, "User:alice\nUser:bob\n")


def test_the_search_is_the_pages_and_what_is_of_logs_alone_is_refused(page: str, run: Run) -> None:
    status, out, _ = run("--url", page, "--search", "software:go OR verdict:fine")
    assert status == 0 and "Clients at Kafka 4.0.0: fine: 2." in out and "Only clients that match" in out
    assert run("--url", page, "--search", "application:x") == (0, "", "no client matches the search\n")
    for words, error in (
        (["--search", "sofware:go"], "the search is wrong at character 1"),
        (["--since", "2026-01-01"], "--since can't be used with --url"),
        (["--html", "x"], "--html can't be used with --url"),
        (["--url", f"http://127.0.0.1:{free_port()}"], "no clientscope serve answers"),
    ):
        assert error in run("--url", page, *words).refused
    with serving(live(), at_ms=NOW_MS) as empty:
        assert run("--url", empty) == (2, "", "no client was recorded\n")
