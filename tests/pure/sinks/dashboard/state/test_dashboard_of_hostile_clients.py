"""Effect of one client on what the page shows of others: none (F41, F44)."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from page_state import INSTANCE, NOW_MS, found, live, opened, pushed, result
from record_bytes import setting

from clientscope.records.client_key import client_key
from clientscope.records.layouts import Kind
from sinks.dashboard.state.configs import pushes
from sinks.dashboard.state.findings import FindingChoice
from sinks.dashboard.state.record import TopicRecord
from sinks.dashboard.state.state import State

MALLORY, VICTIM = "User:mallory", "User:victim"
CHOICE = (FindingChoice(), 0, 100)


def key(principal: str | None, address: str = "10.0.0.1") -> str:
    return client_key("c", principal, address, INSTANCE, "gw", 1, 1)


def running(principal: str, number: int, offset: int, **fields: Any) -> list[TopicRecord]:
    """A client under the one instance id that all of them send."""
    return [
        opened(number, kind=Kind.IDENTIFIED, principal=principal, client_instance_id=INSTANCE, **fields),
        pushed(offset, setting("acks", str(offset)), key=key(principal), principal=principal, client_instance_id=INSTANCE),
    ]


def place_of(state: State, principal: str) -> tuple[int, int] | None:
    (client,) = [each for each in state.clients(10).items if each.principal == principal]
    seen = state.one_client(client.key)
    assert seen is not None
    return (seen.push.partition, seen.push.offset) if seen.push else None


def test_f41_two_principals_with_one_instance_id_have_a_page_each_and_each_its_own_configuration() -> None:
    state = live(*running(VICTIM, 1, 1), *running(MALLORY, 2, 2, at_ms=NOW_MS - 30_000))
    assert (place_of(state, VICTIM), place_of(state, MALLORY)) == ((0, 1), (0, 2))


def test_two_instances_of_one_name_at_one_address_have_a_configuration_each() -> None:
    other = UUID(int=7)
    theirs = client_key("c", VICTIM, "10.0.0.1", other, "gw", 1, 1)
    state = live(
        *running(VICTIM, 1, 1),
        opened(2, kind=Kind.IDENTIFIED, principal=VICTIM, client_instance_id=other),
        pushed(2, key=theirs, principal=VICTIM, client_instance_id=other, at_ms=NOW_MS - 30_000),
    )
    seen = {client.instance_id: state.one_client(client.key) for client in state.clients(10).items}
    assert {instance: one and one.push and one.push.offset for instance, one in seen.items()} == {str(INSTANCE): 1, str(other): 2}


def test_f41_a_clean_result_of_another_principal_does_not_make_a_client_judged() -> None:
    state = live(*running(VICTIM, 1, 1), *running(MALLORY, 2, 2), result(2, instance_id=str(INSTANCE), principal=MALLORY))
    assert {each.principal: each.findings is not None for each in state.clients(10).items} == {VICTIM: False, MALLORY: True}


def test_a_pushs_key_is_the_one_of_its_result() -> None:
    (push,) = pushes([pushed(1, key=key(VICTIM), principal=VICTIM, client_instance_id=INSTANCE)])
    assert getattr(push, "key", None) == key(VICTIM)


def test_f44_invented_findings_displace_no_finding_of_another() -> None:
    state = State(finding_limit=50)
    state.apply(found(number, severity="low", application={"client_id": "orders", "principal": VICTIM}) for number in range(5))
    state.apply(
        found(100 + number, severity="critical", kind="leak", application={"client_id": f"{number}", "principal": MALLORY})
        for number in range(500)
    )
    state.live()
    principals = [finding.application.principal for finding in state.findings(*CHOICE).items]
    assert principals.count(VICTIM) == 5 and 40 <= principals.count(MALLORY) <= 55
    assert state.counts().dropped["findings"] > 400


def test_f44_invented_clients_displace_no_push_and_no_connection_of_another() -> None:
    state = State(connection_limit=40, push_limit=40)
    for number in range(8):
        state.apply([opened(number, kind=Kind.IDENTIFIED, principal=VICTIM, client_id=f"orders-{number}")])
        state.apply([pushed(number, key=f"gw/1/{number}", principal=VICTIM, client_id=f"orders-{number}", at_ms=NOW_MS - 99_000)])
    for number in range(100, 400):
        state.apply([opened(number, kind=Kind.IDENTIFIED, principal=MALLORY, client_id=f"{number}")])
        state.apply([pushed(number, key=f"gw/1/{number}", principal=MALLORY, client_id=f"{number}")])
    for number in range(8, 12):
        state.apply([opened(1_000 + number, kind=Kind.IDENTIFIED, principal=VICTIM, client_id=f"orders-{number}")])
    state.live()
    principals = [client.principal for client in state.clients(100).items]
    assert principals.count(VICTIM) == 12 and len(principals) <= 40
    counted = dict(state.database.rows("SELECT principal, count(*) FROM pushes GROUP BY 1"))
    assert counted[VICTIM] == 8 and sum(counted.values()) <= 42
    assert min(state.counts().dropped[table] for table in ("pushes", "connections")) > 200


def test_f44_an_anonymous_hosts_pushes_displace_only_its_own() -> None:
    state = State(push_limit=40)
    state.apply([pushed(1, key="gw/1/1", client_address="10.0.0.1", client_id="orders", at_ms=NOW_MS - 99_000)])
    state.apply([pushed(2, key="gw/1/2", client_address="2001:db8:0:1::1", client_id="six", at_ms=NOW_MS - 99_000)])
    for number in range(100, 400):
        state.apply([pushed(number, key=f"gw/1/{number}", client_address=f"2001:db8:0:2::{number:x}", client_id=f"{number}")])
    there = {row[0] for row in state.database.rows("SELECT client_id FROM pushes")}
    assert {"orders", "six"} <= there and len(there) <= 42
