"""Clients that left before or after a check: a leak is reported with its severity, and its clients stay named (F46)."""

from __future__ import annotations

import pytest
from fleets import BAD, GOOD, HOUR, LEAK, MINUTE, SECOND, Fleet, alerted

from clientscope.model.enums import Origin
from clientscope.model.finding import MOST_CLIENTS, Finding


def restarted(fleet: Fleet) -> Fleet:
    fleet.start()
    fleet.write()
    return fleet


def test_f46_a_leak_missing_from_the_next_push_is_reported_with_its_severity(fleet: Fleet) -> None:
    fleet.close(fleet.client(1, GOOD))
    fleet.now += SECOND
    connection = fleet.client(1, LEAK)
    fleet.now += 10
    fleet.push(connection=connection, instance=1, settings=GOOD)
    fleet.write()
    leak = fleet.one("SK001")
    assert (leak.state, leak.severity) == ("stopped", "critical")
    assert alerted(leak) == (1, "new")
    assert leak.opened_ms == leak.first_seen_ms and leak.ended_ms == fleet.now and not leak.reopened
    assert [(client.client_id, client.address, client.disconnected_ms) for client in leak.clients] == [
        ("orders-1", "10.0.0.1", fleet.now - 10)
    ]
    fleet.later()
    assert fleet.one("SK001").alert == leak.alert and fleet.one("SK001").severity == "critical", "once"
    assert restarted(fleet).one("SK001").alert == leak.alert


def test_f46_a_leak_that_returns_as_briefly_is_reported_again(fleet: Fleet) -> None:
    for _ in range(3):
        fleet.now += SECOND
        connection = fleet.client(1, LEAK)
        fleet.now += 10
        fleet.push(connection=connection, instance=1, settings=GOOD)
        fleet.later()
    leak = fleet.one("SK001")
    assert leak.state == "stopped" and leak.reopened == 2 and leak.opened_ms == leak.last_seen_ms
    assert alerted(leak) == (3, "reopened")


def test_f46_a_severity_that_is_worse_for_an_instant_is_reported(fleet: Fleet) -> None:
    fleet.client(1, {"batch.size": "4096"})
    fleet.write()
    connection = fleet.client(2, {"batch.size": "1"}, "orders-2")
    fleet.push("orders-2", connection, 2, settings=GOOD)
    for severity in ("high", "medium"):
        fleet.later()
        found = fleet.one("AN110")
        assert (found.severity, alerted(found)) == (severity, (2, "worse"))


def test_who_had_it_stays_named_with_the_time_at_which_they_left(fleet: Fleet) -> None:
    first, second = fleet.client(1, BAD), fleet.client(2, BAD, "orders-2")
    fleet.write()
    assert [client.disconnected_ms for client in fleet.one("AN101").clients] == [None, None]
    fleet.later()
    left_ms = fleet.now
    fleet.close(first)
    fleet.later(2 * MINUTE)

    def named(finding: Finding) -> list[tuple[str | None, int | None]]:
        return [(client.client_id, client.disconnected_ms) for client in finding.clients]

    expected = [("orders-2", None), ("orders-1", left_ms)]
    assert named(fleet.one("AN101")) == expected and fleet.one("AN101").client_count == 1
    assert named(restarted(fleet).one("AN101")) == expected
    fleet.close(second)
    fleet.later(3 * HOUR)
    assert [client_id for client_id, _ in named(fleet.one("AN101"))] == ["orders-2", "orders-1"], "when nothing else is known of them"
    assert fleet.one("AN101").clients[0].software_version and fleet.one("AN101").clients[0].principal == "User:a"


def test_a_client_counts_as_connected_for_half_a_minute_after_its_last_push_while_its_connection_is_unread(fleet: Fleet) -> None:
    for wait_ms in (20 * SECOND, 29_999):
        fleet.push(connection=7, instance=1, settings=BAD)
        fleet.now += wait_ms
    fleet.write()
    assert fleet.counted("AN101") == ("open", 1)
    fleet.later(1)
    assert fleet.engine.clients.live() == {}


@pytest.mark.parametrize("event", ["the job's clock is behind", "it was closed", "a later process has one of that number"])
def test_after_that_or_once_it_is_known_to_be_gone_it_does_not(fleet: Fleet, event: str) -> None:
    if event.startswith("a later"):
        fleet.connect("web-1", epoch=2)
    fleet.push(connection=1, instance=1, settings=BAD)
    if event == "it was closed":
        fleet.close(1)
    else:
        fleet.now += 31 * SECOND
        fleet.push("web-1", connection=8, instance=2)
    if event.startswith("the job"):
        fleet.now -= HOUR
    fleet.write()
    assert fleet.counted("AN101") == ("open", 0)


@pytest.mark.parametrize("settings", [LEAK, BAD])
def test_an_erased_client_is_named_no_more(fleet: Fleet, settings: dict[str, str]) -> None:
    fleet.client(1, settings)
    fleet.client(2, settings, "orders-2")
    fleet.write()
    (key,) = [client.key for client in fleet.findings()[0].clients if client.client_id == "orders-1"]
    fleet.now += SECOND
    fleet.erase(key)
    fleet.later(2 * MINUTE)
    assert [client.client_id for client in fleet.findings()[0].clients] == ["orders-2"]
    assert [client.client_id for client in restarted(fleet).findings()[0].clients] == ["orders-2"]


