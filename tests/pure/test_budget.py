"""gateway/worker/budget: one bound for what all connections hold, and who gives way when it is reached."""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import given
from hypothesis import strategies as st

from clientscope.gateway.worker.budget import Budget

MIB = 1024 * 1024


@dataclass(eq=False)
class Connection:
    """What one holds, and who is to blame."""

    budget: Room | None = None
    held_bytes: int = 0
    evictable: bool = True
    evicted: bool = False

    def evict(self) -> None:
        self.evicted = True
        self.held_bytes = 0
        assert self.budget is not None
        self.budget.budget.holds(self, 0)


@dataclass
class Room:
    """A budget of 100 MiB, and what it asked for."""

    reading: bool = True
    counted: list[str] = field(default_factory=list)
    given_back: int = 0

    def __post_init__(self) -> None:
        self.budget = Budget(100 * MIB, self._stop, self._go_on, lambda what, _: self.counted.append(what), self._give_back)

    def _stop(self) -> None:
        self.reading = False

    def _go_on(self) -> None:
        self.reading = True

    def _give_back(self) -> None:
        self.given_back += 1

    def connection(self, mib: int, evictable: bool = True) -> Connection:
        one = Connection(self, mib * MIB, evictable)
        self.budget.holds(one, one.held_bytes)
        return one


def test_f42_beyond_the_bound_nothing_is_read_until_three_quarters_are_left() -> None:
    room = Room()
    connections = [room.connection(20) for _ in range(5)]
    assert room.reading
    last = room.connection(1)
    assert not room.reading and room.counted == ["reads_held"]
    for one in connections[:2]:
        one.held_bytes = 0
        room.budget.holds(one, 0)
    assert room.reading and room.budget.total == 61 * MIB
    assert not last.evicted


def test_f42_who_takes_nothing_gives_way_and_who_holds_most_goes_first() -> None:
    room = Room()
    stuck = [room.connection(10) for _ in range(6)]
    moving, broker = room.connection(15), room.connection(15, evictable=False)
    room.budget.look()
    moving.held_bytes -= MIB
    largest = room.connection(12)
    assert not room.reading
    room.budget.look()
    assert sum(one.evicted for one in stuck) == 3 and room.reading
    assert not (moving.evicted or broker.evicted or largest.evicted)
    assert room.counted.count("connections_evicted") == 3


def test_f42_memory_is_given_back_once_after_a_peak() -> None:
    room = Room()
    connections = [room.connection(10) for _ in range(8)]
    room.budget.look()
    assert room.given_back == 0
    for one in connections:
        one.held_bytes = 0
    room.budget.look()
    room.budget.look()
    assert room.given_back == 1


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 60)), max_size=60))
def test_f42_the_total_is_what_all_hold(changes: list[tuple[int, int]]) -> None:
    room = Room()
    connections = [Connection(room) for _ in range(10)]
    for number, mib in changes:
        one = connections[number]
        one.held_bytes = mib * MIB
        room.budget.holds(one, one.held_bytes)
        if mib % 7 == 0:
            room.budget.look()
        assert room.budget.total == sum(each.held_bytes for each in connections)
        assert room.reading or room.budget.total > 75 * MIB
