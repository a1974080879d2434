"""Effect of one client on the findings of another: none (F41, F44, F46)."""

from __future__ import annotations

from typing import Any

from fleets import MINUTE, SECOND, Fleet

from clientscope.records.principals import ANONYMOUS

LEAK, CLEAN = {"acks": "all", "sasl.password": "hunter2-canary"}, {"acks": "all"}
WRONG = {"acks": "0"}


def states(fleet: Fleet) -> set[tuple[str, str | None, str, int]]:
    return {(each.code, each.application.principal, each.state, each.client_count) for each in fleet.findings()}


def victim(fleet: Fleet, settings: dict[str, str], **fields: Any) -> int:
    """A client that keeps running, with its findings written."""
    connection = fleet.client(1, settings, **fields)
    fleet.later()
    return connection


def test_f41_a_clean_push_under_anothers_instance_id_neither_resolves_nor_replaces() -> None:
    for settings, code in ((LEAK, "SK001"), (WRONG, "AN101")):
        fleet = Fleet()
        victim(fleet, settings, principal="User:a")
        before = [each for each in states(fleet) if each[0] == code]
        assert before == [(code, "User:a", "open", 1)]
        thief = fleet.connect("orders-1", principal="User:b")
        fleet.push("orders-1", thief, instance=1, settings=CLEAN, principal="User:b")
        fleet.later(20 * MINUTE)
        assert [each for each in states(fleet) if each[0] == code] == before
        assert len({each.client for each in fleet.results()}) == 2
        fleet.restart(SECOND)
        assert [each for each in states(fleet) if each[0] == code] == before, "nor after a restart"


def test_f41_an_anonymous_client_replaces_nobody_from_another_address() -> None:
    for principal in ("User:a", None):
        fleet = Fleet()
        fleet.push("orders-1", fleet.connect("orders-1", principal), instance=1, settings=LEAK, principal=principal)
        fleet.later()
        thief = fleet.connect("orders-1", None, address="10.6.6.6")
        fleet.push("orders-1", thief, instance=1, settings=CLEAN, principal=None, client_address="10.6.6.6")
        fleet.later(20 * MINUTE)
        found = fleet.one("SK001")
        assert (found.state, found.client_count, found.clients[0].address) == ("open", 1, "10.0.0.1")


def test_who_does_not_authenticate_is_kafkas_anonymous_in_what_is_found(fleet: Fleet) -> None:
    connection = fleet.connect("orders-1", ANONYMOUS)
    fleet.push("orders-1", connection, instance=1, settings=LEAK, principal=ANONYMOUS)
    fleet.later()
    found = fleet.one("SK001")
    assert (found.application.principal, found.clients[0].principal) == (ANONYMOUS, ANONYMOUS)
    assert found.message.startswith("orders (sasl.password"), "which says nothing about whose it is"
