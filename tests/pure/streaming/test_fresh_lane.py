"""The fresh lane's beginnings and ends, by a scripted clock: it comes and goes with a backlog, and never fails the job."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field

import pytest

from streaming.fresh_lane import BEGINS_ABOVE, ENDS_BELOW, SKIPS_ABOVE, FreshLane


@dataclass
class Script:
    """What the lanes do, and what is done with them."""

    now: float = 100.0
    failing_starts: int = 0
    lanes: list[ScriptedLane] = field(default_factory=list)

    def start(self) -> ScriptedLane:
        if self.failing_starts:
            self.failing_starts -= 1
            raise OSError("no space left\nmore")
        self.lanes.append(ScriptedLane())
        return self.lanes[-1]

    def lane(self) -> FreshLane:
        return FreshLane(self.start, lambda: self.now)


@dataclass
class ScriptedLane:
    failed: str | None = None
    batches: int = 0
    behind: int = 0
    stopped: int = 0
    hangs: bool = False

    def failure(self) -> str | None:
        return self.failed

    def progressed(self) -> bool:
        return self.batches > 0

    def unread(self) -> int:
        return self.behind

    def stop(self) -> None:
        self.stopped += 1
        if self.hangs:
            raise RuntimeError("it doesn't end")


def running(script: Script) -> FreshLane:
    fresh = script.lane()
    fresh.set_unread(BEGINS_ABOVE + 1)
    fresh.look()
    return fresh


def test_it_lasts_from_far_behind_until_caught_up() -> None:
    script = Script()
    fresh = script.lane()
    for unread, wanted in [(0, False), (BEGINS_ABOVE, False), (BEGINS_ABOVE + 1, True), (ENDS_BELOW + 1, True), (ENDS_BELOW, False)]:
        fresh.set_unread(unread)
        fresh.look()
        assert fresh.running is wanted, unread
    assert [lane.stopped for lane in script.lanes] == [1]
    fresh.set_unread(BEGINS_ABOVE)
    fresh.look()
    assert not fresh.running, "as far behind as that it must be again"


def test_a_failure_is_logged_and_tried_again_after_longer_and_longer_pauses(caplog: pytest.LogCaptureFixture) -> None:
    script = Script()
    fresh = running(script)
    for pause in (1, 2, 4, 8, 16, 32, 60, 60):
        script.lanes[-1].failed = "Job aborted\nat scala"
        fresh.look()
        assert not fresh.running and script.lanes[-1].stopped == 1
        script.now += pause - 0.5
        fresh.look()
        assert not fresh.running, "too early"
        script.now += 0.5
        fresh.look()
        assert fresh.running
    assert (fresh.starts, fresh.failures) == (9, 8)
    said = [r.getMessage() for r in caplog.records if "failed" in r.getMessage()]
    assert said[0] == "the lane of new pushes failed, and is tried again in 1 s: Job aborted"
    assert {r.levelno for r in caplog.records} == {logging.WARNING}
    script.lanes[-1].failed, script.lanes[-1].batches = "again", 1
    fresh.look()
    script.now += 1
    fresh.look()
    assert fresh.running, "after a batch it is a first failure again"


def test_one_that_is_behind_itself_begins_again_at_the_end() -> None:
    script = Script()
    fresh = running(script)
    script.lanes[0].behind = SKIPS_ABOVE
    fresh.look()
    assert len(script.lanes) == 1
    script.lanes[0].behind += 1
    fresh.look()
    fresh.look()
    assert [lane.stopped for lane in script.lanes] == [1, 0] and fresh.running
    assert fresh.failures == 0


@pytest.mark.parametrize("ended_by", ["the job", "the query"])
def test_one_that_can_not_be_ended_is_left_alone(ended_by: str, caplog: pytest.LogCaptureFixture) -> None:
    script = Script()
    fresh = running(script)
    script.lanes[-1].hangs = True
    if ended_by == "the job":
        fresh.stop()
        fresh.stop()
    else:
        fresh.set_unread(0)
        fresh.look()
    assert not fresh.running and script.lanes[0].stopped == 1
    assert "could not be ended: it doesn't end" in caplog.text
