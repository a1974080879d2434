"""Pushes in Kafka's order: one is held as itself, several as a list; any history ends as a sorted list."""

from __future__ import annotations

import random

import pytest
from fleets import Fleet

from streaming.findings import ordered
from streaming.findings.inputs import JudgedPush


def pushes(number: int) -> list[JudgedPush]:
    fleet = Fleet()
    for each in range(number):
        fleet.push(f"app-{each}", instance=each + 1)
    return list(fleet.engine.clients.all())


@pytest.mark.parametrize("seed", range(5))
def test_whatever_comes_and_goes_the_rest_is_in_order(seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311 - a seeded test
    known: ordered.Several | None = None
    there: list[JudgedPush] = []
    for push in pushes(6) * 5:
        if push in there and known is not None:
            known = ordered.without(known, push)
            there.remove(push)
        elif chance.random() < 0.7:
            known = ordered.added(known, push)
            there.append(push)
        assert list(ordered.each(known)) == sorted(there, key=ordered.order)
        assert isinstance(known, list) == (len(there) > 1), "a list of one is held as the one"


def test_what_is_not_there_takes_nothing_away() -> None:
    one, two, three = pushes(3)
    assert ordered.without(one, two) is one
    assert ordered.each(ordered.without(ordered.added(one, two), three)) == [one, two]
