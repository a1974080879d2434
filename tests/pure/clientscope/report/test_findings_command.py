"""clientscope findings: the list, from Kafka or a page, one finding, decisions; that names stay text and no secret is stored."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from typing import Any

import pytest
from command_runs import Run
from golden import asked, cases, is_golden, session
from made_findings import BILLING, NOW_MS, fingerprint, leak, made, recorded, resolved
from page_state import live
from printed import printed
from refusals import refused
from served_page import serving

from clientscope.errors import SettingsError
from clientscope.local.process import free_port
from clientscope.model.client import Application
from clientscope.model.finding import Finding, LeakPlace, Suppressed
from clientscope.query import Query
from clientscope.report import deciding
from clientscope.report import findings as shown_findings
from clientscope.report.deciding import Closing
from clientscope.report.findings import FindingChoice, found_by

GIVEN = {"resolution": "rotated", "why": "a new one since Monday", "until": "", "by": "ada"}


def closing(**given: Any) -> Closing:
    return Closing.of(**{**GIVEN, **given}, now_ms=NOW_MS)


@pytest.mark.parametrize("resolution", ["rotated", "test-value", "not-a-secret"])
def test_a_leak_is_closed_and_nothing_else(resolution: str) -> None:
    decision = closing(resolution=resolution, why="a new one\n since\tMonday").decision(leak(2))
    assert (decision.fingerprint, decision.resolution, decision.by, decision.why, decision.at_ms, decision.until) == (
        fingerprint(2), resolution, "ada", "a new one since Monday", NOW_MS, None,
    )  # fmt: skip
    for kind in ("setting", "fleet", "operation"):
        with refused("is not a leak"):
            closing(resolution=resolution).decision(made(1, kind=kind))
    warned = [bool([*closing(resolution=resolution).warnings(leak(2, state=state))]) for state in ("open", "stopped")]
    assert warned == [resolution == "rotated", False], "a secret that is still pushed"


def test_who_decides_and_what_is_taken_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOGNAME", "grace")
    assert (deciding.who(""), deciding.who("ada")) == ("grace", "ada")
    deciding.require_decided(leak(2), {fingerprint(2)})
    with refused("has no decision"):
        deciding.require_decided(leak(2), {fingerprint(3)})


@pytest.mark.parametrize("finding", [made(1), leak(2), made(3, kind="fleet"), made(4, kind="operation")])
def test_anything_is_accepted_until_a_date(finding: Finding) -> None:
    for until in (date(2026, 9, 22), date(2027, 9, 22)):  # the first day that is allowed, and the last
        decision = closing(resolution="accepted", until=str(until)).decision(finding)
        assert (decision.resolution, decision.until, decision.holds(NOW_MS + 1, NOW_MS + 1)) == ("accepted", until, True)


@pytest.mark.parametrize(("given", "error"), [*cases(__file__, "refused.txt"), ["why=" + "x" * 1001, "at most 1000|1001 characters"]])
def test_what_is_refused(given: str, error: str) -> None:
    with refused(error) as caught:
        closing(**dict(part.split("=", 1) for part in given.split(", ")))
    assert "hunter2" not in f"{caught.value} {caught.value.hint}"


@pytest.mark.parametrize(
    ("words", "command"),
    [
        ("findings -o csv --help", "clientscope findings list [-h]"),
        ("findings --help", "clientscope findings [-h] WHAT"),
        ("findings show -o json --help", "clientscope findings show [-h]"),
        ("lint findings --help", "clientscope lint [-h]"),
    ],
)
def test_the_word_list_may_be_left_out(words: str, command: str, clientscope: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    assert clientscope(*words.split()).printed.startswith(f"usage: {command}")
    monkeypatch.setenv("CLIENTSCOPE_KAFKA_BOOTSTRAP_SERVERS", "nowhere")
    assert clientscope("findings").refused.endswith("hint: see: clientscope findings list --help\n")


SUPPRESSED = Suppressed(reason="old brokers", until=date(2027, 1, 31), where="rules.toml:4")


@pytest.mark.parametrize(
    ("findings", "said"),
    [
        ([], ["there are no findings at all: either nothing is wrong, or the streaming job has judged nothing yet"]),
        ([made(4, state="resolved")], ["none is open or stopped; 1 in other states, which --all lists"]),
        ([made(6, suppressed=SUPPRESSED)], ["1 suppressed by the rules file; --all lists it"]),
        ([made(1)], []),
    ],
)
def test_what_is_not_listed_is_said(findings: list[Finding], said: list[str]) -> None:
    choice = FindingChoice()
    assert list(choice.left_out(Query(), findings, len(choice.chosen(Query(), findings)))) == said


HOSTILE = "=cmd|'/C calc'!A0\x1b[31m\u202e\n[red]x[/red]"


@pytest.mark.parametrize("wide", [True, False])
def test_hostile_names_stay_text(wide: bool) -> None:
    application = Application(principal=HOSTILE, client_id=HOSTILE, group=HOSTILE)
    finding = leak(message=HOSTILE, application=application, places=[LeakPlace(application=application, key=HOSTILE)], evidence=[HOSTILE])
    for content in (shown_findings.findings_table([finding], NOW_MS, wide=wide), shown_findings.details(finding, NOW_MS)):
        text = printed(content, 400)
        assert "\x1b" not in text and "\u202e" not in text
        assert "[red]x[/red]" in text
    # what didn't come through the topic's own cleaning either
    raw = replace(made(), message=HOSTILE)
    assert "\x1b" not in printed(shown_findings.findings_table([raw], NOW_MS), 400)


def test_the_table_and_all_of_one() -> None:
    doubtful = leak(7, code="SK004", severity="medium", confidence="low", places=[], place_count=0)
    texts = [
        printed(shown_findings.findings_table([leak(2), made(1), doubtful], NOW_MS), 120),
        printed(shown_findings.findings_table([made(1)], NOW_MS, wide=True), 250),
        printed(shown_findings.details(leak(decided=None, reopened=2, suppressed=SUPPRESSED), NOW_MS), 200),
    ]
    assert is_golden("\n\n".join(texts) + "\n", __file__, "findings.txt")


def test_a_fingerprint_by_its_first_digits() -> None:
    findings = [made(0xAABBCC01), made(0xAABBCC02), made(0x12345678)]
    assert found_by("123456", findings) is findings[2]
    assert found_by(f"{fingerprint(0xAABBCC02).upper()} ", findings) is findings[1]


@pytest.mark.parametrize(("given", "error", "hint"), cases(__file__, "fingerprints.txt"))
def test_a_fingerprint_that_is_none_or_several(given: str, error: str, hint: str) -> None:
    with pytest.raises(SettingsError) as caught:
        found_by(given, [made(0xAABBCC01), made(0xAABBCC02), made(0x12345678)])
    assert error in str(caught.value) and hint in str(caught.value.hint)


ALL = [
    made(1),
    leak(2),
    made(3, severity="low", code="AN112", risks=["cost"], application=BILLING, clients=[]),
    resolved(4),
    made(6, suppressed=SUPPRESSED),
]


@pytest.fixture(scope="module")
def page() -> Iterator[str]:
    with serving(live(*map(recorded, ALL)), at_ms=NOW_MS) as url:
        yield url


@pytest.fixture
def findings(clientscope: Run, page: str) -> Run:
    return lambda *words, url=page: clientscope("findings", "list", "--url", url, *words)


def test_the_search_of_every_list(findings: Run) -> None:
    assert is_golden(session(lambda *words: findings("-o", "name", *words), asked(__file__, "searches.txt")), __file__, "searches.txt")


def test_a_wrong_search_is_said_before_anything_is_asked(findings: Run) -> None:
    nobody = f"http://127.0.0.1:{free_port()}"
    for words in (["cod:AN101"], ["code:AN101", "severity:>=wrong"]):
        assert "error: the search is wrong at character" in findings(*words, url=nobody).refused


def test_more_than_a_page_of_them(findings: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shown_findings, "_AT_ONCE", 2)
    assert len(json.loads(findings("--all", "-o", "json").printed)) == len(ALL)
