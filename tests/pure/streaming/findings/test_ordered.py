"""Pushes in Kafka's order; that any history ends as a sorted list, test_findings_incremental.py shows."""

from __future__ import annotations

from fleets import Fleet

from streaming.findings import ordered


def test_what_is_not_there_takes_nothing_away(fleet: Fleet) -> None:
    for each in range(3):
        fleet.push(f"app-{each}", instance=each + 1)
    one, two, three = fleet.engine.clients.all()
    assert ordered.without(one, two) is one
    assert ordered.each(ordered.without(ordered.added(one, two), three)) == [one, two]
