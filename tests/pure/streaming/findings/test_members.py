"""AN216: two connected clients of a group with one group.instance.id, and what looks like it."""

from __future__ import annotations

from typing import Any

from fleets import MINUTE, SECOND, Fleet

from clientscope.model.enums import Origin

SEEN = {"origin": Origin.OBSERVED}


def settings(member: str, group: str = "g") -> dict[str, str]:
    return {"group.id": group, "group.instance.id": member, "session.timeout.ms": "45000"}


def evidence(fleet: Fleet) -> list[str]:
    return [sentence for each in fleet.findings("AN216") for sentence in each.evidence if each.state == "open"]


def joined(fleet: Fleet, instance: int, **changes: Any) -> int:
    made = {"address": f"10.0.0.{instance}", "settings": settings("m"), **SEEN, **changes}
    return fleet.client(instance, **made)


def test_two_that_stay_are_a_finding_and_one_that_leaves_ends_it(fleet: Fleet) -> None:
    joined(fleet, 4, settings={"group.id": "another", "session.timeout.ms": "45000"})
    joined(fleet, 1)
    joined(fleet, 3, settings=settings("alone"))
    other = joined(fleet, 2)
    fleet.later()
    assert evidence(fleet) == [], "one may be about to take the other's place"
    fleet.later(2 * MINUTE)
    assert evidence(fleet) == ["group.instance.id m: orders-1 at 10.0.0.1, orders-1 at 10.0.0.2"]
    assert fleet.one("AN216").severity == "medium"
    fleet.close(other)
    fleet.later()
    fleet.later(SECOND)
    assert evidence(fleet) == []


def test_one_client_that_several_gateways_see_is_one(fleet: Fleet) -> None:
    joined(fleet, 1)
    joined(fleet, 2, address="10.0.0.1")
    fleet.later(3 * MINUTE)
    assert evidence(fleet) == []


def test_other_groups_other_names_and_dynamic_members_are_none(fleet: Fleet) -> None:
    joined(fleet, 1)
    joined(fleet, 2, settings=settings("m", "another"))
    joined(fleet, 3, settings=settings("n"))
    joined(fleet, 4, settings={"group.id": "g", "session.timeout.ms": "45000"})
    joined(fleet, 5, principal="User:b")
    fleet.later(3 * MINUTE)
    assert evidence(fleet) == []


def test_five_members_are_named(fleet: Fleet) -> None:
    for number in range(1, 8):
        joined(fleet, number, client="")
    fleet.later(3 * MINUTE)
    named = ", ".join(f"no client.id at 10.0.0.{number}" for number in range(1, 6))
    assert evidence(fleet) == [f"group.instance.id m: {named} and 2 more"]
