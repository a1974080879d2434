"""Findings on the page: the newest of each, in order, bounded; and that what wasn't judged never looks clean."""

from __future__ import annotations

import json
from dataclasses import asdict
from datetime import date
from typing import Any

import pytest
from fastapi.testclient import TestClient
from made_findings import NOW_MS, fingerprint, leak, made, recorded, resolved
from page_state import browser, live, result, samples, says

from clientscope.model.codec import as_json, decode
from clientscope.model.finding import Finding, Suppressed
from clientscope.model.setting import Redaction, Setting
from clientscope.model.topics import FINDINGS
from clientscope.query import Query
from clientscope.report.findings import FindingChoice
from sinks.dashboard.rows.judging import Judging
from sinks.dashboard.rows.sql import Database
from sinks.dashboard.state.findings import FindingTable
from sinks.dashboard.state.known import TopicRecord, key_text
from sinks.dashboard.state.state import State

SUPPRESSED = Suppressed(reason="old brokers", until=date(2027, 1, 31), where="rules.toml:4")

ALL = [
    made(1),
    leak(2),
    made(3, severity="low", code="AN112"),
    resolved(4),
    leak(5, state="stopped", ended_ms=NOW_MS),
    made(6, suppressed=SUPPRESSED),
    leak(7, code="SK004", severity="medium", confidence="low"),
    leak(8, state="closed", ended_ms=NOW_MS),
]


def tombstone(number: int) -> TopicRecord:
    return TopicRecord(FINDINGS, NOW_MS, fingerprint(number).encode(), None)


@pytest.fixture
def client() -> TestClient:
    state = live(*map(recorded, ALL))
    return browser(state)


def test_the_api_lists_by_urgency_and_filters(client: TestClient) -> None:
    assert says(client, __file__, "findings.txt", lambda body: [body["total"], *map(short, body["items"])])


def short(finding: dict[str, Any]) -> str:
    return f"{finding['fingerprint'][:8]} {finding['code']} {finding['severity']} {finding['state']}"


@pytest.mark.parametrize("query", ["state=opne", "limit=1001", "offset=-1", "suppressed=maybe"])
def test_a_wrong_filter_is_refused(client: TestClient, query: str) -> None:
    assert client.get(f"/api/v1/findings?{query}").status_code == 422


def test_a_finding_comes_back_as_it_was_written(client: TestClient) -> None:
    items = client.get("/api/v1/findings?state=open&limit=1").json()["items"]
    assert [decode(Finding, json.dumps(item).encode()) for item in items] == [ALL[1]]


def test_the_newest_record_counts_and_a_tombstone_forgets() -> None:
    state = live(recorded(made(1)), recorded(leak(2)))
    before = state.overview(NOW_MS)
    assert before.findings is not None
    assert (before.findings.total, before.findings.by_severity) == (2, {"high": 1, "critical": 1})
    state.apply([recorded(made(1))])
    assert state.overview(NOW_MS).versions.findings == before.versions.findings, "nothing changed"
    state.apply([recorded(resolved(1)), tombstone(2), tombstone(99)])
    after = state.overview(NOW_MS)
    assert after.findings is not None and after.findings.total == 0
    assert after.versions.findings == before.versions.findings + 2


def test_counts_findings_to_do_whoever_has_them() -> None:
    overview = live(
        recorded(made(1, severity="high")),
        recorded(made(2, severity="critical")),
        recorded(made(3, severity="critical", client_count=0)),
        recorded(made(4, severity="medium")),
        recorded(resolved(5, severity="critical")),
        recorded(made(6, severity="high", kind="operation", client_count=0)),
        recorded(leak(7, state="stopped", client_count=0, ended_ms=NOW_MS)),
        recorded(leak(8)),
        recorded(made(9, suppressed=SUPPRESSED)),
        recorded(leak(10, confidence="low")),
    ).overview(NOW_MS)
    assert overview.findings is not None
    assert asdict(overview.findings) == {
        "total": 7, "by_severity": {"high": 2, "critical": 4, "medium": 1}, "low_confidence": 1, "suppressed": 1, "to_rotate": 2,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("records", "known", "detail"),
    [
        ([], False, "Nothing was judged yet."),
        ([result(1, passed=(), not_evaluable=["AN101"])], False, "Nothing was judged yet."),
        ([result(1, passed=(), rules=["AN101"])], False, "Rules fired, but no finding has come of it yet"),
        ([result(1)], True, ""),
        ([recorded(made(1, state="resolved"))], True, ""),
    ],
)
def test_what_nobody_judged_is_not_clean(records: list[TopicRecord], known: bool, detail: str) -> None:
    state = live(*records)
    overview = state.overview(NOW_MS)
    assert (overview.findings is not None) == known
    assert (overview.findings_detail or "").startswith(detail)
    assert (state.counts().findings is not None) == known


def test_a_secret_in_a_record_is_not_kept() -> None:
    value = as_json(made(1)) | {"settings": [{"key": "sasl.password", "value": "hunter2-canary"}]}
    state, table = live(TopicRecord(FINDINGS, NOW_MS, b"k", json.dumps(value).encode())), FindingTable(Judging(Database()), limit=10)
    (finding,) = state.findings(FindingChoice(), 0, 10).items
    assert finding.settings[0] == Setting("sasl.password", redacted=Redaction("key_prefix", 14))
    table.apply("k", json.dumps(value).encode())
    assert len(table) == 1
    assert "canary" not in repr(vars(table))


def test_beyond_the_limit_the_least_urgent_go() -> None:
    table = FindingTable(Judging(Database()), limit=100)
    severities = ("info", "critical", "low")
    for number in range(1_000):
        one = recorded(made(number, severity=severities[number % 3]))
        table.apply(key_text(one.key), one.value)
    assert 90 <= len(table) <= 100
    found, total = table.find(FindingChoice(), Query(), (), 0, 90)
    assert total == len(table)
    assert {finding.severity for finding in found} == {"critical"}
    assert table.dropped["findings"] == 1_000 - len(table)


def test_large_records_are_bounded_by_their_bytes() -> None:
    table = FindingTable(Judging(Database()), limit=1_000, limit_bytes=100_000)
    for number in range(200):
        one = recorded(made(number, evidence=["x" * 1_000] * 10))
        table.apply(key_text(one.key), one.value)
        assert 0 < table.held_bytes <= 100_000 and len(table) < 10
    for number in range(200):
        table.apply(fingerprint(number), None)
    assert (len(table), table.held_bytes) == (0, 0)


def test_metrics_count_by_severity_and_state() -> None:
    values = samples(live(*map(recorded, ALL)), "clientscope_findings")
    assert {series: value for series, value in values.items() if value} == {
        ("high", "open"): 1, ("critical", "open"): 1, ("low", "open"): 1, ("high", "resolved"): 1, ("critical", "stopped"): 1,
        ("critical", "closed"): 1,
    }  # fmt: skip
    assert len(values) == 20, "zeros too, so that an alert ends"
    assert samples(live(), "clientscope_findings") == {}, "what was not judged isn't zero"
    assert samples(State(), "clientscope_findings") == {}
