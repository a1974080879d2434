"""Hundreds of skewed catch-ups: no living gateway is declared lost, and a dead one is gone in time.

Time is played. Each history has partitions that are read at their own pace, records that come late or twice, gateways that skip
heartbeats, die or move to partitions that were added, a Kafka that is away, a driver that stands still, batches that take long, and a job
that starts late or again.
"""

from __future__ import annotations

import random
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial

import pytest
from gauge_rows import Topic, listed

from clientscope.kafka.writer import partition_of
from clientscope.model.input import InputRecord
from streaming.gauges import Gauges, ReadClock
from streaming.gauges.read_clock import RETURN_S

HISTORIES, AT_ONCE = 300, 100
ENDS = 250.0
RETURNS_S = 36.0
"""The longest that a gateway needs to write again after Kafka was away: kafka-python's backoff."""

NEVER = (1e9, 1e9)


@dataclass
class Gateway:
    """A gateway's life.

    Attributes:
        dies: when it is killed; after the end if never.
        appended: when its heartbeats were.
    """

    name: str
    interval_s: float
    partition: int
    moves_to: int
    dies: float
    appended: list[float] = field(default_factory=list)


class History:
    """What is appended to the topic, and when nobody can write or look."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.partitions = chance.randrange(1, 6)
        begins = chance.uniform(20, 200)
        self.away = (begins, begins + chance.uniform(2.5, 90)) if chance.random() < 0.4 else NEVER
        begins = chance.uniform(20, 200)
        self.stalled = (begins, begins + chance.uniform(1, 60)) if chance.random() < 0.3 else NEVER
        self.grows = chance.uniform(20, 200) if chance.random() < 0.2 else NEVER[0]
        self.more = self.partitions + (chance.randrange(1, 4) if self.grows < ENDS else 0)
        self.log: dict[int, list[tuple[float, list[InputRecord]]]] = {number: [] for number in range(self.more)}
        self.gateways = [self._live(f"g{chance.randrange(1_000)}-{number}") for number in range(chance.randrange(1, 7))]
        for records in self.log.values():
            records += [(chance.uniform(0, ENDS), []) for _ in range(chance.randrange(5))]  # junk
            records.sort(key=lambda record: record[0])
        self.times = {number: [at for at, _ in records] for number, records in self.log.items()}

    def _live(self, name: str) -> Gateway:
        chance = self.chance
        dies = chance.uniform(10, ENDS - 40) if chance.random() < 0.4 else NEVER[0]
        places = [partition_of(name.encode(), range(number)) for number in (self.partitions, self.more)]
        here = Gateway(name, chance.choice([1.0, 5.0, 10.0]), places[0], places[1], dies)
        moves, returns = self.grows + chance.uniform(0, 60), self.away[1] + chance.uniform(0, RETURNS_S)
        at, sequence = chance.uniform(0, 5), 0
        while at < min(here.dies, ENDS + 100):
            when = returns if self.away[0] <= at < returns else at
            if when < here.dies:
                self._append(here, when, moves, sequence)
            sequence += 1
            at = max(when, at + here.interval_s * chance.choice([0.9, 1, 1, 1, 1, 1.9, 2.9]))
        return here

    def _append(self, here: Gateway, when: float, moves: float, sequence: int) -> None:
        partition = here.moves_to if when >= moves else here.partition
        entries = [listed(("java", "1"), sequence, 1, gateway=here.name, interval_ms=int(here.interval_s * 1000))]
        self.log[partition].append((when, entries))
        here.appended.append(when)
        again = when + self.chance.uniform(0, 20)
        if self.chance.random() < 0.1 and not self.away[0] <= again < self.away[1]:
            self.log[partition].append((again, entries))

    def ends(self, at: float) -> dict[int, int]:
        """Where the partitions that are there end."""
        there = self.more if at >= self.grows else self.partitions
        return {number: bisect_left(self.times[number], at) for number in range(there)}

    def read(self, number: int, begin: int, end: int) -> list[InputRecord]:
        """The entries of a partition's records."""
        records = self.log[number][begin:end]
        return [
            replace(entry, partition=number, offset=begin + place, appended_ms=int(at * 1000))
            for place, (at, entries) in enumerate(records)
            for entry in entries
        ]


