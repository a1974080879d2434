"""Life of a finding as a table: the state before, the clients that have it, and the state after (`streaming.findings.entry`)."""

from __future__ import annotations

from collections import Counter
from copy import deepcopy
from dataclasses import replace
from datetime import UTC, date, datetime
from typing import Any, NamedTuple

import pytest

from clientscope.findings.decisions import Decision, Resolution
from clientscope.findings.record import Alert, Kind
from clientscope.profiles.client_patterns import ClientPattern
from clientscope.profiles.suppressions import Suppression
from clientscope.severities import SEVERITIES
from streaming.findings.entry import QUIET_MS, FindingEntry, FindingStanding, Holders, Policy, Where, advance, restored
from streaming.findings.inputs import JudgedPush, LogPosition, whereabouts
from streaming.findings.presence import GRACE_MS

NOW = 1_800_000_000_000
TODAY = datetime.fromtimestamp(NOW / 1000, UTC).date()
APPLICATION = '["User:a","orders",null]'
PLACE = (APPLICATION, "")
MEDIUM, HIGH = SEVERITIES.index("medium"), SEVERITIES.index("high")
NEW = FindingStanding()
OPEN = FindingStanding(is_open=True, opened_ms=NOW - 500, alert=Alert(number=1, why="new", at_ms=NOW - 500), worst_alerted=MEDIUM)
QUIET, LEFT = (replace(OPEN, quiet_since_ms=NOW - since_ms) for since_ms in (GRACE_MS, GRACE_MS - 1))
RESOLVED = replace(OPEN, is_open=False, ended_ms=NOW - 100)


def push(client: str = "c", appended_ms: int = NOW - 500) -> JudgedPush:
    """The newest of one client."""
    return JudgedPush(
        client=client, appended_ms=appended_ms, partition=0, offset=1, there=whereabouts("k", "User:a", "orders-1", "10.0.0.1"),
        broker=1, gateway="g", epoch=1, connection=1, principal="User:a", software_name="s", software_version="1", application=APPLICATION,
        verdicts=(), unjudged=frozenset(), settings={}, written=(), size=1, tenant="User:a",
    )  # fmt: skip


def entry(
    kind: Kind = "setting",
    *,
    seen_ms: int = NOW - 500,
    passed_ms: int = 0,
    standing: FindingStanding = NEW,
    severity: int = MEDIUM,
    **fields: Any,
) -> FindingEntry:
    """One of one place, or of none: what is compared, and clientscope's own."""
    compared = kind in ("fleet", "operation")
    places = {} if compared else {PLACE: Where({"c": severity}, LogPosition.at(seen_ms), LogPosition.at(passed_ms))}
    return FindingEntry(
        "f" * 32, "AN101", kind, severity=severity, message="m", application=None if kind == "operation" else APPLICATION, places=places,
        severities=Counter() if compared else Counter([severity]), first_seen_ms=seen_ms, last_seen_ms=seen_ms, standing=standing, **fields,
    )  # fmt: skip


def live(*pushes: JudgedPush) -> Holders:
    clients = {push.client for push in pushes}
    return Holders({PLACE: len(pushes)}, pushes, (), clients.__contains__, lambda there, push: None)


def decided(resolution: Resolution, until: date | None = None) -> Decision:
    return Decision(fingerprint="f" * 32, resolution=resolution, by="b", why="w", at_ms=NOW - 50, until=until)


class Case(NamedTuple):
    """What is known and who has it now; and the state, whether it was notified of just now and why, when it opened and ended."""

    name: str
    entry: FindingEntry
    live: Holders
    state: str
    alert: str | None
    opened_ms: int = NOW - 500
    ended_ms: int = 0
    reopened: int = 0
    policy: Policy = Policy()


HAS, NO_CLIENTS = live(push()), live()
PASSED = {"seen_ms": NOW - 500, "passed_ms": NOW - 200}
SUPPRESSED = Policy(suppressions=(Suppression("AN101", ClientPattern(), "r", TODAY, "rules.toml:1"),))
EXPIRED = Policy(suppressions=(replace(SUPPRESSED.suppressions[0], until=date(2000, 1, 1)),))
LATE = replace(OPEN, quiet_since_ms=NOW - QUIET_MS)
EARLY = replace(OPEN, quiet_since_ms=NOW - QUIET_MS + 1)

