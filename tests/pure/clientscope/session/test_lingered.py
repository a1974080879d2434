"""session/lingered: a range has the linger.ms that the client is set to, or there is none, whatever else makes its batches wait."""

from __future__ import annotations

import heapq
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest

from clientscope.session.lingered import AGREEING, Lingered
from clientscope.session.produced import FIRST, Produced

Load = Callable[[random.Random], Iterator[float]]
"""The times of records, in ms."""


@dataclass(frozen=True)
class Client:
    """A producer that sends to one partition.

    Attributes:
        trip_ms: the way to the gateway and back.
        most_records: of a batch, which then is full.
        vary: by what part that differs, as records of many sizes make it.
        throttled_ms: how long it sends nothing after an answer, as its broker asks.
        late_ms: how late its thread is at most.
    """

    linger_ms: int
    trip_ms: float = 1
    broker_ms: float = 3
    in_flight: int = 5
    most_records: int = 10_000
    vary: float = 0.2
    throttled_ms: float = 0
    late_ms: float = 1


def seen(client: Client, load: Load, seed: int) -> tuple[int, int] | None:
    """The range that a gateway infers of it."""
    random_ = random.Random(seed)  # noqa: S311
    at_gateway = sorted(_exchanges(client, load(random_), random_), key=lambda each: each[0])
    produced = Produced((client.trip_ms + random_.expovariate(1)) / 1000)
    for at_ms, number, fields in at_gateway:
        if fields is None:
            produced.answered(number, at_ms / 1000)
        elif (found := produced.read(number, {"acks": "-1", "batchTimes": fields}, at_ms / 1000)) and "lingerLeastMs" in found:
            return int(found["lingerLeastMs"]), int(found["lingerMostMs"])
    return None


def _exchanges(client: Client, records: Iterator[float], random_: random.Random) -> Iterator[tuple[float, int, str | None]]:
    """When each request and each answer is at the gateway, and what the request's first batch has."""
    batches: list[list[float]] = []
    room = 0
    answers: list[float] = []
    number, next_ms = 0, next(records)
    muted_ms = next_ms + 3 * client.trip_ms + 5  # it connects with its first record
    events = [next_ms, muted_ms]
    while number < FIRST:
        now_ms = heapq.heappop(events)
        while next_ms <= now_ms:
            if not batches or len(batches[-1]) >= room:
                batches.append([])
                room = max(1, round(client.most_records * random_.uniform(1 - client.vary, 1)))
                heapq.heappush(events, next_ms + client.linger_ms + random_.uniform(0.01, client.late_ms))
            batches[-1].append(next_ms)
            next_ms = next(records)
            heapq.heappush(events, next_ms)
        while answers and answers[0] <= now_ms:
            heapq.heappop(answers)
        full = len(batches) > 1 or (batches and len(batches[0]) >= room)
        if batches and len(answers) < client.in_flight and now_ms >= muted_ms and (full or now_ms >= batches[0][0] + client.linger_ms):
            batch = batches.pop(0)
            there_ms = 1_000_000 + now_ms + client.trip_ms / 2
            answered_ms = there_ms + client.broker_ms * random_.uniform(0.8, 1.3)
            yield there_ms, number, f"{int(batch[0]) + 1} {int(batch[-1]) + 1} {len(batch)} 7"
            yield answered_ms, number, None
            back_ms = answered_ms + client.trip_ms / 2 - 1_000_000
            heapq.heappush(answers, back_ms)
            if client.throttled_ms:
                muted_ms = back_ms + client.throttled_ms * random_.uniform(0.9, 1.1)
            for each in (back_ms, muted_ms):
                heapq.heappush(events, each + 0.01)
            heapq.heappush(events, now_ms)
            number += 1


def steady(random_: random.Random) -> Iterator[float]:
    at_ms = 0.0
    while True:
        yield (at_ms := at_ms + 7)


def irregular(random_: random.Random) -> Iterator[float]:
    at_ms = 0.0
    while True:
        yield (at_ms := at_ms + random_.expovariate(1 / 6))


def sparse(random_: random.Random) -> Iterator[float]:
    at_ms = 0.0
    while True:
        yield (at_ms := at_ms + random_.expovariate(1 / 60))


def bursts(random_: random.Random) -> Iterator[float]:
    at_ms = 0.0
    while True:
        until_ms, mean_ms = at_ms + 500, random_.choice((2, 4, 8, 12))
        while at_ms < until_ms:
            yield (at_ms := at_ms + random_.expovariate(1 / mean_ms))
        at_ms += random_.uniform(300, 600)


def short_bursts(random_: random.Random) -> Iterator[float]:
    """Each of about the same time, however many records it has."""
    at_ms = 0.0
    while True:
        count = random_.randint(10, 40)
        for number in range(count):
            yield at_ms + 20 * number / count
        at_ms += random_.uniform(150, 300)


def pairs(random_: random.Random) -> Iterator[float]:
    at_ms = 0.0
    while True:
        yield at_ms
        if random_.random() < 0.5:
            yield at_ms + 20
        yield at_ms + 50
        at_ms += random_.uniform(100, 400)


def busy(random_: random.Random) -> Iterator[float]:
    at_ms = 0.0
    while True:
        yield (at_ms := at_ms + random_.expovariate(1))


