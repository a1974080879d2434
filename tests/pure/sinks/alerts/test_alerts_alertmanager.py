"""Alerts that an Alertmanager is sent, and when; a real one has its own test."""

from __future__ import annotations

import json
from typing import Any

import pytest
from alert_receivers import receiver, serving, status, waits
from made_findings import NOW_MS, leak, made, resolved

from clientscope.model.finding import Finding, Suppressed
from sinks.alerts.alertmanager import Alerts
from sinks.alerts.message import Texts
from sinks.alerts.outbox import GIVE_UP_S, Place

MINUTE = 60_000


def alerts(**fields: Any) -> Alerts:
    return Alerts(receiver("am", kind="alertmanager", **fields), Texts("https://clientscope.example.com/"))


def take(kept: Alerts, finding: Finding, at_ms: int = NOW_MS, offset: int = 0, now: float = 0.0) -> None:
    kept.take(finding.fingerprint, finding, Place(0, offset), None, at_ms, now)


def test_an_open_finding_is_sent_every_time_and_a_resolved_one_for_five_minutes() -> None:
    kept = alerts()
    take(kept, made(1))
    for minute in range(600):
        (sent,) = kept.to_send(NOW_MS + minute * MINUTE)
        assert sent["endsAt"] > sent["startsAt"]
    assert sent["startsAt"] == "2026-09-18T14:13:20.000Z"
    assert sent["annotations"]["clients"] == "1"
    assert sent["generatorURL"].startswith("https://clientscope.example.com/?view=finding&id=00000001")
    take(kept, resolved(1))
    assert [one["endsAt"] for one in kept.to_send(NOW_MS + 5 * MINUTE - 1)] == ["2026-09-21T14:13:20.000Z"]
    assert kept.to_send(NOW_MS + 5 * MINUTE) == []
    take(kept, made(2))
    take(kept, resolved(2, ended_ms=NOW_MS - 60 * MINUTE))
    assert len(kept.to_send(NOW_MS + 4 * MINUTE)) == 1, "an hour ago, but no message was sent before"


def test_a_clock_that_is_ahead_counts_as_now() -> None:
    """Alertmanager refuses what ends before it starts."""
    kept, ahead = alerts(), {"opened_ms": NOW_MS + 2 * MINUTE, "ended_ms": NOW_MS + MINUTE}
    take(kept, made(1))
    take(kept, resolved(1, **ahead))
    assert [(one["startsAt"], one["endsAt"]) for one in kept.to_send(NOW_MS)] == [("2026-09-21T14:13:20.000Z",) * 2]


def test_only_what_receivers_are_told_of_and_what_is_routed() -> None:
    kept = alerts(severity="high")
    take(kept, made(1, confidence="low"))
    take(kept, made(2, alert=None))
    take(kept, made(3, severity="medium"))
    take(kept, resolved(4))
    take(kept, leak(5, state="stopped", ended_ms=NOW_MS - MINUTE))
    assert [one["labels"]["fingerprint"][:8] for one in kept.to_send(NOW_MS)] == ["00000005"]


def test_an_identity_that_changes_ends_the_other() -> None:
    kept = alerts()
    take(kept, made(1))
    take(kept, made(1, severity="critical"))
    ends = {one["labels"]["severity"]: one["endsAt"] for one in kept.to_send(NOW_MS)}
    assert ends == {"high": "2026-09-21T14:13:20.000Z", "critical": "2026-09-21T14:17:20.000Z"}
    take(kept, made(1, severity="critical", suppressed=Suppressed(reason="x", until="2027-01-01", where="f:1")))
    assert {one["endsAt"] for one in kept.to_send(NOW_MS)} == {"2026-09-21T14:13:20.000Z"}
    kept.take(made(1).fingerprint, None, Place(0, 9), None, NOW_MS, 0.0)


def test_each_server_gets_all_alerts_and_one_that_fails_catches_up() -> None:
    with serving() as well, serving(status(503)) as troubled:
        kept = alerts(urls=(f"http://127.0.0.1:{well.port}", f"http://127.0.0.1:{troubled.port}/path/"))
        for number in range(100):
            take(kept, made(number), offset=number)
        assert waits(kept) == [(number, 0.0) for number in range(100)]
        sent = kept.send(NOW_MS, 10.0)
        assert sent is not None and sent.result.reason == "HTTP 503"
        assert [len(json.loads(got.body)) for got in well.got] == [64, 36], "in requests of bounded size"
        assert {got.path for got in troubled.got} == {"/path/api/v2/alerts"}
        assert (waits(kept), kept.send(NOW_MS, 10.5)) == ([], None)
        again = kept.send(NOW_MS, 12.5)
        assert again is not None and again.result.ok
        assert (len(well.got), len(troubled.got)) == (2, 3), "only the one that failed is tried sooner"
        take(kept, resolved(7, ended_ms=253_402_300_799_999), offset=100, now=15.0)
        assert kept.send(NOW_MS, 15.0) is not None
        assert (len(well.got), len(troubled.got)) == (4, 5), "five seconds after the last round of all, whoever was tried again since"
        take(kept, made(8, client_count=9), now=26.0)
        assert kept.send(NOW_MS, 26.0) is None, "but not what is no change of an alert's state"
        assert kept.send(NOW_MS, 81.0) is not None, "the next round"


@pytest.mark.parametrize(("code", "sizes"), [(400, [64, 1]), (503, [64])])
def test_a_part_that_is_refused_for_good_holds_up_no_other(code: int, sizes: list[int]) -> None:
    with serving(status(code)) as server:
        kept = alerts(urls=(server.url,))
        for number in range(65):
            take(kept, made(number))
        kept.send(NOW_MS, 10.0)
        assert [len(json.loads(got.body)) for got in server.got] == sizes


def test_without_alerts_nothing_is_sent_and_so_nothing_delivered() -> None:
    with serving() as server:
        kept = alerts(urls=(server.url,))
        assert kept.send(NOW_MS, 0.0) is None, "as of a copy that has no partition"
        take(kept, made(1))
        take(kept, resolved(1), offset=1, now=1.0)
        assert waits(kept) == [(0, 0.0)]
        assert kept.send(NOW_MS + 5 * MINUTE, 300.0) is None
        assert (waits(kept), server.got) == ([], [])


def test_f30_alerts_are_given_up_once_all_servers_have_been_down_for_two_hours_and_sent_nevertheless() -> None:
    with serving(always=status(503)) as down, serving() as later:
        kept, given_up = alerts(urls=(down.url, later.url)), []
        for number in range(36):
            now = 600.0 * number
            later.always = status(503) if now >= 10_800 else None
            take(kept, made(number), now=now)
            sent = kept.send(NOW_MS, now)
            given_up += [now] if sent is not None and sent.given_up else []
        assert (given_up[0], waits(kept)) == (10_800 + GIVE_UP_S, [])
        tried = len(down.got)
        take(kept, made(99), now=now)
        assert (kept.send(NOW_MS, now + 6), len(down.got)) == (None, tried), "a change is no reason to try one sooner that is down"
        down.always = later.always = None
        assert kept.send(NOW_MS, now + 600) is not None
        assert len(json.loads(down.got[-1].body)) == 37
        down.always = later.always = status(503)
        take(kept, resolved(1), now=now + 600)
        again = kept.send(NOW_MS, now + 660)
        assert again is not None and again.given_up == 0, "they have been well since"
