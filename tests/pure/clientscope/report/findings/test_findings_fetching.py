"""``clientscope findings list`` of a page: the search of every list, and its own filters as with Kafka."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import date

import pytest
from command_runs import Run
from made_findings import BILLING, NOW_MS, leak, made
from page_state import live
from served_page import serving

from clientscope.findings.record import Suppressed
from clientscope.local.process import free_port
from clientscope.records.topics import FINDINGS
from clientscope.report.findings import fetching
from sinks.dashboard.state.record import TopicRecord

SUPPRESSED = Suppressed(reason="old brokers", until=date(2027, 1, 31), where="rules.toml:4")
ALL = [
    made(1),
    leak(2),
    made(3, severity="low", code="AN112", risks=["cost"], application=BILLING, clients=[]),
    made(4, state="resolved", ended_ms=NOW_MS),
    made(6, suppressed=SUPPRESSED),
]


@pytest.fixture(scope="module")
def page() -> Iterator[str]:
    records = [TopicRecord(FINDINGS, NOW_MS, each.fingerprint.encode(), each.model_dump_json().encode()) for each in ALL]
    with serving(live(*records), at_ms=NOW_MS) as url:
        yield url


@pytest.fixture
def findings(clientscope: Run, page: str) -> Run:
    return lambda *words, url=page: clientscope("findings", "list", "--url", url, *words)


def numbers_of(names: str) -> list[int]:
    return [int(line[:8], 16) for line in names.splitlines()]


@pytest.mark.parametrize(
    ("words", "numbers"),
    [
        ("", [2, 1, 3]),
        ("--all", [2, 1, 6, 3, 4]),
        ("risk:secret OR code:AN112", [2, 3]),
        ("severity:>=high -setting:acks", [2]),
        ("digest:abab*", [2]),
        ("state:resolved", [4]),
        ("state:resolved,open", [1, 2, 3, 4]),
        ("state:resolved --all", [4]),
        ("severity:>=high code:AN*", [1]),
        ("principal:User:billing severity:critical", [2]),
        ("owner:shop --sort=-severity,code", [1, 3]),
        ("passwords", []),
    ],
)
def test_the_search_of_every_list(findings: Run, words: str, numbers: list[int]) -> None:
    assert sorted(numbers_of(findings("-o", "name", *words.split()).printed)) == sorted(numbers)


def test_the_order_is_urgency(findings: Run) -> None:
    assert numbers_of(findings("-o", "name").printed) == [2, 1, 3]


def test_what_is_not_listed_and_what_is_wrong(findings: Run) -> None:
    assert findings("code:XX*").noted == "no finding matches\n"
    assert "no finding matches" in findings("code:AN1*", "state:closed").noted
    nobody = f"http://127.0.0.1:{free_port()}"
    for words in (["cod:AN101"], ["code:AN101", "severity:>=wrong"]):
        err = findings(*words, url=nobody).refused
        assert "error: the search is wrong at character" in err, "before anything is asked"


def test_more_than_a_page_of_them(findings: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetching, "_AT_ONCE", 2)
    assert len(json.loads(findings("--all", "-o", "json").printed)) == len(ALL)