CASES = (
    Case("a new one is open, and notified of", entry(), HAS, "open", "new"),
    Case("one that is open is not notified of again", entry(standing=OPEN), HAS, "open", None),
    Case("a worse severity is notified of", entry(standing=OPEN, severity=HIGH), HAS, "open", "worse"),
    Case("it stays open without clients until a push is without it", entry(standing=OPEN), NO_CLIENTS, "open", None),
    Case("it stays open while a connected client has it", entry(**PASSED, standing=OPEN), HAS, "open", None),
    Case("it resolves when pushes are without it", entry(**PASSED, standing=QUIET), NO_CLIENTS, "resolved", None, ended_ms=NOW - 200),
    Case("but not while who had it may be connecting anew", entry(**PASSED, standing=LEFT), NO_CLIENTS, "open", None),
    Case("it ends once", entry(**PASSED, standing=RESOLVED), NO_CLIENTS, "resolved", None, ended_ms=NOW - 100),
    Case(
        "what is back is opened again, when it was first seen again",
        entry(seen_ms=NOW - 50, passed_ms=NOW - 200, standing=RESOLVED, back_ms=NOW - 60),
        HAS,
        "open",
        "reopened",
        opened_ms=NOW - 60,
        reopened=1,
    ),
    Case("a secret without clients stops", entry("leak", **PASSED, standing=OPEN), NO_CLIENTS, "stopped", None, ended_ms=NOW),
    Case("a secret that is quiet is open for a while", entry("leak", standing=EARLY), NO_CLIENTS, "open", None),
    Case("and then stops, without a push that says so", entry("leak", standing=LATE), NO_CLIENTS, "stopped", None, ended_ms=NOW),
    Case("a connected client ends the quiet", entry("leak", standing=LATE), HAS, "open", None),
    Case("quiet ends secrets only", entry(standing=LATE), NO_CLIENTS, "open", None),
    Case(
        "a secret that came and went between two looks is notified of (F46)",
        entry("leak", **PASSED),
        NO_CLIENTS,
        "stopped",
        "new",
        ended_ms=NOW,
    ),
    Case(
        "and so is one that came back for a moment (F46)",
        entry("leak", **PASSED, standing=RESOLVED, back_ms=NOW - 60),
        NO_CLIENTS,
        "stopped",
        "reopened",
        opened_ms=NOW - 60,
        ended_ms=NOW,
        reopened=1,
    ),
    Case("a setting that came and went is not", entry(**PASSED), NO_CLIENTS, "resolved", None, opened_ms=NOW - 500, ended_ms=NOW - 200),
    Case("a comparison that still finds it", entry("fleet", present=True), NO_CLIENTS, "open", "new"),
    Case("a comparison that finds it no more", entry("fleet", standing=OPEN), HAS, "resolved", None, ended_ms=NOW),
    Case("a part of our own that fails", entry("operation", present=True), NO_CLIENTS, "open", "new"),
    Case("and works again", entry("operation", standing=OPEN), NO_CLIENTS, "resolved", None, ended_ms=NOW),
    Case("low confidence is never notified of", entry(low_confidence=True), HAS, "open", None),
    Case("nor is what is suppressed", entry(), HAS, "open", None, policy=SUPPRESSED),
    Case("a suppression that is over says nothing", entry(), HAS, "open", "new", policy=EXPIRED),
    Case("a decision closes it", entry(standing=OPEN, decision=decided("accepted", until=TODAY)), HAS, "closed", None, ended_ms=NOW),
    Case(
        "until its last day",
        entry(standing=RESOLVED, decision=decided("accepted", until=date(2000, 1, 1))),
        HAS,
        "open",
        "reopened",
        opened_ms=NOW,
        reopened=1,
    ),
    Case("a rotated secret is closed", entry("leak", standing=OPEN, decision=decided("rotated")), HAS, "closed", None, ended_ms=NOW),
    Case(
        "and open when it is pushed later",
        entry("leak", seen_ms=NOW - 10, standing=RESOLVED, back_ms=NOW - 10, decision=decided("rotated")),
        HAS,
        "open",
        "reopened",
        opened_ms=NOW - 10,
        reopened=1,
    ),
    Case("a closed one that was never open is not notified of", entry(decision=decided("test-value")), HAS, "closed", None, ended_ms=NOW),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_what_becomes_of_a_finding(case: Case) -> None:
    before = deepcopy(case.entry)
    after, record = advance(case.entry, case.live, NOW, case.policy)
    assert case.entry == before, "what it is given stays as it is"
    standing = after.standing
    notified = standing.alert.why if standing.alert is not None and standing.alert != before.standing.alert else None
    assert (record.state, notified) == (case.state, case.alert)
    assert (record.opened_ms, record.ended_ms or 0, record.reopened) == (case.opened_ms, case.ended_ms, case.reopened)
    assert (record.alert, standing.is_open) == (standing.alert, case.state == "open")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_second_look_at_the_same_time_changes_nothing(case: Case) -> None:
    once, record = advance(case.entry, case.live, NOW, case.policy)
    assert advance(once, case.live, NOW, case.policy) == (once, record)


@pytest.mark.parametrize("case", [case for case in CASES if not case.entry.decision], ids=lambda case: case.name)
def test_f31_a_restart_asks_for_no_notification(case: Case) -> None:
    once, record = advance(case.entry, case.live, NOW, case.policy)
    again = restored(record)
    for place, where in once.places.items():
        again.places[place].clients = dict(where.clients)
    again.severities = once.severities
    _, later = advance(again, case.live, NOW + 1, case.policy)
    assert (later.state, later.alert, later.reopened, later.opened_ms) == (record.state, record.alert, record.reopened, record.opened_ms)


def test_the_worst_since_the_last_look_counts_once() -> None:
    worse = entry("leak", standing=OPEN, worst_lately=HIGH)
    once, record = advance(worse, HAS, NOW)
    assert (record.severity, once.worst_lately, once.standing.worst_alerted) == ("high", -1, HIGH)
    assert advance(once, HAS, NOW)[1].severity == "medium"


def test_who_had_it_for_a_moment_is_named_and_stays_so() -> None:
    brief = entry("leak", **PASSED, lately={"d": push("d")})
    once, record = advance(brief, NO_CLIENTS, NOW)
    assert [client.key for client in record.clients] == ["d"] and not once.lately
    assert [client.key for client in advance(once, NO_CLIENTS, NOW)[1].clients] == ["d"]