def uneven(random_: random.Random) -> Iterator[float]:
    """Busy all the time, and twice as busy at others."""
    at_ms = 0.0
    while True:
        until_ms, mean_ms = at_ms + 400, random_.choice((0.7, 1, 2))
        while at_ms < until_ms:
            yield (at_ms := at_ms + random_.expovariate(1 / mean_ms))


LOADS = [steady, irregular, sparse, bursts, short_bursts, pairs, busy, uneven]
CLIENTS = [
    Client(linger, trip, in_flight=in_flight, most_records=most, throttled_ms=throttled, broker_ms=broker)
    for linger in (0, 5, 40, 150, 1000)
    for trip in (0.5, 30, 100)
    for in_flight in (1, 5)
    for most in (10, 40, 10_000)
    for throttled in (0, 60)
    for broker in (3, 50)
]


@pytest.mark.parametrize("load", LOADS)
def test_a_range_is_never_wrong(load: Load) -> None:
    wrong = []
    for seed, client in enumerate(CLIENTS):
        found = seen(client, load, seed)
        if found is not None and not found[0] <= client.linger_ms <= found[1]:
            wrong.append((client, found))
    assert not wrong


@pytest.mark.parametrize("trip_ms", [10, 30, 100, 200])
def test_a_client_that_sends_once_it_has_its_answer_shows_nothing_of_it(trip_ms: int) -> None:
    clients = [Client(linger, trip_ms, broker_ms=1, in_flight=1, late_ms=0.3) for linger in (0, 5, 20) if linger < trip_ms]
    assert not [found for client in clients for seed in range(5) if (found := seen(client, uneven, seed))]


@pytest.mark.parametrize("linger_ms", [20, 40, 150])
@pytest.mark.parametrize("load", [irregular, bursts])
def test_clients_that_are_not_busy_show_it(load: Load, linger_ms: int) -> None:
    found = [seen(Client(linger_ms), load, seed) for seed in range(20)]
    assert sum(each is not None for each in found) > 8
    assert all(each is None or (each[0] <= linger_ms <= each[1] <= linger_ms * 1.4) for each in found)


CLOCK_MS = 1_700_000_000_000
"""Of the client."""


def taken(number: int, records: int | None = None, span_ms: int = 40, began_ms: int | None = None) -> tuple[str, float]:
    """The times of a batch of a client that waits for 40 ms, and when it came."""
    at_ms = 43 * number
    began = CLOCK_MS + (at_ms if began_ms is None else began_ms)
    return f"{began} {began + span_ms} {5 + number % 7 if records is None else records} 7", 500 + (at_ms + 41) / 1000


def found_of(*batches: tuple[str, float], idle: bool = True) -> tuple[int, int] | None:
    lingered = Lingered()
    for times, now_s in batches:
        lingered.take(times, now_s, idle)
    return lingered.range_ms()


MANY = range(2 * AGREEING)


def test_what_follows_of_batches_that_agree() -> None:
    assert found_of(*(taken(number) for number in MANY)) == (37, 46)
    assert not found_of(*(taken(number) for number in range(AGREEING))), "of each but the last it is known when the next one began"
    assert not found_of(*(taken(number) for number in MANY), idle=False)
    assert not found_of(*(taken(number, records=9) for number in MANY)), "they may have been full"
    assert not found_of(*(taken(number, span_ms=20) for number in MANY)), "nobody knows what came after the last record"


def test_a_client_without_linger_shows_no_time_that_its_threads_need() -> None:
    batches = [
        (f"{CLOCK_MS + 7 * number} {CLOCK_MS + 7 * number + 5} {5 + number % 7} 7", 500 + (7 * number + 6) / 1000) for number in MANY
    ]
    assert not found_of(*batches)


@pytest.mark.parametrize(
    "other",
    [
        taken(20, span_ms=-1), taken(20, span_ms=61_000), taken(20, began_ms=0), taken(20, began_ms=-CLOCK_MS),
        ("-1 -1 5 7", 501.0), (f"{2**63 - 1} {-(2**63)} {2**31 - 1} 7", 501.0),
    ],
)  # fmt: skip
def test_times_of_no_clock_are_enough_against_it(other: tuple[str, float]) -> None:
    batches = [taken(number) for number in MANY]
    assert found_of(*batches)
    assert not found_of(*batches, other)


def test_the_same_batch_once_more_and_another_partition_change_nothing() -> None:
    batches = [taken(number) for number in MANY]
    other = batches[-1][0].replace(" 7", " 8").replace(f"{CLOCK_MS}", f"{CLOCK_MS}"), batches[-1][1] + 0.003
    assert found_of(*batches, batches[-1]) == found_of(*batches)
    assert found_of(*batches, other) == found_of(*batches)


def test_times_that_pass_faster_than_the_gateways_are_the_applications() -> None:
    """Records of an hour that are sent again within a minute."""
    assert not found_of(*((times, 500 + (now_s - 500) / 60) for times, now_s in (taken(number) for number in MANY)))


def test_times_in_whole_seconds_are_the_applications() -> None:
    random_ = random.Random(3)  # noqa: S311
    batches, at_ms = [], 0.0
    for number in range(FIRST):
        at_ms += random_.uniform(500, 1500)
        began, ended = (int(each // 1000) * 1000 + CLOCK_MS for each in (at_ms - 400, at_ms))
        batches.append((f"{began} {ended} {5 + number % 7} 7", 500 + at_ms / 1000))
    assert not found_of(*batches)
