"""Logged clients and live ones on played fleets: nearly all are joined, and none wrongly."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clientscope.commands.imports.joining import LoggedStart, RecordedClients, join
from clientscope.records.layouts import Kind
from sinks.dashboard.state.connection_events import RecordedEvent

HOUR = 3_600_000
DAY = 24 * HOUR
BEGIN = 1_800_000_000_000
VERSIONS = ("2.8.2", "3.6.1", "3.9.2", "4.1.0", "4.4.0")


def event(
    kind: Kind,
    at_ms: int,
    connection: int = -1,
    client_id: str | None = None,
    address: str = "",
    principal: str | None = None,
    version: str = "3.9.2",
    software: str = "apache-kafka-java",
    gateway: str = "g",
    epoch: int = 1,
    interval_ms: int = 0,
) -> RecordedEvent:
    return RecordedEvent(
        kind, "cluster", 1, gateway, epoch, at_ms, at_ms, connection, "CLIENT", "PLAINTEXT", address, principal, client_id, software,
        version, None, 0, 1, interval_ms, None, None, (),
    )  # fmt: skip


def start(
    key: str,
    client_id: str,
    at_ms: int | None,
    version: str = "3.9.2",
    principal: str | None = None,
    *,
    known: bool = True,
    last: bool = True,
) -> LoggedStart:
    return LoggedStart(key, client_id, "java", version, principal, known, at_ms, last)


def seen(*events: RecordedEvent) -> RecordedClients:
    found = RecordedClients()
    found.apply(event(Kind.HEARTBEAT, BEGIN, interval_ms=1_000))
    for each in sorted(events, key=lambda each: each.timestamp_ms):
        found.apply(each)
    return found


@dataclass
class Fleet:
    """A played week of clients.

    Attributes:
        truth: a start's key → the address of its client; None of one that reaches the brokers past the gateways.
        of: a start's key → its client.id and principal.
    """

    random: Random
    starts: list[LoggedStart] = field(default_factory=list)
    events: list[RecordedEvent] = field(default_factory=list)
    truth: dict[str, str | None] = field(default_factory=dict)
    gone: set[str] = field(default_factory=set)
    _connections: int = 0
    _addresses: int = 0

    def address(self) -> str:
        self._addresses += 1
        return f"10.{self._addresses >> 16}.{self._addresses >> 8 & 255}.{self._addresses & 255}"

    def connect(self, client_id: str, address: str, principal: str | None, version: str, at_ms: int, until_ms: int | None) -> None:
        """Its connections from then on: some at each of three gateways, and some that are idle, closed and opened again."""
        if not self._connections:
            self.events.append(event(Kind.HEARTBEAT, BEGIN, gateway="g0", interval_ms=1_000))
        ends = until_ms or BEGIN + 7 * DAY
        lasting = True
        for number in range(self.random.randint(1, 4)):
            opened = at_ms + number * self.random.randint(5, 2_000)
            while opened < ends:
                self._connections += 1
                gateway = f"g{self.random.randrange(3)}"
                named = (self._connections, client_id, address, principal, version)
                self.events.append(event(Kind.OPENED, opened, self._connections, None, address, gateway=gateway))
                self.events.append(event(Kind.IDENTIFIED, opened + self.random.randint(1, 40), *named, gateway=gateway))
                closed = ends if lasting else min(ends, opened + self.random.randint(10, 40) * 60_000)
                if closed < BEGIN + 7 * DAY:
                    self.events.append(event(Kind.CLOSED, closed, *named, gateway=gateway))
                opened = BEGIN + 8 * DAY if lasting else closed + self.random.randint(1, 12) * HOUR
            lasting = False

    def log(self, key: str, client_id: str, principal: str | None, version: str, at_ms: int | None, last: bool) -> None:
        self.starts.append(start(key, client_id, at_ms, version, principal, last=last))

    def play(self, clients: int) -> None:
        """Applications of 1 to 12 pods with one client.id, mostly the library's choice, which other applications have too."""
        made = 0
        while made < clients:
            pods = min(clients - made, self.random.choice((1, 1, 2, 3, 3, 5, 12)))
            made += pods
            self._application(made, pods)

    def _application(self, number: int, pods: int) -> None:
        random = self.random
        client_id = random.choice(("producer-1", "producer-1", f"consumer-group{number % 40}-1", "orders", f"app{number}"))
        principal = random.choice((None, None, f"User:team{number % 30}"))
        version = random.choice(VERSIONS)
        deployed = BEGIN + HOUR + random.randrange(6 * DAY)
        at_once = random.random() < 0.02
        skew = {True: lambda: random.randint(-4_000, 4_000), False: lambda: random.randint(-300, 300)}
        has_times = random.random() > 0.01
        addresses = [self.address() for _ in range(pods)]
        for pod, address in enumerate(addresses):
            deployed += random.randint(0, 1_000) if at_once else random.randint(15_000, 90_000)
            begins = deployed
            key = f"{number}-{pod}"
            off = skew[random.random() < 0.05]()
            log_gone = random.random() < 0.03
            for again in range(random.choice((0, 0, 0, 1, 3)), -1, -1):
                ends = None if again == 0 else begins + random.randint(60_000, DAY // 4)
                if again == 0 and random.random() < 0.02:
                    ends = begins + random.randint(60_000, HOUR)
                    self.gone.add(key)
                if begins > BEGIN + 7 * DAY - HOUR:
                    break
                late = random.randint(11_000, 300_000) if random.random() < 0.01 else random.randint(20, 3_000)
                passes_by = random.random() < 0.005
                if not passes_by:
                    self.connect(client_id, address, principal, version, begins + late, ends)
                if not log_gone:
                    self.log(key, client_id, principal, version, begins + off if has_times else None, last=True)
                    self.truth[key] = None if passes_by else address
                begins = (ends or begins) + random.randint(2_000, 60_000)

    def seen(self) -> RecordedClients:
        found = RecordedClients()
        for each in sorted(self.events, key=lambda each: each.timestamp_ms):
            found.apply(each)
        return found


def newest(starts: list[LoggedStart]) -> list[LoggedStart]:
    """The same, of which only the newest of each key is the last."""
    last = {each.key: number for number, each in enumerate(starts)}
    return [each._replace(last=last[each.key] == number) for number, each in enumerate(starts)]


def test_fleets_of_a_thousand() -> None:
    """Pods that share a client.id, restarts, versions, clocks that differ, clients without a log, without times, or past the gateways."""
    joinable = right = 0
    for seed in range(3):
        fleet = Fleet(Random(seed))  # noqa: S311 - a test's
        fleet.play(1_000)
        joined = join(newest(fleet.starts), fleet.seen())
        assert {key: client.identity.address for key, client in joined.items()}.items() <= fleet.truth.items(), f"seed {seed}"
        connected = {key for key, address in fleet.truth.items() if address and key not in fleet.gone}
        joinable, right = joinable + len(connected), right + len(connected & joined.keys())
    assert right >= 0.95 * joinable, f"{right} of {joinable}"


def opened(at_ms: int, number: int, client_id: str = "producer-1", address: str = "10.0.0.1", **more: Any) -> RecordedEvent:
    return event(Kind.OPENED, at_ms, number, client_id, address, **more)


T = BEGIN + HOUR


def addresses(starts: list[LoggedStart], *events: RecordedEvent) -> dict[str, str]:
    return {key: client.identity.address for key, client in join(starts, seen(*events)).items()}


def test_the_one_that_began_when_the_log_says_so() -> None:
    others = [opened(T + 120_000, 2, address="10.0.0.2"), opened(T - 120_000, 3, address="10.0.0.3")]
    assert addresses([start("a", "producer-1", T)], opened(T + 400, 1), *others) == {"a": "10.0.0.1"}


def test_a_connection_more_of_a_running_client_is_no_beginning() -> None:
    running = [opened(BEGIN + 1_000, 2, address="10.0.0.2"), opened(T + 500, 3, address="10.0.0.2")]
    assert addresses([start("a", "producer-1", T)], opened(T + 400, 1), *running) == {"a": "10.0.0.1"}
    assert addresses([start("a", "producer-1", T)], *running) == {}


def test_two_that_began_at_about_the_same_time_are_not_guessed() -> None:
    assert addresses([start("a", "producer-1", T)], opened(T + 400, 1), opened(T + 9_000, 2, address="10.0.0.2")) == {}


def test_what_another_start_explains_is_out_of_the_question() -> None:
    starts = [start("a", "producer-1", T), start("b", "producer-1", T + 12_000)]
    assert addresses(starts, opened(T + 400, 1), opened(T + 12_400, 2, address="10.0.0.2")) == {"a": "10.0.0.1", "b": "10.0.0.2"}


def test_one_without_a_log_within_the_minute_after_it_may_be_the_logged_one() -> None:
    assert addresses([start("a", "producer-1", T)], opened(T + 400, 1), opened(T + 40_000, 2, address="10.0.0.2")) == {}


def test_two_starts_of_one_beginning_are_neither() -> None:
    assert addresses([start("a", "producer-1", T), start("b", "producer-1", T + 100)], opened(T + 400, 1)) == {}


def test_a_client_that_began_again_has_other_settings() -> None:
    once = [opened(T + 400, 1), event(Kind.CLOSED, T + 500_000, 1)]
    assert addresses([start("a", "producer-1", T)], *once, opened(T + 600_000, 2)) == {}
    assert addresses([start("a", "producer-1", T)], *once) == {}, "it has gone"


@pytest.mark.parametrize("principal", [None, "User:mallory"])
def test_a_log_of_another_principal_gives_nobody_settings(principal: str | None) -> None:
    theirs = opened(T + 400, 1, principal="User:orders")
    assert addresses([start("a", "producer-1", T, principal=principal)], theirs) == {}
    assert addresses([start("a", "producer-1", T, principal="User:orders", known=False)], theirs) == {}
    assert addresses([start("a", "producer-1", T, principal="User:orders")], theirs) == {"a": "10.0.0.1"}


def test_a_client_that_pushes_itself_keeps_what_it_pushed() -> None:
    found = seen(opened(T + 400, 1))
    for client in found.clients.values():
        client.pushed = True
    assert join([start("a", "producer-1", T)], found) == {}


def test_library_and_version_are_the_same_as_far_as_both_say_them() -> None:
    assert addresses([start("a", "producer-1", T, "4.4.0")], opened(T + 400, 1)) == {}
    assert addresses([start("a", "producer-1", T, "unknown")], opened(T + 400, 1)) == {"a": "10.0.0.1"}
    assert addresses([start("a", "producer-1", T)], opened(T + 400, 1, software="librdkafka")) == {}
    old = opened(T + 400, 1, software="unknown", version="unknown")
    assert addresses([start("a", "producer-1", T, "2.1.1")], old) == {"a": "10.0.0.1"}


def test_without_a_time_only_a_name_that_the_user_chose_and_one_client_has() -> None:
    orders = opened(T, 1, client_id="orders")
    assert addresses([start("a", "orders", None)], orders) == {"a": "10.0.0.1"}
    assert addresses([start("a", "producer-1", None)], opened(T, 1)) == {}
    assert addresses([start("a", "orders", None), start("b", "orders", None)], orders) == {}, "either may be it"
    gone = [opened(T, 2, client_id="orders", address="10.0.0.2"), event(Kind.CLOSED, T + 1, 2)]
    assert addresses([start("a", "orders", None)], orders, *gone) == {}


def test_a_gateway_that_started_again_or_fell_silent_has_no_connections_of_before() -> None:
    again = event(Kind.HEARTBEAT, T + 1_000, epoch=2, interval_ms=1_000)
    assert addresses([start("a", "producer-1", T)], opened(T + 400, 1), again) == {}
    found = seen(opened(T + 400, 1))
    found.silent(T + 400 + 3_001)
    assert join([start("a", "producer-1", T)], found) == {}


@settings(deadline=None, max_examples=200)
@given(st.lists(st.tuples(st.integers(0, 90), st.integers(0, 4), st.integers(0, 2)), max_size=12), st.lists(st.integers(0, 90), max_size=6))
def test_a_client_is_joined_once_and_by_its_own_principal(begun: list[tuple[int, int, int]], logged: list[int]) -> None:
    principals = (None, "User:a", "User:b")
    events = [
        opened(T + second * 1_000, number, address=f"10.0.0.{host}", principal=principals[of])
        for number, (second, host, of) in enumerate(begun)
    ]
    starts = [start(f"{second}-{number}", "producer-1", T + second * 1_000, principal="User:a") for number, second in enumerate(logged)]
    joined = join(starts, seen(*events))
    assert {client.identity.principal for client in joined.values()} <= {"User:a"}
    assert len({client.identity for client in joined.values()}) == len(joined)
