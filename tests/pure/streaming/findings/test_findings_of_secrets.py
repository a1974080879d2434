"""Findings about secrets: one per secret, which only a person ends."""

from __future__ import annotations

import pytest
from every import every
from fleets import BAD, GOOD, HOUR, LEAK, MINUTE, SECOND, Fleet
from record_bytes import setting

from clientscope.catalog.value_states import ValueState
from clientscope.findings.fingerprints import secret_fingerprint
from clientscope.model.decision import Resolution
from clientscope.model.principals import ANONYMOUS
from streaming.findings import entry as finding_records

SECRET = "hunter2-canary"


def test_the_same_secret_in_several_places_is_one_finding_with_all_of_them(fleet: Fleet) -> None:
    fleet.client(1, LEAK)
    fleet.client(2, {"db.password": SECRET}, "web-1", address="10.0.0.2")
    fleet.client(3, {"db.password": SECRET}, "web-2", address="10.0.0.3")
    fleet.client(4, {"db.password": "another-canary"}, "etl", address="10.0.0.4")
    fleet.write()
    first, second = fleet.findings("SK001")
    assert [(place.application.client_id, place.key, place.clients) for place in first.places] == [
        ("web", "db.password", 2),
        ("orders", "sasl.password", 1),
    ]
    assert (first.client_count, first.place_count, first.severity, first.kind) == (3, 2, "critical", "leak")
    assert first.fingerprint == secret_fingerprint(first.settings[0].digest or "")
    assert [place.application.client_id for place in second.places] == ["etl"]
    for text in fleet.published.values():
        assert b"canary" not in text


def test_who_does_not_authenticate_is_kafkas_anonymous_in_what_is_found(fleet: Fleet) -> None:
    fleet.client(1, LEAK, principal=ANONYMOUS)
    fleet.later()
    found = fleet.one("SK001")
    assert (found.application.principal, found.clients[0].principal) == (ANONYMOUS, ANONYMOUS)
    assert found.message.startswith("orders (sasl.password"), "which says nothing about whose it is"


def test_it_says_how_far_it_got(fleet: Fleet) -> None:
    fleet.client(1, LEAK)
    redacted = setting("sasl.password", None, state=ValueState.KEY_PREFIX, length=9, digest=b"d" * 32)
    fleet.push("web-1", instance=2, settings=[redacted], gateway="gw-7")
    fleet.write()
    reaches = {finding.clients[0].client_id: finding.reach for finding in fleet.findings("SK001")}
    raw, kept_back = reaches["orders-1"], reaches["web-1"]
    assert raw is not None
    assert kept_back is not None
    assert (raw.redacted_at, raw.written_to) == ((), ("clientscope.configs-0@0",))
    assert (kept_back.redacted_at, kept_back.written_to) == (("gw-7",), ())


def test_it_is_never_resolved_but_stops(fleet: Fleet) -> None:
    fleet.close(fleet.client(1, LEAK))
    fleet.client(2, GOOD)
    fleet.later()
    fleet.later(40 * 24 * HOUR)
    fleet.restart(SECOND)
    assert fleet.state("SK001") == "stopped", "it waits for a person"
    fleet.client(3, LEAK)
    fleet.write()
    found = fleet.one("SK001")
    assert (found.state, found.reopened, found.alert and found.alert.why) == ("open", 1, "reopened")


@pytest.mark.parametrize(("resolution", "after"), [("rotated", "open"), ("test-value", "closed"), ("not-a-secret", "closed")])
def test_a_rotated_one_is_reopened_by_a_push_and_a_test_value_is_not(fleet: Fleet, resolution: Resolution, after: str) -> None:
    fleet.client(1, LEAK)
    fleet.later()
    fleet.decide(fleet.one("SK001").fingerprint, resolution)
    fleet.later(SECOND)
    found = fleet.one("SK001")
    assert found.decided is not None
    assert (found.state, found.decided.resolution, found.ended_ms) == ("closed", resolution, fleet.now)
    fleet.later()
    fleet.push(instance=1, settings=LEAK)
    fleet.write()
    assert fleet.state("SK001") == after
    fleet.restart(SECOND)
    assert fleet.state("SK001") == after


def test_another_digest_is_evidence_and_no_proof(fleet: Fleet) -> None:
    fleet.client(1, LEAK)
    fleet.later()
    fleet.push(instance=1, settings={"sasl.password": "another-canary"})
    fleet.later()
    newer, older = fleet.findings("SK001")
    assert (older.state, newer.state) == ("stopped", "open")
    assert "perhaps it was rotated" in older.evidence[0]
    assert not newer.evidence


def test_what_only_looks_random_alerts_nobody(fleet: Fleet) -> None:
    fleet.client(1, {"custom.thing": "zX81kfQpL0vB7mWc9Tn4Hs2Yd6Ra3Ge5"})
    fleet.write()
    found = fleet.one("SK004")
    assert (found.state, found.confidence, found.alert) == ("open", "low", None)
    fleet.client(2, BAD, "web", address="10.0.0.2")
    fleet.write()
    assert fleet.findings()[-1].code == "SK004", "what is sure comes first"


def test_who_is_connected_anew_with_a_secret_that_had_stopped_has_it_for_ten_minutes_from_then_on(fleet: Fleet) -> None:
    fleet.close(fleet.client(1, LEAK))
    for minutes in (1, 11):
        fleet.later(minutes * MINUTE)
    assert fleet.state("SK001") == "stopped"
    again = fleet.connect()
    fleet.later()
    assert fleet.state("SK001") == "open"
    fleet.close(again)
    for minutes, state in ((1, "open"), (9, "open"), (1, "stopped")):
        fleet.later(minutes * MINUTE)
        assert fleet.state("SK001") == state


def test_f34_a_secret_within_a_key_is_a_finding_that_names_it_by_its_digest(fleet: Fleet) -> None:
    fleet.client(1, {"sasl.password = hunter2-canary": "", "acks": "all", "password=third-canary": ""}, "orders")
    fleet.client(2, {"sasl.password = other-canary": ""}, "etl", address="10.0.0.2")
    fleet.client(3, {"sasl.password = hunter2-canary": "!"}, "etl-b", address="10.0.0.3")
    fleet.write()
    found = {finding.settings[0].digest: finding for finding in fleet.findings("SK002")}
    assert len(found) == 3, "as many as there are secrets, though all values are alike"
    for digest, finding in found.items():
        assert digest is not None
        assert (finding.severity, finding.settings[0].key, finding.fingerprint) == (
            "critical", f"[redacted {digest[:16]}]", secret_fingerprint(digest),
        )  # fmt: skip
    assert sorted(len(finding.places) for finding in found.values()) == [1, 1, 2], "one of them leaks in two places"
    assert not any(b"canary" in text for text in every(fleet.published.values()))


@pytest.mark.parametrize("connected", [True, False])
def test_f22_of_many_places_the_same_one_is_named_first_whenever_the_job_was_started(
    connected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(finding_records, "MOST_PLACES", 4)
    found = []
    for restarts in (False, True):
        fleet = Fleet()
        for name in "bcdefa":
            connection = fleet.client(settings=LEAK, client=name)
            if not connected:
                fleet.close(connection)
            fleet.now += SECOND
        fleet.write()
        if restarts:
            fleet.start()
            fleet.write()
        found.append(fleet.one("SK001"))
    assert found[0].message == found[1].message
    assert found[0].places == found[1].places
    assert found[0].message.startswith("a, User:a and 3+ more")
