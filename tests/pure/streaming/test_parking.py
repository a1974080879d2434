"""F47: when a query that failed is tried again, and when it counts as running, by the state machine alone."""

from __future__ import annotations

from streaming.failures import Failure
from streaming.supervision import NextStep, Parking, QueryPhase, Restarts

FULL = Failure("No space left on device", "a disk is full", "make room")
DEADLY = Failure("a worker died", fatal_record=True)
DAMAGED = Failure("batch 16 doesn't exist", lasting=True)


def running(settles_s: float = 15.0) -> Parking:
    parking = Parking(settles_s)
    assert parking.looked(0.0, finished=True, idle=True) == NextStep(finding=False), "what an earlier job said is over"
    return parking


def test_pauses_double_up_to_a_minute_without_end_and_begin_anew_after_progress() -> None:
    restarts = Restarts()
    assert [restarts.failed(100.0, progressed=False) for _ in range(9)] == [101, 102, 104, 108, 116, 132, 160, 160, 160]
    for _ in range(2000):
        assert restarts.failed(100.0, progressed=False) == 160
    assert restarts.failed(100.0, progressed=True) == 101


def test_what_will_not_pass_by_itself_is_a_finding_at_once() -> None:
    assert running().failed(10.0, DAMAGED, finished=True) == NextStep(finding=True)


def test_a_batch_that_is_done_ends_it_and_is_said_once() -> None:
    parking = running()
    for now in (10.0, 20.0):
        parking.failed(now, FULL, finished=False)
        parking.started(now + 5.0)
    assert parking.looked(26.0, finished=False, idle=True) == NextStep()
    assert not parking.settled
    assert parking.looked(27.0, finished=True, idle=True) == NextStep(finding=False)
    assert (parking.phase, parking.settled) == (QueryPhase.RUNNING, True)
    assert parking.looked(28.0, finished=True, idle=True) == NextStep()
    assert parking.failed(29.0, FULL, finished=True) == NextStep()
    assert parking.pause_s(29.0) == 1.0, "it begins anew"


def test_without_anything_to_do_it_counts_as_running_after_a_while_but_not_within_a_batch() -> None:
    parking = running(settles_s=120.0)
    parking.failed(10.0, FULL, finished=False)
    parking.started(11.0)
    parking.looked(12.0, finished=False, idle=True)
    parking.looked(200.0, finished=False, idle=False)
    assert parking.phase is QueryPhase.TRYING
    parking.looked(130.9, finished=False, idle=True)
    assert parking.phase is QueryPhase.TRYING
    parking.looked(131.0, finished=False, idle=True)
    assert parking.phase is QueryPhase.RUNNING


def test_workers_that_die_twice_at_the_same_place_make_a_search() -> None:
    parking = running()
    assert not parking.failed(0.0, DEADLY, finished=True).search, "once is an accident"
    parking.started(1.0)
    assert parking.failed(2.0, DEADLY, finished=False).search
    parking.started(5.0)
    assert not parking.failed(6.0, DEADLY, finished=True).search, "at another place"
    parking.started(8.0)
    assert not parking.failed(9.0, FULL, finished=False).search
