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
def test_a_leak_is_closed(resolution: str) -> None:
    decision = closing(resolution=resolution).decision(leak(2))
    assert (decision.fingerprint, decision.resolution, decision.by, decision.why, decision.at_ms, decision.until) == (
        fingerprint(2), resolution, "ada", "a new one since Monday", NOW_MS, None,
    )  # fmt: skip


@pytest.mark.parametrize("finding", [made(1), leak(2), made(3, kind="fleet"), made(4, kind="operation")])
def test_anything_is_accepted_until_a_date(finding: Finding) -> None:
    decision = closing(resolution="accepted", until="2026-12-31").decision(finding)
    assert (decision.resolution, decision.until) == ("accepted", date(2026, 12, 31))
    assert decision.holds(NOW_MS + 1, NOW_MS + 1)


@pytest.mark.parametrize("resolution", ["rotated", "test-value", "not-a-secret"])
@pytest.mark.parametrize("kind", ["setting", "fleet", "operation"])
def test_what_is_no_leak_is_not_closed_as_one(resolution: str, kind: str) -> None:
    with pytest.raises(SettingsError, match="is not a leak"):
        closing(resolution=resolution).decision(made(1, kind=kind))


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
    with pytest.raises(SettingsError, match=error):
        closing(**given)


def test_no_error_quotes_the_secret(clientscope: Run) -> None:
    status, out, err = clientscope("findings", "close", "00000002", "--as", "rotated", "--why", "was password=hunter2-Xy")
    assert status == 2 and "hunter2" not in out + err


def test_the_last_day_that_is_allowed() -> None:
    assert closing(resolution="accepted", until="2027-09-22").until == date(2027, 9, 22)
    assert closing(resolution="accepted", until="2026-09-22").until == date(2026, 9, 22)


def test_by_is_the_user_unless_it_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOGNAME", "grace")
    assert deciding.who("") == "grace"
    assert deciding.who("ada") == "ada"


def test_an_accidental_line_break_is_a_space() -> None:
    assert closing(why="new\n password\tset").why == "new password set"


def test_a_secret_that_is_still_pushed_is_warned_of() -> None:
    assert list(closing().warnings(leak(2)))
    assert not list(closing().warnings(leak(2, state="stopped")))
    assert not list(closing(resolution="test-value").warnings(leak(2)))


def test_only_what_was_decided_is_taken_back() -> None:
    deciding.require_decided(leak(2), {fingerprint(2)})
    with pytest.raises(SettingsError, match="has no decision"):
        deciding.require_decided(leak(2), {fingerprint(3)})


@pytest.mark.parametrize(
    ("words", "command"),
    [
        (["findings", "-o", "csv", "--help"], "clientscope findings list [-h]"),
        (["findings", "--help"], "clientscope findings [-h] WHAT"),
        (["findings", "show", "-o", "json", "--help"], "clientscope findings show [-h]"),
        (["lint", "findings", "--help"], "clientscope lint [-h]"),
    ],
)
def test_the_word_list_may_be_left_out(words: list[str], command: str, clientscope: Run) -> None:
    assert clientscope(*words).printed.startswith(f"usage: {command}")


def test_findings_alone_lists(monkeypatch: pytest.MonkeyPatch, clientscope: Run) -> None:
    monkeypatch.setenv("CLIENTSCOPE_KAFKA_BOOTSTRAP_SERVERS", "nowhere")
    assert clientscope("findings").refused.endswith("hint: see: clientscope findings list --help\n")
