"""Findings that one push can't show: compared with others, and with earlier."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from every import every
from fleets import HOUR, MINUTE, NOW, SECOND, Fleet, connected, shown
from record_bytes import connection_record

from clientscope.findings.conditions import Condition, gateway_subject, given_up_alerts, lost_gateway
from clientscope.model.enums import Kind
from clientscope.profiles import Profile, Thresholds
from clientscope.severities import Severity

SETTINGS = {"acks": "all", "linger.ms": "5", "batch.size": "65536", "client.dns.lookup": "use_all_dns_ips"}
STORM = "more than 99 connections closed within five minutes"


def apps(fleet: Fleet, number: int, **changes: object) -> None:
    """So many applications, each with one client."""
    for index in range(number):
        name = "app" + "abcdefghijklmnopqrstuvwxyz"[index]
        fleet.client(100 + index, SETTINGS, name, address=f"10.0.1.{index}", **changes)


def test_instances_that_differ_are_reported_once_no_more_of_them_start(fleet: Fleet) -> None:
    for number in range(3):
        settings = SETTINGS | {"linger.ms": "0" if number == 2 else "5", "client.id": f"orders-{number}"}
        fleet.client(number + 1, settings, f"orders-{number}", address=f"10.0.0.{number}")
    fleet.later(5 * MINUTE)
    assert not fleet.findings("AN310"), "a rollout may be under way"
    fleet.later(6 * MINUTE)
    found = fleet.one("AN310")
    assert (found.state, found.client_count) == ("open", 3)
    assert found.evidence == ("linger.ms: 5 on 2 clients, 0 on 1 client",)
    fleet.push("orders-2", instance=3, settings=SETTINGS, address="10.0.0.2")
    fleet.later(15 * MINUTE)
    assert fleet.state("AN310") == "resolved"


def test_difference_within_two_releases_reads_the_same_in_whatever_order_they_came() -> None:
    said = []
    for releases in (("3.9.0", "4.0.0"), ("4.0.0", "3.9.0")):
        fleet = Fleet()
        for number, release in enumerate(releases * 2):
            acks = "all" if number < 2 else "0" if release == "4.0.0" else "1"
            names = {"address": f"10.0.0.{number}", "software_version": release}
            fleet.client(number + 1, SETTINGS | {"acks": acks}, f"orders-{number}", **names)
        fleet.later(11 * MINUTE)
        said.append(fleet.one("AN310").evidence)
    assert said[0] == said[1]


def test_members_of_a_group_are_compared_whatever_their_client_id(fleet: Fleet) -> None:
    for name, value in (("a", "100"), ("b", "500")):
        fleet.client(ord(name), {"group.id": "g", "max.poll.records": value}, name, address=f"10.0.0.{ord(name)}")
    fleet.later(11 * MINUTE)
    found = fleet.one("AN310")
    assert (found.application.group, found.application.client_id) == ("g", None)


def test_other_releases_and_clients_that_are_gone_are_not_compared(fleet: Fleet) -> None:
    fleet.client(1, SETTINGS)
    fleet.client(2, SETTINGS | {"acks": "1"}, "orders-2", software_version="3.9.0", address="10.0.0.2")
    gone = fleet.client(3, SETTINGS | {"acks": "0"}, "orders-3", address="10.0.0.3")
    fleet.close(gone)
    fleet.later(11 * MINUTE)
    assert not fleet.findings("AN310")


def test_a_setting_that_changed_between_two_starts_is_reported_for_a_day(fleet: Fleet) -> None:
    first = fleet.client(1, SETTINGS)
    fleet.later(HOUR)
    fleet.close(first)
    fleet.client(2, SETTINGS | {"acks": "1", "linger.ms": "0"})
    fleet.later(10 * SECOND)
    found = fleet.one("AN401")
    assert found.evidence == ("acks: all before, 1 now", "linger.ms: 5 before, 0 now")
    assert shown(found) == {"acks": "1", "linger.ms": "0"}
    writes = fleet.writes
    fleet.restart(SECOND)
    assert fleet.writes == writes, "a restart finds the same"
    fleet.later(25 * HOUR)
    assert fleet.state("AN401") == "resolved"


def test_a_producer_and_a_consumer_of_one_name_are_no_change(fleet: Fleet) -> None:
    for _ in range(2):
        fleet.client(1, SETTINGS)
        fleet.later(SECOND)
        fleet.client(2, {"group.id": "g", "max.poll.records": "5"})
        fleet.later()
    assert not fleet.findings("AN401")


def test_secrets_are_compared_by_their_digests_and_not_shown(fleet: Fleet) -> None:
    for instance, secret in ((1, "hunter2-canary"), (2, "hunter3-canary")):
        fleet.client(instance, SETTINGS | {"sasl.password": secret})
        fleet.later()
    (line,) = fleet.one("AN401").evidence
    assert line.startswith("sasl.password: a secret with digest ")
    assert not any(b"canary" in text for text in every(fleet.published.values()))


@pytest.mark.parametrize(("others", "is_fleet"), [(17, True), (16, False)])
def test_an_application_that_is_alone_with_a_value_or_with_an_old_release(fleet: Fleet, others: int, is_fleet: bool) -> None:
    apps(fleet, others)  # few applications are no fleet
    fleet.client(1, SETTINGS | {"acks": "0", "linger.ms": "9999", "batch.size": "2", "client.dns.lookup": "x"}, "odd")
    two = SETTINGS | {"batch.size": "1"}
    fleet.client(2, two, "old", software_version="2.1.0", address="10.0.0.2")
    fleet.client(3, two | {"linger.ms": "1"}, "new", software_version="9.0.0", address="10.0.0.3")
    fleet.later(10 * SECOND)
    found = [each for each in fleet.findings() if each.code in ("AN402", "AN403")]
    acks, linger = "acks: 0 here alone, all in 19 of 20 applications", "linger.ms: {} here alone, 5 in 18 of 20 applications"
    assert (
        sorted((each.code, each.application.client_id, each.client_count, each.evidence) for each in found)
        == [
            ("AN402", "new", 1, (linger.format(1),)),
            ("AN402", "odd", 1, (acks, linger.format(9999))),
            ("AN403", "old", 1, ("apache-kafka-java 2.1.0: 1 of 20 applications have this release or an older one",)),
        ][: 3 * is_fleet]
    )


def closes(fleet: Fleet, addresses: Iterable[str], every_ms: int = SECOND, reads: int = 1, **fields: Any) -> None:
    """Connections of one application from these addresses are closed, one after the other; the records are read so often."""
    closed = {"kind": Kind.CLOSED, "principal": "User:a", "client_id": "batch-1", **fields}
    records = [
        (fleet.now + number * every_ms, connection_record(number, connection=1_000 + number, address=address, **closed))
        for number, address in enumerate(addresses)
    ]
    for _ in range(reads):
        fleet.engine.apply(connected(records))
    fleet.now += len(records) * every_ms
    fleet.later(SECOND)


def test_a_client_that_reconnects_in_a_storm_and_ends_it(fleet: Fleet) -> None:
    closes(fleet, ["10.0.0.1"] * 150, software_name="librdkafka", software_version="2.6.1")
    found = fleet.one("AN404")
    assert (found.application.client_id, found.state, found.severity) == ("batch", "open", "medium")
    assert found.evidence == (STORM, "broker 1", "address 10.0.0.1", "software librdkafka 2.6.1")
    fleet.later(10 * MINUTE)
    assert fleet.state("AN404") == "resolved"


@pytest.mark.parametrize("minutes", [(0, 5), (5, 0)])
def test_closings_five_minutes_apart_are_no_storm_in_either_order(fleet: Fleet, minutes: tuple[int, int]) -> None:
    for minute in minutes:
        fleet.now = NOW + minute * MINUTE
        closes(fleet, ["10.0.0.1"] * 60, every_ms=0, gateway=f"gw-{minute}")
    assert not fleet.findings("AN404")


@pytest.mark.parametrize(
    ("closings", "reads", "is_storm"), [(60, 1, False), (60, 2, False), (99, 3, False), (100, 1, True), (100, 2, True)]
)
def test_counts_repeated_record_once(fleet: Fleet, closings: int, reads: int, is_storm: bool) -> None:
    closes(fleet, ["10.0.0.1"] * closings, reads=reads)
    assert [found.evidence[0] for found in fleet.findings("AN404")] == [STORM] * is_storm


@pytest.mark.parametrize(("principal", "is_storm"), [("User:a", False), ("User:b", True)])
def test_who_has_a_tenth_as_many_connections_open_makes_no_storm(fleet: Fleet, principal: str, is_storm: bool) -> None:
    for number in range(17):
        fleet.connect("batch-1", principal, f"10.0.0.{number}")
    closes(fleet, ["10.0.0.1"] * 150)
    assert bool(fleet.findings("AN404")) is is_storm, "of another principal they are another application's"


def test_a_storm_of_many_is_worse_and_names_where_most_of_it_is(fleet: Fleet) -> None:
    closes(fleet, (f"10.0.0.{number % 100 if number % 10 == 0 else 0}" for number in range(1_200)), every_ms=100)
    found = fleet.one("AN404")
    assert found.severity == "high"
    assert found.evidence[0] == "more than 999 connections closed within five minutes"
    assert found.evidence[1] == "broker 1"
    assert found.evidence[2].startswith("address 10.0.0.0, ")
    assert found.evidence[2].endswith(" and 5 more")


def test_a_profile_switches_them_off_and_sets_their_limits() -> None:
    profile = Profile("p", off=frozenset({"AN401"}), limits={"AN310": {"minutes": 1.0}})
    fleet = Fleet(thresholds=Thresholds((profile,)))
    for instance in (1, 2):
        fleet.client(instance, SETTINGS | {"linger.ms": str(instance)}, f"orders-{instance}", address=f"10.0.0.{instance}")
        fleet.later()
    fleet.later(10 * SECOND)
    assert not fleet.findings("AN401")
    assert fleet.state("AN310") == "open"


def test_a_lost_gateway_is_reported_until_it_is_heard_again(fleet: Fleet) -> None:
    fleet.heartbeat()
    fleet.later(2 * MINUTE)
    subject = gateway_subject("c", 1, "g")
    fleet.conditions.report(lost_gateway("c", 1, "g", "edge-3", fleet.now))
    fleet.later(SECOND)
    found = fleet.one("OP001")
    assert (found.state, found.kind, found.subject) == ("open", "operation", subject)
    assert found.message.startswith('Gateway "g" of broker 1 in cluster c, on host "edge-3", sends no heartbeats any more: ')
    fleet.restart(SECOND)
    assert fleet.state("OP001") == "open", "its old heartbeats, read once more, are no news"
    assert fleet.one("OP001").subject == subject
    fleet.heartbeat()
    fleet.later(SECOND)
    assert fleet.state("OP001") == "resolved"


def test_alerts_that_were_given_up_are_reported_until_one_is_delivered(fleet: Fleet) -> None:
    fleet.conditions.report(given_up_alerts("tickets", 3, "HTTP 410", fleet.now))
    fleet.later(SECOND)
    found = fleet.one("OP007")
    assert (found.state, found.kind, found.subject, found.severity) == ("open", "operation", 'receiver "tickets"', "high")
    assert found.message.startswith('Receiver "tickets" did not get 3 alert(s), which were given up (HTTP 410): ')
    assert found.is_firing
    fleet.conditions.report(given_up_alerts("tickets", 0, "", fleet.now))
    fleet.later(SECOND)
    assert fleet.state("OP007") == "resolved"


@pytest.mark.parametrize(
    ("code", "gateway", "beat_ms", "opens"),
    [
        ("OP001", "g", None, True),
        ("OP001", "g", -1, True),
        ("OP001", "g", 0, True),
        ("OP001", "g", 1, False),
        ("OP001", "h", 1, True),
        ("OP005", "g", 1, True),
    ],
    ids=["never heard", "heard before", "heard just then", "heard since", "another was heard since", "of another kind"],
)
def test_does_not_report_gateway_heard_since_as_lost(fleet: Fleet, code: str, gateway: str, beat_ms: int | None, opens: bool) -> None:
    """The loss is found by one query and the heartbeat read by another one, in either order."""
    lost_ms = fleet.now + MINUTE
    if beat_ms is not None:
        fleet.now = lost_ms + beat_ms
        fleet.heartbeat()
    fleet.conditions.report(Condition(code, gateway_subject("c", 1, gateway), True, "high", "no heartbeats", lost_ms))
    fleet.now = lost_ms + SECOND
    fleet.write()
    assert [found.state for found in fleet.findings(code)] == ["open"] * opens


@pytest.mark.parametrize(
    ("severities", "alert", "opened"),
    [
        (["medium"], (1, "new", 0), 0),
        (["medium", "medium"], (1, "new", 0), 0),
        (["medium", "high"], (2, "worse", 1), 0),
        (["medium", "high", "high"], (2, "worse", 1), 0),
        (["medium", "high", "medium"], (2, "worse", 1), 0),
        (["low", "medium", "high"], (3, "worse", 2), 0),
        (["high", "medium"], (1, "new", 0), 0),
        (["medium", None, "medium"], (2, "reopened", 2), 2),
        (["medium", None, "medium", "high"], (3, "worse", 3), 2),
    ],
)
def test_alert_has_the_time_at_which_it_got_worse(
    fleet: Fleet, severities: list[Severity | None], alert: tuple[int, str, int], opened: int
) -> None:
    """Each severity is a minute's, and None that all was well; a time is the number of its minute."""
    began_ms = fleet.now
    for minute, severity in enumerate(severities):
        fleet.now = began_ms + minute * MINUTE
        fleet.conditions.report(Condition("OP004", "table", severity is not None, severity or "high", "full", fleet.now))
        fleet.later(SECOND)
    found = fleet.one("OP004")
    assert found.alert is not None
    assert (found.alert.number, found.alert.why, found.alert.at_ms - began_ms) == (*alert[:2], alert[2] * MINUTE)
    assert found.opened_ms - began_ms == opened * MINUTE


@pytest.mark.parametrize(
    ("silent_ms", "says_goodbye", "clients"),
    [(23 * HOUR, False, 1), (25 * HOUR, False, 0), (MINUTE, True, 0)],
    ids=["lost, and perhaps only cut off", "silent for a day", "stopped"],
)
def test_clients_of_a_gateway_that_is_gone_have_left(fleet: Fleet, silent_ms: int, says_goodbye: bool, clients: int) -> None:
    fleet.client(settings={"acks": "0"})
    fleet.later()
    fleet.heartbeat(interval_ms=0 if says_goodbye else 5_000)
    fleet.now += silent_ms
    fleet.write()
    fleet.write()
    assert fleet.one("AN101").client_count == clients
