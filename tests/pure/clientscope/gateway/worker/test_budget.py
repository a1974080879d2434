"""gateway/worker/budget: one bound for the bytes of all connections, and the choice of connections to close at the bound."""

from __future__ import annotations

from dataclasses import dataclass, field

from every import every
from hypothesis import given
from hypothesis import strategies as st

from clientscope.gateway.worker.sides import Budget

MIB = 1024 * 1024


@dataclass(eq=False)
class Connection:
    """What one holds, and who is to blame."""

    budget: Room | None = None
    held_bytes: int = 0
    evictable: bool = True
    needs_reading: bool = False
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
        self.budget = Budget(100 * MIB, self._stop, self._resume, lambda what, _: self.counted.append(what), self._give_back)

    def _stop(self) -> None:
        self.reading = False

    def _resume(self) -> None:
        self.reading = True

    def _give_back(self) -> None:
        self.given_back += 1

    def connection(self, mib: float, evictable: bool = True, needs_reading: bool = False) -> Connection:
        one = Connection(self, int(mib * MIB), evictable, needs_reading)
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


def test_f42_who_takes_next_to_nothing_gives_way_and_who_holds_most_goes_first() -> None:
    room = Room()
    stuck = [room.connection(10) for _ in range(6)]
    moving, drop_by_drop, broker = room.connection(11), room.connection(15), room.connection(15, evictable=False)
    assert not room.reading
    room.budget.look()
    moving.held_bytes -= 2 * MIB
    drop_by_drop.held_bytes -= 1
    late = room.connection(12)
    room.budget.look()
    assert drop_by_drop.evicted and sum(one.evicted for one in stuck) == 3 and room.reading
    assert not (moving.evicted or broker.evicted or late.evicted)
    assert room.counted.count("connections_evicted") == 4


def test_f42_who_took_all_and_got_as_much_again_before_the_stop_is_not_slow() -> None:
    room = Room()
    quick = [room.connection(9) for _ in range(10)]
    room.budget.look()
    for one in quick:  # each takes its 9 MiB, and gets 9 more
        room.budget.holds(one, 0)
        room.budget.holds(one, one.held_bytes)
    room.connection(15, evictable=False)
    room.budget.look()
    assert not room.reading and not any(one.evicted for one in every(quick))
    for one in quick:
        one.held_bytes = MIB
    room.budget.look()
    assert room.reading and not any(one.evicted for one in every(quick))


def test_f42_halves_of_frames_are_dropped_only_where_they_alone_are_too_much() -> None:
    room = Room()
    honest = room.connection(0.01, needs_reading=True)
    stuck = [room.connection(12) for _ in range(9)]
    for _ in range(3):
        room.budget.look()
    assert room.reading and not honest.evicted and sum(one.evicted for one in stuck) == 3
    halves = [room.connection(2, needs_reading=True) for _ in range(40)]
    for _ in range(3):
        room.budget.look()
    assert room.reading and not honest.evicted
    assert sum(one.evicted for one in halves) == 3, "80 MiB are too much, 74 are not"


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
