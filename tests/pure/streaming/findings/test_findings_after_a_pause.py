"""What a restart finds of clients that have left: what was known, and no old alerts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from typing import Any

import pytest
from fleets import BAD, GOOD, HOUR, LEAK, MINUTE, SECOND, Fleet

from clientscope.model.enums import Origin
from clientscope.profiles.client_patterns import ClientPattern
from clientscope.profiles.suppressions import Suppression
from streaming.findings.entry import Policy


def alerts(fleet: Fleet) -> list[tuple[str, str, int]]:
    """Code, reason and number of each alert."""
    return sorted((each.code, each.alert.why, each.alert.number) for each in fleet.findings() if each.alert)


def wrong(fleet: Fleet) -> list[Any]:
    """All findings but that requests show other values than the client says (AN405)."""
    return [each for each in fleet.findings() if each.code != "AN405"]


def read_again(fleet: Fleet, order: Sequence[int]) -> None:
    """The job starts, and reads what was pushed, each in a partition of its own, in this order."""
    results = [replace(each, partition=partition) for partition, each in enumerate(fleet.results())]
    fleet.pushes = []
    fleet.start()
    for place in order:
        fleet.engine.apply([results[place]])
    fleet.later()


@pytest.mark.parametrize("later_ms", [0, 7 * MINUTE, 2 * HOUR])
@pytest.mark.parametrize("order", [(0, 1), (1, 0)], ids=["its push is read first", "its requests are read first"])
def test_finds_nothing_in_requests_of_a_client_that_had_declared_and_left(fleet: Fleet, order: Sequence[int], later_ms: int) -> None:
    connection = fleet.client(1, GOOD)
    fleet.later(SECOND)
    fleet.seen(BAD, connection)
    fleet.later()
    fleet.close(connection)
    fleet.later()
    fleet.now += later_ms
    read_again(fleet, order)
    assert wrong(fleet) == []


def test_late_record_of_requests_finds_nothing_of_a_client_that_had_declared_and_left(fleet: Fleet) -> None:
    connection = fleet.client(1, GOOD)
    fleet.later(SECOND)
    fleet.close(connection)
    fleet.later()
    fleet.seen(BAD, connection)
    fleet.later()
    assert wrong(fleet) == []


@pytest.mark.parametrize(("declared", "seen", "state"), [(GOOD, BAD, "resolved"), (BAD, GOOD, "open")])
def test_restart_leaves_what_a_push_says_though_requests_say_otherwise(
    fleet: Fleet, declared: dict[str, str], seen: dict[str, str], state: str
) -> None:
    connection = fleet.connect()
    fleet.seen(seen, connection)
    fleet.later(SECOND)
    fleet.push(connection=connection, instance=1, settings=declared)
    fleet.later(SECOND)
    fleet.seen(seen, connection)
    fleet.later()
    before = fleet.one("AN101")
    assert before.state == state
    fleet.close(connection)
    fleet.later(7 * MINUTE)
    fleet.restart()
    after = fleet.one("AN101")
    assert (after.state, after.reopened, after.alert, after.client_count) == (state, 0, before.alert, 0)


def came_and_went_meanwhile(settings: dict[str, str], **fields: Any) -> Fleet:
    """The job has been down while a client came, pushed and left."""
    fleet = Fleet()
    fleet.close(fleet.client(1, settings, **fields))
    fleet.now += 7 * MINUTE
    fleet.restart()
    return fleet


def test_finding_of_a_client_that_left_meanwhile_is_listed_without_alert_until_another_has_it() -> None:
    fleet = came_and_went_meanwhile(BAD)
    assert (fleet.state("AN101"), alerts(fleet)) == ("open", [])
    fleet.later(HOUR)
    fleet.restart()
    assert alerts(fleet) == []
    fleet.client(2, BAD, "orders-2")
    fleet.later(SECOND)
    assert alerts(fleet) == [("AN101", "new", 1)]


@pytest.mark.parametrize(
    ("connects", "origin"),
    [(True, Origin.PUSHED), (False, Origin.PUSHED), (False, Origin.REQUEST_LOG)],
    ids=["it is still there", "nobody recorded its connections", "of a request log"],
)
def test_finding_of_a_client_that_is_not_known_to_have_left_alerts_at_a_start(fleet: Fleet, connects: bool, origin: Origin) -> None:
    fleet.push(connection=fleet.connect() if connects else 99, instance=1, settings=BAD, origin=origin)
    fleet.now += 7 * MINUTE
    fleet.restart()
    assert alerts(fleet) == [("AN101", "new", 1)]


@pytest.mark.parametrize("leaves_before_the_start", [False, True])
def test_decision_that_is_taken_back_alerts_unless_its_client_left_before_the_start(fleet: Fleet, leaves_before_the_start: bool) -> None:
    connection = fleet.client(1, BAD)
    fleet.later()
    if leaves_before_the_start:
        fleet.close(connection)
    fleet.restart()
    if not leaves_before_the_start:
        fleet.close(connection)
    fingerprint = fleet.one("AN101").fingerprint
    fleet.decide(fingerprint, "rotated")
    fleet.later()
    assert fleet.state("AN101") == "closed"
    fleet.decide(fingerprint, None)
    fleet.later()
    assert fleet.state("AN101") == "open"
    assert alerts(fleet) == [("AN101", "new", 1) if leaves_before_the_start else ("AN101", "reopened", 2)]


def test_secret_that_leaked_meanwhile_alerts_though_its_client_has_left() -> None:
    assert alerts(came_and_went_meanwhile(LEAK)) == [("SK001", "new", 1)]


def test_finding_that_was_back_meanwhile_alerts_once_a_client_is_there_that_has_it(fleet: Fleet) -> None:
    first = fleet.client(1, BAD)
    fleet.later(SECOND)
    fleet.push(connection=first, instance=1, settings=GOOD)
    fleet.close(first)
    fleet.later()
    fleet.later()
    assert (fleet.state("AN101"), alerts(fleet)) == ("resolved", [("AN101", "new", 1)])
    fleet.close(fleet.client(2, BAD, "orders-2"))
    fleet.now += 7 * MINUTE
    fleet.restart()
    assert (fleet.state("AN101"), fleet.one("AN101").reopened, alerts(fleet)) == ("open", 1, [("AN101", "new", 1)])
    assert fleet.one("AN401").alert is None
    fleet.restart()
    assert alerts(fleet) == [("AN101", "new", 1)]
    fleet.client(3, BAD, "orders-3")
    fleet.later(SECOND)
    fleet.later()
    assert alerts(fleet) == [("AN101", "reopened", 2), ("AN401", "new", 1)]


@pytest.mark.parametrize(("origin", "observed"), [(Origin.PUSHED, False), (Origin.OBSERVED, True), (Origin.REQUEST_LOG, True)])
def test_client_that_pushed_nothing_is_said_to_be_seen(fleet: Fleet, origin: Origin, observed: bool) -> None:
    fleet.client(1, BAD, origin=origin)
    fleet.later(SECOND)
    assert [client.observed for client in fleet.one("AN101").clients] == [observed]


@pytest.mark.parametrize("declares", [True, False])
def test_finds_what_was_seen_of_clients_that_left_long_before_a_start(fleet: Fleet, declares: bool) -> None:
    """Though a later record comes first; of what they say otherwise nothing is found."""
    connection = fleet.connect()
    if declares:
        fleet.push(connection=connection, instance=1, settings=GOOD)
    fleet.seen(BAD, connection)
    fleet.close(connection)
    fleet.now += 2 * HOUR
    fleet.push("billing-1", instance=2, settings=GOOD)
    read_again(fleet, (2, 0, 1) if declares else (1, 0))
    assert [(each.code, each.state, each.client_count, each.alert) for each in wrong(fleet)] == [("AN101", "open", 0, None)] * (
        not declares
    )


@pytest.mark.parametrize("restarts", [False, True])
def test_end_of_a_suppression_alerts_though_its_client_has_left(restarts: bool) -> None:
    fleet = Fleet(Policy(suppressions=(Suppression("AN101", ClientPattern(), "legacy", date(2027, 1, 15), "rules.toml:3"),)))
    connection = fleet.client(1, BAD)
    fleet.later(SECOND)
    fleet.close(connection)
    fleet.later()
    if restarts:
        fleet.restart()
    assert alerts(fleet) == []
    fleet.later(48 * HOUR)
    assert alerts(fleet) == [("AN101", "new", 1)]


def test_finding_stays_open_though_the_newest_push_that_had_it_was_replaced_by_one_that_can_not_be_judged(fleet: Fleet) -> None:
    for instance, settings in ((1, BAD), (2, GOOD), (3, BAD), (3, {"linger.ms": "5"})):
        fleet.close(fleet.client(instance, settings))
        fleet.later()
    before = fleet.one("AN101")
    fleet.restart()
    after = fleet.one("AN101")
    assert (before.state, before.reopened) == (after.state, after.reopened) == ("open", 1)
