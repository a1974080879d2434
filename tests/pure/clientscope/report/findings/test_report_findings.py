"""clientscope findings: order and formats of the list, one finding, and that hostile names stay text."""

from __future__ import annotations

import io
from datetime import date
from typing import Any

import pytest
from made_findings import BILLING, NOW_MS, fingerprint, leak, made
from rich.console import Console

from clientscope.errors import SettingsError
from clientscope.findings.record import Application, Finding, LeakPlace, Suppressed
from clientscope.query import Query
from clientscope.report.findings import details, table
from clientscope.report.findings.selecting import ListedStates, found_by

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
