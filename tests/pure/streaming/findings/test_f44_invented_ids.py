"""F44: invented ids of one client fill every table with a bound → nothing of another principal is dropped or left unreported; the bound
itself is a finding."""

from __future__ import annotations

from typing import Any

import fleets
import pytest
from fleets import BAD, GOOD, HOUR, LEAK, MINUTE, SECOND, Fleet, left_out
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from clientscope.fair_share import HeldEntry, too_many
from clientscope.model.finding import Finding
from streaming.findings import book as room
from streaming.findings import clients, engine, entry

WRONG = {
    "acks": "0", "linger.ms": "0", "retries": "0", "delivery.timeout.ms": "1", "request.timeout.ms": "1", "batch.size": "1",
    "max.in.flight.requests.per.connection": "100", "buffer.memory": "1000", "compression.type": "none", "max.request.size": "900000000",
    "reconnect.backoff.ms": "1", "reconnect.backoff.max.ms": "1", "metadata.max.age.ms": "1",
}  # fmt: skip
MALLORY, VICTIM = "User:mallory", "User:victim"
BOUNDS = {
    clients: ("MOST_APPLICATIONS", 40),
    entry: ("MOST_PLACES_KEPT", 20),
    engine: ("CONNECTIONS_PER_CLIENT", 2),
    room: ("MOST_FINDINGS", 60),
}


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables of some dozens, so that they are full soon."""
    make_small(monkeypatch)


def make_small(patch: pytest.MonkeyPatch) -> None:
    for module, (name, bound) in BOUNDS.items():
        patch.setattr(module, name, bound)
    patch.setattr(room, "FOR_LEAKS", 10)
    patch.setattr(fleets, "MOST_CLIENTS", 30)


def of(fleet: Fleet, principal: str | None, code: str = "") -> list[Finding]:
    return [each for each in fleet.findings(code) if each.application.principal == principal]


def invent(fleet: Fleet, count: int, *, principal: str | None = MALLORY, first: int = 0, **changes: Any) -> None:
    """So many pushes of one client, each under an id, and as an application, of its own; each has ten things wrong.

    Braces in settings' values stand for the number.
    """
    settings = changes.pop("settings", WRONG)
    same = {"address": "10.6.6.6", "principal": principal, **changes}
    fleet.push_all(
        {
            "client": f"app{each}x", "connection": 1_000_000 + each, "instance": 1_000_000 + each,
            "settings": {key: value.format(each) for key, value in settings.items()}, **same,
        }
        for each in range(first, first + count)
    )  # fmt: skip


def test_f44_a_leak_of_another_principal_is_reported_after_pushes_under_invented_ids(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "MOST_FINDINGS", 1_000)
    monkeypatch.setattr(room, "FOR_LEAKS", 200)
    leak_after(250)


@pytest.mark.long
def test_f44_a_leak_of_another_principal_is_reported_after_12500_pushes_under_invented_ids() -> None:
    """With the bounds as they are."""
    leak_after(12_500)


def leak_after(invented: int) -> None:
    fleet = Fleet()
    fleet.client(1, BAD, "orders-1", principal=VICTIM)
    fleet.write()
    invent(fleet, invented)
    fleet.client(2, LEAK, "billing-1", principal=VICTIM)
    fleet.write()
    assert len(fleet.published) <= room.MOST_FINDINGS + 10, "clientscope's own come on top"
    (leak,) = of(fleet, VICTIM, "SK001")
    assert (leak.state, leak.severity, leak.alert and leak.alert.why) == ("open", "critical", "new")
    assert [each.state for each in of(fleet, VICTIM, "AN101")] == ["open"]
    full = fleet.one("OP004")
    assert (full.state, full.severity, full.alert and full.alert.why) == ("open", "high", "new")
    assert "findings" in full.message and f"principal {MALLORY}" in full.message
    assert left_out(fleet.engine)["findings"] > 0
    fleet.restart(SECOND)
    assert [each.state for each in of(fleet, VICTIM, "SK001")] == ["open"], "nor does a restart lose it"


def test_f44_the_finding_of_a_full_table_ends_once_there_is_room_also_after_a_restart(small: None) -> None:
    for restarts in (False, True):
        fleet = Fleet()
        invent(fleet, 40)
        fleet.write()
        assert {each.state for each in fleet.findings("OP004")} == {"open"}
        if restarts:
            fleet.pushes.clear()
            fleet.start()
        for _ in range(11):
            fleet.later()
        assert {each.state for each in fleet.findings("OP004")} == {"resolved"}


@pytest.mark.parametrize(("principal", "secrets"), [(MALLORY, True), (None, False)])
def test_f44_each_table_is_filled_and_a_victim_keeps_what_it_has(small: None, fleet: Fleet, principal: str | None, secrets: bool) -> None:
    for number in range(4):
        fleet.client(number + 1, BAD, f"orders{number}x", principal=VICTIM)
    fleet.client(9, LEAK, "billing-1", principal=VICTIM)
    for number in range(100):
        name = {"db.password": f"canary-{number}"} if secrets else {"acks": "0", "retries": "0"}
        invent(fleet, 1, principal=principal, first=number, settings=name)
        fleet.connect(f"app{number}x", principal, "10.6.6.6")
        fleet.now += SECOND
    fleet.later(2 * MINUTE)
    assert [(each.code, each.client_count) for each in of(fleet, VICTIM) if each.code in ("SK001", "AN101")] == [("SK001", 1)] + [
        ("AN101", 1)
    ] * 4, "all of them, with who has it"
    sizes, dropped = fleet.engine.sizes(), left_out(fleet.engine)
    bounds = {"clients": 30, "applications": 40, "connections": 50, "findings": 60}
    assert {table for table, bound in bounds.items() if dropped[table] and sizes[table] <= bound + 10} == set(bounds) - (
        {"applications"} if sizes["applications"] < 40 and not dropped["applications"] else set()
    )
    assert {each.message.split(" and has")[0] for each in fleet.findings("OP004")} >= {
        "the job remembers 50000 findings",
        "the job remembers 30 clients",
        "the job remembers 60 connections",
    }


def test_f44_the_same_secret_in_invented_places_hides_no_place_of_another(small: None, fleet: Fleet) -> None:
    fleet.client(9, LEAK, "billing", principal=VICTIM)
    fleet.write()
    for number in range(25):
        fleet.now += SECOND
        invent(fleet, 1, first=number, settings=LEAK)
    fleet.later()
    (leak,) = fleet.findings("SK001")
    assert VICTIM in {place.application.principal for place in leak.places}
    assert len(leak.places) <= 20


def test_f44_who_knows_a_secret_can_not_take_its_finding_along(small: None, fleet: Fleet) -> None:
    """It is found with the thief first, and counts for the one who has fewer findings."""
    invent(fleet, 8, settings=LEAK)
    fleet.client(9, LEAK, "billing", principal=VICTIM)
    for number in range(100):
        fleet.now += SECOND
        invent(fleet, 1, first=100 + number, settings={"db.password": f"canary-{number}"})
    fleet.later()
    assert any(VICTIM in {place.application.principal for place in each.places} for each in fleet.findings("SK001"))


def test_f44_what_clients_push_is_bounded_in_bytes_by_who_pushes_most(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clients, "MOST_BYTES", 100_000)
    fleet = Fleet()
    for number in range(50):
        fleet.client(number + 1, BAD, f"orders-{number}", principal=VICTIM)
    for number in range(60):
        invent(fleet, 1, first=number, settings={"bootstrap.servers": f"{number}-" + "x" * 3_000})
    fleet.write()
    assert fleet.engine.clients.held_bytes <= 100_000
    assert left_out(fleet.engine)["clients"] >= 20
    assert [each.client_count for each in of(fleet, VICTIM, "AN101")] == [50], "who shares settings takes little"


def test_f44_who_is_connected_is_remembered_rather_than_who_left_with_something_worse() -> None:
    fleet = Fleet(most_clients=3)
    fleet.close(fleet.client(1, BAD, "orders0x"))
    fleet.later(MINUTE)
    for number in range(2, 5):
        fleet.client(number, {"acks": "all", "metadata.max.age.ms": "1"}, f"orders{number}x")
    fleet.later(MINUTE)
    assert left_out(fleet.engine)["clients"] == 1
    assert [each.client_count for each in fleet.findings("AN301")] == [1, 1, 1]


def test_a_finding_that_two_have_counts_for_the_one_who_has_fewer_now() -> None:
    first, second, shared = (entry.FindingEntry(tenant * 2, "AN101", "setting", tenant=f"={tenant}") for tenant in "aab")
    counted = room.Room()
    for each in (first, second, shared):
        counted.take(each)
    counted.share(shared, "=a")
    assert shared.tenant == "=b"
    counted.release(first)
    counted.release(second)
    counted.share(shared, "=a")
    assert shared.tenant == "=a"


A_SECRET, SLOW = {"acks": "all", "db.password": "canary-{}"}, {"acks": "all", "metadata.max.age.ms": "1"}


@pytest.mark.parametrize(
    ("leaks", "others", "more", "left"),
    [
        (0, 49, SLOW, (0, 50)),
        (0, 50, SLOW, (0, 46)),
        (9, 41, SLOW, (9, 42)),
        (15, 45, SLOW, (15, 40)),
        (9, 50, A_SECRET, (10, 50)),
        (10, 50, A_SECRET, (11, 44)),
        (59, 0, A_SECRET, (60, 0)),
        (60, 0, A_SECRET, (55, 0)),
    ],
)
def test_f44_a_part_of_the_room_is_for_secrets_alone(
    small: None, leaks: int, others: int, more: dict[str, str], left: tuple[int, int]
) -> None:
    """Of 60 ten; a tenth is made free at a time, of what is full, and what matters least goes first."""
    fleet = Fleet(most_clients=100)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(clients, "MOST_APPLICATIONS", 100)
        invent(fleet, leaks, settings=A_SECRET)
        invent(fleet, others, settings=SLOW, first=leaks)
        fleet.write()
        invent(fleet, 1, settings=more, first=100)
        fleet.write()
    assert (len(fleet.findings("SK001")), len(fleet.findings("AN301"))) == left


def test_the_least_that_matters_goes_first_and_of_that_the_noisiest() -> None:
    held = [
        HeldEntry(f"{tenant}{number}", f"={tenant}", number % 2, number)
        for tenant, count in (("a", 30), ("b", 12), ("c", 3))
        for number in range(count)
    ]
    gone = [each.key for each in too_many(held, 20)]
    assert not [key for key in gone if str(key).startswith("c")]
    assert [int(str(key)[1:]) % 2 for key in gone[:15]] == [0] * 15, "all that matter least, and no other before"
    assert len(held) - len(gone) == 20
    assert not too_many(held, 45)


def test_nobody_loses_more_than_what_is_above_its_share() -> None:
    held = [
        HeldEntry(f"{tenant}{number}", f"={tenant}", matters, number) for tenant, matters in (("a", 0), ("b", 1)) for number in range(30)
    ]
    gone = [str(each.key)[0] for each in too_many(held, 40)]
    assert (gone.count("a"), gone.count("b")) == (10, 10), "though all of the one matter less than all of the other"


def test_addresses_together_displace_no_principal_from_half_of_the_room() -> None:
    """A host may have thousands of addresses, or a botnet."""
    held = [HeldEntry(f"victim{number}", "=User:victim", 0, number) for number in range(50)]
    held += [HeldEntry(f"{number}", f"@10.0.{number // 256}.{number % 256}", 5, number) for number in range(1_000)]
    left = {each.key for each in held} - {each.key for each in too_many(held, 100)}
    assert len(left) == 100 and sum(str(key).startswith("victim") for key in left) == 50


class Tables(RuleBasedStateMachine):
    """One client invents ids and others don't: in any order of events, the others' findings are reported."""

    @initialize()
    def begin(self) -> None:
        self.patch = pytest.MonkeyPatch()
        make_small(self.patch)
        self.fleet = Fleet()
        self.invented = 0
        self.has: dict[int, str] = {}

    def teardown(self) -> None:
        if hasattr(self, "patch"):
            self.patch.undo()

    @rule(
        count=st.integers(1, 30),
        principal=st.sampled_from([MALLORY, None]),
        pushed=st.sampled_from([BAD, {"acks": "0", "retries": "0"}, {"p.password": "canary{}"}, LEAK]),
        opens=st.booleans(),
    )
    def invents(self, count: int, principal: str | None, pushed: dict[str, str], opens: bool) -> None:
        invent(self.fleet, count, principal=principal, first=self.invented, settings=pushed)
        for number in range(self.invented, self.invented + count * opens):
            self.fleet.connect(f"app{number}x", principal, "10.6.6.6")
        self.invented += count

    @rule(number=st.integers(0, 5), pushed=st.sampled_from(["leak", "wrong", "clean"]))
    def lives(self, number: int, pushed: str) -> None:
        self.fleet.now += SECOND
        name = f"orders{'abcdef'[number]}"
        settings = {"leak": {**GOOD, "sasl.password": f"canary-{name}"}, "wrong": BAD, "clean": GOOD}[pushed]
        self.fleet.client(number + 1, settings, name, principal=VICTIM)
        self.has[number] = pushed

    @rule(time=st.sampled_from([SECOND, MINUTE, 2 * HOUR]))
    def time_passes(self, time: int) -> None:
        self.fleet.later(time)

    @rule()
    def the_job_restarts(self) -> None:
        self.fleet.start()

    @invariant()
    def what_others_have_is_reported(self) -> None:
        if not hasattr(self, "fleet"):
            return
        self.fleet.later(31 * SECOND)  # counts alone are written each half a minute
        open_codes = {
            (each.application.client_id, each.code) for each in of(self.fleet, VICTIM) if each.state == "open" and each.client_count
        }
        for number, pushed in self.has.items():
            name, code = f"orders{'abcdef'[number]}", {"leak": "SK001", "wrong": "AN101", "clean": ""}[pushed]
            assert not code or (name, code) in open_codes
        assert len(self.fleet.published) <= 60 + len(BOUNDS) + 1
        assert {key for key, entry in self.fleet.engine.book.entries.items() if entry.published} == set(self.fleet.published), (
            "what is evicted leaves the topic too"
        )


TestTables = Tables.TestCase
TestTables.settings = settings(max_examples=15, stateful_step_count=15, deadline=None, suppress_health_check=list(HealthCheck))
