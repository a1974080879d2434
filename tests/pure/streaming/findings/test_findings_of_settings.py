"""Findings about settings: one per problem of an application, open while a client fails and none has passed since."""

from __future__ import annotations

import json
from datetime import date

import pytest
from fleets import HOUR, MINUTE, NOW, SECOND, Fleet, alerted, shown

from clientscope.findings.fingerprints import application_key, fingerprint
from clientscope.model.enums import Origin
from clientscope.model.finding import Owner
from clientscope.profiles.client_patterns import ClientPattern
from clientscope.profiles.owners import Owners
from clientscope.profiles.suppressions import Suppression
from streaming.findings.entry import Policy
from streaming.findings.liveness import GRACE_MS

BAD, GOOD = {"acks": "0", "group.id": "g"}, {"acks": "all", "group.id": "g"}


def test_a_finding_says_what_where_who_and_what_to_do(fleet: Fleet) -> None:
    fleet.client(5, BAD, "orders-7")
    fleet.write()
    found = fleet.one("AN101")
    assert (found.state, found.kind, found.severity, found.name) == ("open", "setting", "high", "acks_zero")
    assert shown(found) == {"acks": "0"}
    assert found.message and found.use_instead and found.link.startswith("https://")
    assert (found.application.principal, found.application.client_id, found.application.group) == ("User:a", "orders", "g")
    (client,) = found.clients
    assert (client.client_id, client.address, client.software_version, client.gateway) == ("orders-7", "10.0.0.1", "4.4.0", "g")
    assert (found.first_seen_ms, found.last_seen_ms, found.opened_ms, found.client_count, found.ended_ms) == (NOW, NOW, NOW, 1, None)
    assert found.fingerprint == fingerprint("AN101", application_key("User:a", "orders", "g"), "acks")
    assert alerted(found) == (1, "new")


def test_names_that_a_client_chose_are_bounded_and_cleaned_when_they_are_written(fleet: Fleet) -> None:
    evil = "\x1b[31m\u202e" + "x" * 900
    fleet.client(1, BAD | {"group.id": evil}, evil, software_name=evil, software_version=evil, principal=f"User:{evil}", address=evil)
    fleet.write()
    (text,) = fleet.published.values()
    found = json.loads(text)
    names = [
        *found["application"].values(),
        *(found["clients"][0][name] for name in ("client_id", "principal", "address", "software_name", "software_version")),
    ]
    assert [len(name) for name in names] == [256] * 8 and len(found["message"]) <= 1_000
    assert not any(mark in said for said in (*names, found["message"]) for mark in ("\x1b", "\u202e"))


def test_it_is_resolved_by_a_newer_push_that_passes_reopened_by_one_that_fails_and_leaves_the_topic_after_thirty_days(fleet: Fleet) -> None:
    first = fleet.client(1, BAD)
    fleet.later()
    fleet.close(first)
    fleet.later()
    second, passed_ms = fleet.client(2, GOOD), fleet.now
    fleet.later()
    assert (fleet.state("AN101"), fleet.one("AN101").ended_ms) == ("resolved", passed_ms)
    third = fleet.client(3, BAD)
    fleet.write()
    found = fleet.one("AN101")
    assert (found.state, found.reopened, found.first_seen_ms, found.opened_ms, found.ended_ms) == ("open", 1, NOW, fleet.now, None)
    assert alerted(found) == (2, "reopened")
    for connection in (second, third):
        fleet.close(connection)
    fleet.later(HOUR)
    fleet.push(instance=3, settings=GOOD)
    for days in (1, 28):
        fleet.later(days * 24 * HOUR)
        assert fleet.state("AN101") == "resolved"
    fleet.later(2 * 24 * HOUR)
    assert not fleet.findings("AN101")


@pytest.mark.parametrize(("quiet_ms", "state"), [(GRACE_MS - 1, "open"), (GRACE_MS, "resolved")])
def test_it_is_open_while_who_had_it_may_be_connecting_anew(fleet: Fleet, quiet_ms: int, state: str) -> None:
    fleet.client(1, BAD)
    fleet.write()
    fleet.push(instance=1, settings=GOOD)
    fleet.write()
    fleet.later(quiet_ms)
    assert fleet.state("AN101") == state


def test_one_that_came_and_went_between_two_looks_alerts_nobody(fleet: Fleet) -> None:
    for settings in (BAD, GOOD):
        fleet.now += SECOND
        fleet.push(connection=1, instance=1, settings=settings)
    fleet.later()
    found = fleet.one("AN101")
    assert (found.state, found.opened_ms, found.ended_ms, found.alert) == ("resolved", NOW + SECOND, NOW + 2 * SECOND, None)


def test_a_fleet_with_one_mistake_is_one_finding_with_a_count_and_one_alert(fleet: Fleet) -> None:
    for number in range(30):
        fleet.client(number + 1, BAD, f"orders-{number}", address=f"10.0.0.{number}")
        if number % 10 == 0:
            fleet.later(20)
    fleet.later()
    found = fleet.one("AN101")
    assert (found.client_count, len(found.clients), found.clients[0].client_id) == (30, 10, "orders-29")
    assert found.alert is not None
    assert found.alert.number == 1
    assert fleet.writes <= 4 * len(fleet.published), "not a record for each client"


