"""clientscope findings close and reopen: the decisions that each finding allows, and that no secret is stored with one."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest
from command_runs import Run
from made_findings import NOW_MS, fingerprint, leak, made

from clientscope.errors import SettingsError
from clientscope.findings.record import Finding
from clientscope.report.findings import deciding
from clientscope.report.findings.deciding import Closing

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
