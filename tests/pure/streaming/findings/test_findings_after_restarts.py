"""A job that is stopped anywhere comes to the same findings as one that never was: over histories that Hypothesis makes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import reduce
from typing import Any

import fleets
from fleets import MINUTE, Fleet, Step, essentials, histories, told
from golden import cases
from hypothesis import HealthCheck, example, given, settings

from streaming.findings.book import COUNTS_EVERY_MS

steps = histories(
    "starts", "pushes", "requests", "leaves", "a minute passes", "minutes pass", "job restarts", "gateway restarts", "decides"
)


class Story(fleets.Story):
    """Plays steps; a restart of the job is one only where it is wanted."""

    def __init__(self, restarts: bool) -> None:
        super().__init__()
        self._restarts = restarts
        self.restarts_ms: list[int] = []

    def step(self, what: str, client: int, which: int) -> None:
        super().step(what, client, which)
        if what == "job restarts":
            self.restarts_ms.append(self.fleet.now)
            if self._restarts:
                self.fleet.start()
            else:
                self._begins_anew()
        elif what == "decides" and (leaks := self.fleet.findings("SK001")):
            self.fleet.decide(leaks[0].fingerprint, "rotated")

    def _begins_anew(self) -> None:
        """What a job counts by its own time begins at its start: ten seconds until clients are compared, and how long nobody has had it."""
        engine, book = self.fleet.engine, self.fleet.engine.book
        engine._comparisons._compared_ms = 0
        book._dirty.update(book.entries)
        for entry in book.entries.values():
            if entry.standing.is_open:
                entry.standing = replace(entry.standing, quiet_since_ms=None)


def must_hold(fleet: Fleet) -> None:
    """After any history."""
    for finding in fleet.findings():
        assert finding.kind != "leak" or finding.state != "resolved"
        assert finding.state == "open" or not finding.client_count or finding.decided
        assert finding.first_seen_ms <= finding.opened_ms <= fleet.now
        # What comparing finds at a start alone, of clients that have left before it, is listed and doesn't alert.
        is_of_the_past = finding.kind == "fleet" and not finding.client_count
        assert (finding.alert is None) == (finding.code == "SK004") or is_of_the_past
        assert finding.alert is None or finding.alert.number >= finding.reopened
        assert len({client.instance_id for client in finding.clients}) == len(finding.clients)


def outcome(restarts: bool, history: list[Step]) -> tuple[dict[str, dict[str, Any]], list[int]]:
    """The findings, and when the job was to restart."""
    story = Story(restarts)
    story.play(history)
    story.fleet.later(20 * MINUTE)
    story.fleet.later(MINUTE)
    must_hold(story.fleet)
    # What a client pushed before its newest push isn't there to be compared with after a restart, as it isn't after compaction.
    found = {finding.fingerprint: essentials(finding) for finding in story.fleet.findings() if finding.code != "AN401"}
    return found, story.restarts_ms


def played(test: Callable[[list[Step]], None]) -> Callable[[list[Step]], None]:
    """With the histories of `cases` too."""
    return reduce(lambda made, case: example(told(case[1]))(made), cases(__file__, "restarts.txt"), test)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(steps)
@played
def test_f31_a_restart_anywhere_changes_nothing(history: list[Step]) -> None:
    (restarted, restarts_ms), (never, _) = outcome(True, history), outcome(False, history)
    seen, seen_never = ({which: each.pop("last_seen_ms") for which, each in said.items()} for said in (restarted, never))
    assert restarted == never
    for fingerprint, at_ms in seen_never.items():
        # A push that its client has replaced is on the topic as late as counts are, so a restart may come first.
        is_lost = any(0 <= restart_ms - at_ms <= COUNTS_EVERY_MS for restart_ms in restarts_ms)
        assert seen[fingerprint] == at_ms or (is_lost and seen[fingerprint] < at_ms)