def test_owners_are_named_and_suppressed_ones_alert_nobody_until_the_day() -> None:
    owners = Owners(((ClientPattern(client_id=("orders-*",)), Owner("orders", "#orders")),))
    suppression = Suppression("AN101", ClientPattern(group=("g",)), "legacy", date(2027, 1, 15), "rules.toml:3")
    fleet = Fleet(Policy(owners, (suppression,)))
    fleet.client(1, BAD)
    fleet.write()
    found = fleet.one("AN101")
    assert found.owner is not None
    assert found.suppressed is not None
    assert (found.owner.contact, found.suppressed.reason, found.state, found.alert) == ("#orders", "legacy", "open", None)
    fleet.later(2 * 24 * HOUR)
    found = fleet.one("AN101")
    assert found.alert is not None
    assert (found.suppressed, found.alert.why) == (None, "new")


def test_an_accepted_risk_is_closed_until_its_last_day_is_over(fleet: Fleet) -> None:
    fleet.client(1, BAD)
    fleet.write()
    fleet.decide(fleet.one("AN101").fingerprint, "accepted", until=date(2027, 1, 15))  # from 8:00
    for hours, state, alert in ((1, "closed", (1, "new")), (14, "closed", (1, "new")), (1, "open", (2, "reopened"))):
        fleet.later(hours * HOUR)
        assert (fleet.state("AN101"), alerted(fleet.one("AN101"))) == (state, alert)
    assert fleet.one("AN101").opened_ms == fleet.now


@pytest.mark.parametrize("junk", [b"", b"{}", b"[1]", b"\xff", b'{"fingerprint": 1}'])
def test_junk_on_the_topic_stops_nothing(fleet: Fleet, junk: bytes) -> None:
    fleet.published["x"] = junk
    fleet.start()
    fleet.client(1, BAD)
    fleet.write()
    del fleet.published["x"]
    assert fleet.state("AN101") == "open"


def test_one_of_two_of_the_same_name_is_forgotten_an_hour_after_it_has_left(fleet: Fleet) -> None:
    gone, _ = fleet.client(1), fleet.client(2)
    fleet.later(2 * HOUR)
    fleet.close(gone)
    for minutes, remembered in ((5, 2), (60, 1)):
        fleet.later(minutes * MINUTE)
        assert fleet.engine.sizes()["clients"] == remembered


def test_a_client_that_has_gone_is_forgotten_after_an_hour_and_what_it_had_wrong_is_not(fleet: Fleet) -> None:
    gone = fleet.client(1, BAD)
    fleet.client(2, BAD, "web-1", address="10.0.0.2")
    fleet.close(gone)
    fleet.later(2 * HOUR)
    assert fleet.engine.sizes()["clients"] == 1, "who is connected is kept"
    assert {(each.application.client_id, each.state, each.client_count) for each in fleet.findings("AN101")} == {
        ("orders", "open", 0),
        ("web", "open", 1),
    }
    fleet.restart()
    assert len(fleet.findings("AN101")) == 2
    fleet.later(30 * 24 * HOUR)
    assert fleet.engine.sizes()["applications"] == 1, "and neither is it of an application that is silent for thirty days"
    assert sorted(each.state for each in fleet.findings("AN101")) == ["open", "resolved"]


def test_what_a_client_pushes_beats_what_was_seen_of_its_requests(fleet: Fleet) -> None:
    fleet.connect()
    fleet.seen(BAD)
    fleet.write()
    assert fleet.counted("AN101") == ("open", 1)
    fleet.later(SECOND)
    pushing = fleet.client(1, GOOD)
    fleet.later(SECOND)
    fleet.later()
    assert fleet.state("AN101") == "resolved"
    fleet.seen(BAD)  # which comes later, and changes nothing
    fleet.later()
    assert fleet.state("AN101") == "resolved"
    fleet.close(pushing)
    fleet.later()
    assert fleet.state("AN101") == "resolved", "another connection of its names is open, so it is still there"


def test_a_pushing_client_whose_connection_was_idle_is_there_although_its_requests_were_seen_later(fleet: Fleet) -> None:
    pushing = fleet.client(1, BAD)
    other = fleet.connect()
    fleet.seen(GOOD)
    fleet.later()
    fleet.close(pushing)
    fleet.later()
    assert fleet.counted("AN101") == ("open", 1)
    fleet.close(other)
    fleet.later()
    assert fleet.one("AN101").client_count == 0


def test_a_client_that_several_gateways_have_seen_counts_once_until_none_sees_it(fleet: Fleet) -> None:
    connection = fleet.connect()
    for instance, gateway in ((7, "g"), (8, "other")):
        fleet.seen(BAD, connection, instance, gateway=gateway)
    fleet.client(9, BAD, "orders-2", address="10.0.0.2", origin=Origin.OBSERVED)
    fleet.later(SECOND)
    found = fleet.one("AN101")
    assert (found.client_count, sorted(str(each.client_id) for each in found.clients)) == (2, ["orders-1", "orders-2"])
    fleet.close(connection)
    fleet.later()
    assert fleet.one("AN101").client_count == 1


def test_a_producer_that_pushes_says_nothing_of_a_consumer_of_its_name(fleet: Fleet) -> None:
    fleet.client(1, {"acks": "all", "linger.ms": "5"})
    fleet.seen({"group.id": "g", "session.timeout.ms": "5000"})
    fleet.later()
    assert fleet.one("AN202").client_count == 1
