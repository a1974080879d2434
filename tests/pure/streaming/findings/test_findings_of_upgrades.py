"""AN309: applications that stop working at a later release of brokers, by the records of their connections."""

from __future__ import annotations

import pytest
from fleets import HOUR, MINUTE, SECOND, Fleet

from clientscope.model.enums import Kind
from clientscope.profiles import Profile, Thresholds
from clientscope.profiles.client_patterns import ClientPattern
from clientscope.profiles.thresholds import ProfileChoice
from streaming.findings import upgrades

OLD = ((3, 0), (0, 2), (1, 3))
NEW = ((18, 3), (3, 9), (0, 9), (1, 12))


def uses(fleet: Fleet, connection: int, *versions: tuple[int, int], kind: Kind = Kind.PRESENT, **software: str) -> None:
    """A connection's record with the versions that its client requested."""
    fleet._happens(connection, kind, 1, **fleet.identities[connection], **software, requested_versions=tuple(versions))


def test_an_application_that_breaks_is_a_finding_until_it_is_upgraded(fleet: Fleet) -> None:
    first = fleet.client(1)
    uses(fleet, first, *OLD)
    uses(fleet, fleet.client(2, client="orders-2", address="10.0.0.2"), *NEW)
    fleet.later(10 * SECOND)
    found = fleet.one("AN309")
    assert (found.state, found.severity, found.application.client_id) == ("open", "medium", "orders")
    assert found.evidence == ("unknown software: Produce 2, Fetch 3, removed in 4.0.0; 1 client",)
    assert "requests Produce 2, Fetch 3, which brokers of 4.0" in found.message
    writes = fleet.writes
    fleet.restart()
    assert fleet.one("AN309") == found and fleet.writes == writes
    uses(fleet, first, *OLD, kind=Kind.CLOSED)
    uses(fleet, fleet.client(3), *NEW)
    fleet.later(6 * HOUR)
    assert fleet.state("AN309") == "open", "a later record may still have such a version"
    fleet.later(HOUR + MINUTE)
    assert fleet.state("AN309") == "resolved"


def test_news_are_judged_at_the_next_comparison(fleet: Fleet) -> None:
    connection = fleet.connect()
    uses(fleet, connection, *NEW)
    fleet.later(10 * SECOND)
    assert not fleet.findings("AN309")
    uses(fleet, connection, (2, 0))
    fleet.later(10 * SECOND)
    assert fleet.one("AN309").evidence == ("unknown software: ListOffsets 0, removed in 4.0.0; 1 client",)


def test_of_many_clients_news_are_judged_once_a_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    """To judge 20,000 with each news would hold up all other findings."""
    monkeypatch.setattr(upgrades, "FEW_CLIENTS", 1)
    fleet = Fleet()
    for number in range(2):
        uses(fleet, fleet.connect(f"orders-{number}"), *NEW)
    fleet.later(10 * SECOND)
    uses(fleet, fleet.connect("late-1"), (2, 0))
    fleet.later(20 * SECOND)
    assert not fleet.findings("AN309")
    fleet.later()
    assert fleet.one("AN309").application.client_id == "late"


@pytest.mark.parametrize("versions", [NEW, ((18, 3), (3, 9)), ((18, 9), (3, 9), (0, 9)), ()])
def test_who_works_or_can_not_be_judged_is_no_finding(fleet: Fleet, versions: tuple[tuple[int, int], ...]) -> None:
    uses(fleet, fleet.connect(), *versions)
    fleet.later(10 * SECOND)
    assert not fleet.findings("AN309")


@pytest.mark.parametrize(
    ("profile", "fires"),
    [
        (Profile("later", limits={"AN309": {"target_minor": 4}}), True),
        (Profile("earlier", limits={"AN309": {"target_major": 3, "target_minor": 9}}), False),
        (Profile("nonsense", limits={"AN309": {"target_major": 99}}), False),
        (Profile("without", off=frozenset({"AN309"})), False),
    ],
)
def test_the_target_is_the_profiles(profile: Profile, fires: bool) -> None:
    choose = ProfileChoice(((ClientPattern(principal=("User:a",)), 1),))
    fleet = Fleet(thresholds=Thresholds((Profile("apache"), profile), choose))
    uses(fleet, fleet.connect(), *OLD)
    uses(fleet, fleet.connect("others-1", principal="User:b"), *OLD)
    fleet.later(10 * SECOND)
    names = {each.application.client_id for each in fleet.findings("AN309")}
    assert names == ({"orders", "others"} if fires else {"others"})


def test_one_application_has_one_finding_with_a_line_for_each_kind_of_client(fleet: Fleet) -> None:
    for number in range(30):
        software = {"software_name": "made", "software_version": str(number)} if number >= 3 else {}
        uses(fleet, fleet.connect(f"orders-{number}", address=f"10.0.0.{number}"), *OLD, **software)
    fleet.later(10 * SECOND)
    found = fleet.one("AN309")
    assert found.evidence[0].endswith("; 3 clients") and found.evidence[-1] == "and 18 more kinds of clients"