def test_f35_what_more_have_than_are_named_stays_though_all_that_are_named_are_erased(fleet: Fleet) -> None:
    for number in range(MOST_CLIENTS + 1):
        fleet.client(number, BAD, f"orders-{number}")
    fleet.write()
    fleet.now += SECOND
    for client in fleet.one("AN101").clients:
        fleet.erase(client.key)
    fleet.later()
    assert fleet.counted("AN101") == ("open", 1)


@pytest.mark.parametrize("settings", [LEAK, BAD])
@pytest.mark.parametrize("wait_ms", [0, 3 * HOUR])
def test_f35_what_only_an_erased_client_had_is_gone_with_it(fleet: Fleet, settings: dict[str, str], wait_ms: int) -> None:
    connection = fleet.client(1, settings)
    fleet.write()
    (key,) = [client.key for client in fleet.findings()[0].clients]
    fleet.close(connection)
    fleet.later()
    fleet.later(wait_ms)
    fleet.erase(key)
    fleet.later()
    assert not fleet.published
    assert not restarted(fleet).published
    fleet.client(2, settings)
    fleet.write()
    assert fleet.findings()[0].state == "open", "whoever comes again is found again"


@pytest.mark.parametrize("wait_ms", [0, 3 * HOUR])
@pytest.mark.parametrize("erased", [1, 2])
def test_f35_a_change_that_only_an_erased_client_shows_is_gone_with_it(fleet: Fleet, erased: int, wait_ms: int) -> None:
    for instance, acks in ((1, "all"), (2, "1")):
        connection = fleet.client(instance, {"acks": acks}, "orders-1")
        fleet.later(10 * SECOND)
        fleet.close(connection)
        fleet.later()
    assert fleet.one("AN401").evidence == ("acks: all before, 1 now",)
    fleet.later(wait_ms)
    fleet.erase(fleet.results()[erased - 1].client)
    fleet.later()
    assert all(each.state == "resolved" for each in fleet.findings("AN401"))
    fleet.erase(fleet.results()[2 - erased].client)
    fleet.later()
    assert not fleet.published


@pytest.mark.parametrize("another_has_it", [False, True])
def test_f35_what_an_erased_client_started_with_is_no_before_of_a_later_change(fleet: Fleet, another_has_it: bool) -> None:
    """Unless it is known of another client that has it."""
    for instance in range(1, 2 + another_has_it):
        fleet.client(instance, GOOD, f"orders-{instance}")
    fleet.erase(fleet.results()[0].client)
    fleet.later()
    fleet.client(3, {"acks": "1"}, "orders-3")
    fleet.later(10 * SECOND)
    assert [change.evidence for change in fleet.findings("AN401")] == [("acks: all before, 1 now",)] * another_has_it


def test_no_two_findings_read_the_same(fleet: Fleet) -> None:
    for number, (principal, settings) in enumerate(
        [
            ("User:a", {**LEAK, "ssl.keystore.password": "another-canary"}),
            ("User:b", {**LEAK, "sasl.password": "hunter3-canary"}),
            ("User:a", {"acks": "0", "linger.ms": "0"}),
            ("User:b", {"acks": "0", "group.id": "g"}),
            (None, BAD),
        ]
    ):
        fleet.client(number + 1, settings, f"orders-{number}", principal=principal)
    fleet.client(8, {**LEAK, "sasl.password": "rotated-canary"}, "orders-8")
    fleet.write()
    messages = [finding.message for finding in fleet.findings()]
    assert len(messages) == 8 and len(set(messages)) == len(messages)
    for finding in fleet.findings():
        assert finding.message.startswith("orders") and finding.message.endswith(finding.sentence)
        assert all(setting.key in finding.message for setting in finding.settings[:2])
    whose = {finding.message.partition(" (")[0] for finding in fleet.findings("AN101")}
    assert whose == {
        "orders, User:a",
        "orders, group g, User:b",
        "orders",
    }


XRAY = {"origin": Origin.REQUEST_LOG, "gateway": "clientscope xray", "epoch": 7, "connection": 0, "instance": 1}


def test_a_client_that_a_log_showed_counts_as_connected_for_a_moment_and_its_finding_stays_until_a_later_run_is_without_it(
    fleet: Fleet,
) -> None:
    fleet.push(**XRAY, settings=BAD)
    fleet.write()
    assert [client.disconnected_ms for client in fleet.one("AN101").clients] == [None]
    for hours in (0, 3, 30):
        fleet.later(MINUTE + hours * HOUR)
        (client,) = fleet.one("AN101").clients
        assert (fleet.state("AN101"), client.disconnected_ms is None, client.gateway) == ("open", False, "clientscope xray")
    assert restarted(fleet).state("AN101") == "open"
    for days, state in ((26, "open"), (4, "resolved")):
        fleet.later(days * 24 * HOUR)
        assert fleet.state("AN101") == state, "thirty days after the last run it is over"
    for epoch, acks, state in ((8, "0", "open"), (9, "all", "resolved")):
        fleet.push(**{**XRAY, "epoch": epoch}, settings={"acks": acks})
        fleet.later()
        assert fleet.state("AN101") == state


def test_gateway_that_restarts_takes_no_finding_back(fleet: Fleet) -> None:
    """Of an application of which a newer push is without it: only who is connected still has it."""
    fleet.client(1, BAD)
    fleet.client(2, GOOD, "orders-2", address="10.0.0.2")
    fleet.later()
    before = fleet.one("AN101")
    fleet.heartbeat(epoch=2)
    fleet.later(SECOND)
    fleet.connect(epoch=2)
    fleet.later(SECOND)
    after = fleet.one("AN101")
    assert (before.state, before.client_count, before.alert) == (after.state, after.client_count, after.alert) == ("open", 1, before.alert)