class Job:
    """The gauges' query as its sink, its ticks and its batches drive it."""

    def __init__(self, history: History, chance: random.Random, topic: Topic, at: float, positions: dict[int, int]) -> None:
        self.history, self.chance, self.topic = history, chance, topic
        self.lost: list[str] = []
        self.clock = ReadClock(at)
        self.gauges = Gauges(topic.values, at, lambda cluster, broker, gateway: self.lost.append(gateway))
        self.positions, self.reported = dict(positions), dict(positions)
        self.pace = {number: chance.choice([1, 3, 20, 1000]) for number in range(history.more)}
        self.hurries = at + chance.uniform(20, 150)  # from then on all are read as fast as they can
        self.begun_at = self.batch_at = at
        self.next_batch = at + chance.uniform(0, 3)
        self.heard: dict[str, float] = {}

    def tick(self, at: float) -> None:
        """A look at the ends, and at Spark's report."""
        if self.history.away[0] <= at < self.history.away[1]:
            self.clock.missed()
            return
        self.clock.read(self.reported)
        self.clock.looked(self.history.ends(at), at, at + self.chance.uniform(0, 0.04))
        self._expire()

    def batch(self, at: float) -> None:
        """A batch ends, whose plan was made a while ago."""
        self.reported = dict(self.positions)
        away = self.history.away[0] <= at < self.history.away[1]
        entries: list[InputRecord] = []
        for number, end in ({} if away else self.history.ends(self.batch_at)).items():
            begin = self.positions.get(number, 0)
            until = min(end, begin + (1000 if at > self.hurries else self.pace[number]))
            entries += self.history.read(number, begin, until)
            self.positions[number] = max(begin, until)
        self.heard |= {entry.record.gateway: at for entry in entries}
        self.chance.shuffle(entries)
        self.topic.write(self.gauges.apply(entries, at, partial(self.clock.appended, now=at)))
        self.clock.applied(entries)
        self._expire()
        self.batch_at = at
        pause = self.chance.uniform(5, 40) if self.chance.random() < 0.03 and at < self.hurries else 0
        self.next_batch = at + self.chance.choice([0.2, 1, 3]) + pause

    def _expire(self) -> None:
        self.topic.write(self.gauges.expire(self.clock.read_to, self.clock.returned))


def play(seed: int, found: Callable[[str], None]) -> int:
    """One history; returns how many gateways died in it.

    Args:
        found: called with each loss of a gateway that lives, and each dead one that stays.
    """
    chance = random.Random(seed)  # noqa: S311 - a test's
    history, topic = History(chance), Topic()
    at = chance.choice([0.0, chance.uniform(0, 150)])
    starts_again = chance.uniform(at, 200) if chance.random() < 0.3 else NEVER[0]
    job = Job(history, chance, topic, at, {})
    look_at = at
    while at < ENDS:
        at = min(look_at, job.next_batch)
        if history.stalled[0] <= at < history.stalled[1]:
            at = look_at = job.next_batch = history.stalled[1]
        if at >= starts_again:
            starts_again, at = NEVER[0], at + chance.uniform(0, 60)
            job = Job(history, chance, topic, at, job.reported)
            look_at = at
        if at == look_at:
            job.tick(at)
            look_at += chance.uniform(0.9, 0.95)
            for each in (each for each in history.gateways if stays(history, job, each, at)):
                found(f"{seed}: {each.name}, which died at {each.dies:.1f}, was still there at {at:.1f}")
        else:
            job.batch(at)
        for name in job.lost:
            alive = next(each for each in history.gateways if each.name == name)
            if alive.dies > at:
                found(f"{seed}: {name}, which lives until {alive.dies:.1f}, was lost at {at:.1f}")
        job.lost.clear()
    return sum(each.dies < ENDS for each in history.gateways)


def stays(history: History, job: Job, gateway: Gateway, at: float) -> bool:
    """Whether a gateway's series is there although it has been dead for three heartbeats and three seconds, and all was read by then."""
    still = [pause[1] for pause in (history.away, history.stalled) if pause[0] <= at]
    last = gateway.appended[-1] if gateway.appended else 0.0
    since = max([job.heard.get(gateway.name, last), *(end + RETURN_S for end in (job.begun_at, *still) if last < end + 2)])
    if gateway.dies > at or at < since + 3 * gateway.interval_s + 3:
        return False
    read = all(job.reported.get(number, 0) >= end for number, end in history.ends(at - 1).items())
    return read and gateway.name in {value["gateway"] for value in job.topic.series()}


@pytest.mark.parametrize("first", range(0, HISTORIES, AT_ONCE))
def test_no_living_gateway_is_lost_and_a_dead_one_is_gone_in_time(first: int) -> None:
    wrong: list[str] = []
    died = sum(play(seed, wrong.append) for seed in range(first, first + AT_ONCE))
    assert died > AT_ONCE / 2
    assert not wrong, wrong[:3]
