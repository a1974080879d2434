"""session/intervals: an age is that of the client, whatever the number of brokers among which it spreads its requests for metadata."""

from __future__ import annotations

import random

import pytest

from clientscope.session.intervals import INTERVALS, MULTIPLES, age
from clientscope.session.shown import REFRESHES

AGE_MS = 5_000
TRIES = 2_000


def found_age(brokers: int, random_: random.Random, jitter: float, new_topics: float) -> int | None:
    """What one connection of a client shows, of a client that asks one of its brokers at random each time.

    Args:
        jitter: how late a request is at most, as a part of the age.
        new_topics: how many requests are for new topics, which begin the age anew.
    """
    intervals: list[int] = []
    since = 0.0
    while len(intervals) < REFRESHES - 1:
        since += AGE_MS * (random_.random() if random_.random() < new_topics else 1 + random_.uniform(0, jitter))
        if random_.random() * brokers < 1:
            if since >= 1_000:
                intervals.append(round(since))
            since = 0
            if found := age(intervals):
                return int(found["medianMs"])
    return None


@pytest.mark.parametrize("new_topics", [0, 0.1])
@pytest.mark.parametrize("jitter", [0.001, 0.02])
def test_fewer_than_one_client_in_a_thousand_seems_to_have_another_age(jitter: float, new_topics: float) -> None:
    random_ = random.Random(7)  # noqa: S311
    shares = {}
    wrong = 0
    for brokers in range(1, 10):
        found = [found_age(brokers, random_, jitter, new_topics) for _ in range(TRIES)]
        shares[brokers] = 1 - found.count(None) / TRIES
        wrong += sum(each is not None and not AGE_MS * 0.97 <= each <= AGE_MS * 1.05 for each in found)
    assert wrong < 9 * TRIES / 1_000
    assert [shares[brokers] > (0.9, 0.8, 0.6)[brokers - 2] for brokers in (2, 3, 4) if not new_topics] in ([], [True] * 3)
    assert shares[1] > 0.9


REGULAR = [5000, 4990, 5010, 5000, 5000, 5010, 5000, 5000]


def test_regular_intervals_are_the_age() -> None:
    assert age(REGULAR) == {"medianMs": "5000", "leastMs": "4990", "mostMs": "5010", "regular": "8", "intervals": "8"}
    assert not age(REGULAR[1:])
    assert age([2000, 3600, *REGULAR[2:]])["medianMs"] == "5000", "new topics"


@pytest.mark.parametrize("other", [2500, 2600, 1667, 3334, 7500, 10_000])
def test_regular_intervals_beside_their_half_or_their_multiple_may_be_multiples_themselves(other: int) -> None:
    assert len([other, *REGULAR[1:]]) == INTERVALS
    assert not age([other, *REGULAR[1:]])


MULTIPLE = [10_000, 5000, 15_020, 5010, 20_000, 5000, 10_000, 35_300, 5000, 10_010, 5000, 4990]


def test_multiples_of_one_interval_show_it() -> None:
    assert age(MULTIPLE) == {
        "medianMs": "5000", "leastMs": "4990", "mostMs": "5043", "regular": "12", "intervals": "12", "multiples": "true",
    }  # fmt: skip
    assert age([700, *MULTIPLE]) == age(MULTIPLE)
    assert not age(MULTIPLE[1:]), "half of all are multiples of twice as much"


@pytest.mark.parametrize("other", [4000, 5600, 7500, 13_000, 5000 * 21])
def test_one_that_is_no_multiple_is_enough_against_it(other: int) -> None:
    assert len(MULTIPLE) == MULTIPLES
    assert not age([other, *MULTIPLE[1:]])


def test_what_was_seen_twice_alone_may_be_new_topics() -> None:
    assert not age([5000, 5000, *[10_000] * 4, *[15_000] * 4, *[20_000] * 2])
