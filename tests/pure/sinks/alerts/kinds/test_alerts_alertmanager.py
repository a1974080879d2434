"""Alerts that an Alertmanager is sent, and when; a real one has its own test."""

from __future__ import annotations

import json
import time
from typing import Any

from alert_receivers import LOOPBACK, receiver, serving, status
from made_findings import NOW_MS, leak, made
from observe import eventually

from clientscope.findings.record import Finding, Suppressed
from sinks.alerts import retries
from sinks.alerts.book import fires
from sinks.alerts.kinds import alertmanager
from sinks.alerts.kinds.alertmanager import Alerts
from sinks.alerts.message import Texts

MINUTE = 60_000


def alerts(**fields: Any) -> Alerts:
    return Alerts(receiver("am", kind="alertmanager", **fields), Texts("https://clientscope.example.com/"))


def take(kept: Alerts, finding: Finding, now_ms: int = NOW_MS) -> None:
    kept.take(finding, finding.fingerprint, fires(finding), now_ms)


def test_an_open_finding_is_sent_every_time_and_a_resolved_one_for_five_minutes() -> None:
    kept = alerts()
    take(kept, made(1))
    for minute in range(600):
        (sent,) = kept.to_send(NOW_MS + minute * MINUTE)
        assert sent["endsAt"] > sent["startsAt"]
    assert sent["startsAt"] == "2026-09-18T14:13:20.000Z"
    assert sent["annotations"]["clients"] == "1"
    assert sent["generatorURL"].startswith("https://clientscope.example.com/?view=finding&id=00000001")
    take(kept, made(1, state="resolved", ended_ms=NOW_MS))
    assert [one["endsAt"] for one in kept.to_send(NOW_MS + 5 * MINUTE - 1)] == ["2026-09-21T14:13:20.000Z"]
    assert kept.to_send(NOW_MS + 5 * MINUTE) == []
    take(kept, made(2))
    take(kept, made(2, state="resolved", ended_ms=NOW_MS - 60 * MINUTE))
    assert len(kept.to_send(NOW_MS + 4 * MINUTE)) == 1, "an hour ago, but no message was sent before"


def test_findings_that_ended_while_deliver_was_down_are_sent_after_a_restart() -> None:
    kept = alerts()
    take(kept, made(1, state="resolved", ended_ms=NOW_MS - MINUTE))
    take(kept, made(2, state="resolved", ended_ms=NOW_MS - 6 * MINUTE))
    take(kept, made(3, confidence="low"))
    take(kept, made(4, alert=None))
    take(kept, leak(5, state="stopped", ended_ms=NOW_MS - MINUTE))
    sent = kept.to_send(NOW_MS)
    assert sorted(one["labels"]["fingerprint"][:8] for one in sent) == ["00000001", "00000005"]
    assert kept.firing() == 1


def test_an_identity_that_changes_ends_the_other() -> None:
    kept = alerts()
    take(kept, made(1))
    take(kept, made(1, severity="critical"))
    ends = {one["labels"]["severity"]: one["endsAt"] for one in kept.to_send(NOW_MS)}
    assert ends == {"high": "2026-09-21T14:13:20.000Z", "critical": "2026-09-21T14:17:20.000Z"}
    take(kept, made(1, severity="critical", suppressed=Suppressed(reason="x", until="2027-01-01", where="f:1")))
    assert kept.firing() == 0
    kept.take(None, made(1).fingerprint, False, NOW_MS)


def test_only_what_changed_is_sent_between_rounds_and_only_what_is_routed() -> None:
    kept = alerts(severity="high")
    take(kept, made(1))
    known = kept.version()
    take(kept, made(2))
    take(kept, made(3, severity="low"))
    assert [one["labels"]["fingerprint"][:8] for one in kept.to_send(NOW_MS, known)] == ["00000002"]


def test_each_peer_gets_alerts_and_a_dead_one_catches_up(monkeypatch: Any) -> None:
    monkeypatch.setattr(retries, "BASE_S", 0.05)
    with serving() as well, serving(status(503), status(503)) as troubled:
        results: list[Any] = []
        urls = (f"http://127.0.0.1:{well.port}", f"http://127.0.0.1:{troubled.port}/path/")
        both = receiver("am", kind="alertmanager", urls=urls, allow_networks=LOOPBACK)
        assert both.kind.follow is not None
        kept, peers = both.kind.follow(both, Texts(), lambda *result: results.append(result))
        for number in range(100):
            take(kept, made(number))
        for peer in peers:
            peer.start()
        assert eventually(lambda: len(well.got) == 2 and len(troubled.got) == 4)
        assert [len(json.loads(got.body)) for got in well.got] == [64, 36], "in requests of bounded size"
        assert {got.path for got in troubled.got} == {"/path/api/v2/alerts"}
        take(kept, made(7, state="resolved", ended_ms=253_402_300_799_999), int(time.time() * 1000))
        for peer in peers:
            peer.changed()
        assert eventually(lambda: len(well.got) == 3 and len(troubled.got) == 5)
        assert len(json.loads(well.got[2].body)) == 1
        for peer in peers:
            peer.stop()
            peer.join(10)
    assert [result[1].outcome for result in results].count("failed") == 2


def test_a_test_alert_ends_by_itself() -> None:
    sent = alertmanager.test_alert(NOW_MS)
    assert (sent["labels"]["alertname"], sent["endsAt"]) == ("clientscope_test", "2026-09-21T14:14:20.000Z")
