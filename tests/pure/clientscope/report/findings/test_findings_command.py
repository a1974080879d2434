"""clientscope findings: the list, from Kafka or a page, one finding, decisions; that names stay text and no secret is stored."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from datetime import date
from typing import Any

import pytest
from command_runs import Run
from made_findings import BILLING, NOW_MS, fingerprint, leak, made, recorded
from page_state import live
from rich.console import Console
from served_page import serving

from clientscope.errors import SettingsError
from clientscope.findings.record import Application, Finding, LeakPlace, Suppressed
from clientscope.local.process import free_port
from clientscope.query import Query
from clientscope.report.findings import deciding, details, fetching, table
from clientscope.report.findings.deciding import Closing
from clientscope.report.findings.selecting import ListedStates, found_by

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
        with pytest.raises(SettingsError, match="is not a leak"):
            closing(resolution=resolution).decision(made(1, kind=kind))
    warned = [bool([*closing(resolution=resolution).warnings(leak(2, state=state))]) for state in ("open", "stopped")]
    assert warned == [resolution == "rotated", False], "a secret that is still pushed"


def test_who_decides_and_what_is_taken_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOGNAME", "grace")
    assert (deciding.who(""), deciding.who("ada")) == ("grace", "ada")
    deciding.require_decided(leak(2), {fingerprint(2)})
    with pytest.raises(SettingsError, match="has no decision"):
        deciding.require_decided(leak(2), {fingerprint(3)})


@pytest.mark.parametrize("finding", [made(1), leak(2), made(3, kind="fleet"), made(4, kind="operation")])
def test_anything_is_accepted_until_a_date(finding: Finding) -> None:
    for until in (date(2026, 9, 22), date(2027, 9, 22)):  # the first day that is allowed, and the last
        decision = closing(resolution="accepted", until=str(until)).decision(finding)
        assert (decision.resolution, decision.until, decision.holds(NOW_MS + 1, NOW_MS + 1)) == ("accepted", until, True)


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({"resolution": ""}, "--as is missing"),
        ({"resolution": "accepted"}, "--as accepted needs --until"),
        ({"until": "2026-12-31"}, "--until has no meaning with --as rotated"),
        ({"resolution": "accepted", "until": "soon"}, "'soon' is no date"),
        ({"resolution": "accepted", "until": "2026-09-21"}, "isn't in the future"),
        ({"resolution": "accepted", "until": "2027-09-23"}, "more than 366 days away"),
        ({"why": " \n"}, "--why is missing"),
        ({"why": "x" * 1001}, "at most 1000|1001 characters"),
        ({"why": "the password=hunter2-Xy was in the test"}, "--why appears to contain a secret"),
        ({"why": "it was aZ3kQ9xV7mB2nR8tL5wD1cF6 all along"}, "--why appears to contain a secret"),
        ({"by": "AKIAIOSFODNN7EXAMPLE"}, "--by appears to contain a secret"),
    ],
)
def test_what_is_refused(given: dict[str, Any], error: str) -> None:
    with pytest.raises(SettingsError, match=error) as caught:
        closing(**given)
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


LISTED = [
    made(1),
    leak(2),
    made(3, severity="low", code="AN112", application=BILLING, clients=[]),
    made(4, state="resolved", ended_ms=NOW_MS),
    leak(5, state="stopped", ended_ms=NOW_MS),
    made(6, suppressed=SUPPRESSED),
    leak(7, code="SK004", severity="medium", confidence="low", places=[], place_count=0),
]


def shown(content: Any, width: int = 200, **more: Any) -> str:
    out = io.StringIO()
    Console(file=out, width=width, **more).print(content)
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines())


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
    wanted = ListedStates.of(Query(), every=False)
    assert list(wanted.left_out(findings, sum(map(wanted.takes, findings)))) == said


def test_the_table() -> None:
    lines = shown(table.findings([LISTED[1], LISTED[0], LISTED[6]], NOW_MS)).splitlines()
    assert lines[0].split() == ["SEVERITY", "CODE", "STATE", "CLIENTS", "FINDING", "SINCE", "FINGERPRINT"]
    assert lines[1].split()[-3:] == ["3", "d", "00000002"]
    assert lines[2].startswith("high      AN101  open         1  records are sent")
    assert lines[4] == table.LOW_CONFIDENCE
    assert "SK004" in lines[6]
    wide = shown(table.findings([LISTED[0]], NOW_MS, wide=True), 250)
    assert "shop (#shop-oncall)" in wide and "2026-09-18T14:13:20+00:00" in wide


HOSTILE = "=cmd|'/C calc'!A0\x1b[31m\u202e\n[red]x[/red]"


@pytest.mark.parametrize("wide", [True, False])
def test_hostile_names_stay_text(wide: bool) -> None:
    application = Application(principal=HOSTILE, client_id=HOSTILE, group=HOSTILE)
    finding = leak(message=HOSTILE, application=application, places=[LeakPlace(application=application, key=HOSTILE)], evidence=[HOSTILE])
    for content in (table.findings([finding], NOW_MS, wide=wide), details.of(finding, NOW_MS)):
        text = shown(content, 400)
        assert "\x1b" not in text and "\u202e" not in text
        assert "[red]x[/red]" in text
    # what didn't come through the topic's own cleaning either
    raw = Finding.model_construct(**{**dict(made()), "message": HOSTILE})
    assert "\x1b" not in shown(table.findings([raw], NOW_MS), 400)


def test_all_of_one() -> None:
    text = shown(details.of(leak(decided=None, reopened=2, suppressed=SUPPRESSED), NOW_MS))
    for part in (
        "critical SK001 pushed_credential",
        "use instead  a file that only the client reads",
        "open, reopened 2 times",
        "old brokers (until 2027-01-31, rules.toml:4)",
        "redacted at  gw-1",
        "written to   clientscope.configs-0@42",
        "2026-09-18T14:13:20+00:00 (3 d ago)",
        "sasl.jaas.config = redacted (key infix, 90 bytes, digest abababababababab…)",
        "billing, group billing-eu, User:billing: sasl.jaas.config, 1 client, last seen",
        "Evidence",
        "orders-1, apache-kafka-java 3.9.2, User:orders, 10.0.0.7, broker 1 by gw-1, pushed 2026-09-21T14:13:20+00:00",
    ):
        assert part in text, part


def test_a_fingerprint_by_its_first_digits() -> None:
    findings = [made(0xAABBCC01), made(0xAABBCC02), made(0x12345678)]
    assert found_by("123456", findings) is findings[2]
    assert found_by(f"{fingerprint(0xAABBCC02).upper()} ", findings) is findings[1]


@pytest.mark.parametrize(
    ("given", "error", "hint"),
    [
        ("12345", "12345 is too short", "at least 6"),
        ("AN101", "'AN101' is not a fingerprint", "32 hexadecimal digits"),
        ("aabbcc", "aabbcc is the beginning of 2 fingerprints", "aabbcc0100"),
        ("12345679", "no finding has the fingerprint 12345679", "did you mean 12345678?"),
        ("ffffff", "no finding has the fingerprint ffffff", "clientscope findings --all"),
    ],
)
def test_a_fingerprint_that_is_none_or_several(given: str, error: str, hint: str) -> None:
    with pytest.raises(SettingsError) as caught:
        found_by(given, [made(0xAABBCC01), made(0xAABBCC02), made(0x12345678)])
    assert error in str(caught.value) and hint in str(caught.value.hint)


ALL = [
    made(1),
    leak(2),
    made(3, severity="low", code="AN112", risks=["cost"], application=BILLING, clients=[]),
    made(4, state="resolved", ended_ms=NOW_MS),
    made(6, suppressed=SUPPRESSED),
]


@pytest.fixture(scope="module")
def page() -> Iterator[str]:
    with serving(live(*map(recorded, ALL)), at_ms=NOW_MS) as url:
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
