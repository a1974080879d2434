"""Retries of a message, and that one receiver's failures don't affect others."""

from __future__ import annotations

import queue
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from alert_receivers import message
from made_findings import made
from observe import eventually

from sinks.alerts import retries
from sinks.alerts.message import Message
from sinks.alerts.retries import Schedule, delay_s
from sinks.alerts.sending import OK, SendResult
from sinks.alerts.worker import Delivered, ReceiverWorker

FAILED = SendResult("failed", "HTTP 500")


def test_f30_the_wait_doubles_with_jitter_and_has_an_end() -> None:
    lowest = [delay_s(attempt, FAILED, lambda: 0.0) for attempt in range(1, 13)]
    highest = [delay_s(attempt, FAILED, lambda: 1.0) for attempt in range(1, 13)]
    assert lowest[:4] == [1.0, 2.0, 4.0, 8.0]
    assert highest[:4] == [2.0, 4.0, 8.0, 16.0]
    assert max(highest) == retries.LONGEST_S == delay_s(1_000_000, FAILED, lambda: 1.0)


def test_f30_a_retry_after_is_kept_to_and_bounded() -> None:
    assert delay_s(1, SendResult("failed", "", 30.0), lambda: 0.0) == 30.0
    assert delay_s(1, SendResult("failed", "", 30.0), lambda: 1.0) == 33.0
    assert delay_s(9, SendResult("failed", "", 1.0), lambda: 0.0) == 256.0, "a short one doesn't shorten the wait"
    assert delay_s(1, SendResult("failed", "", 9e9), lambda: 0.0) == retries.LONGEST_RETRY_AFTER_S


def test_f30_attempts_are_capped_and_other_receivers_are_served_meanwhile() -> None:
    schedule: Schedule[str] = Schedule(lambda: 0.0, limit=3, max_attempts=3)
    schedule.add("poison", 0.0)
    schedule.add("fine", 0.0)
    poison = schedule.take(0.0)
    assert poison is not None and poison.message == "poison"
    assert schedule.failed(poison, FAILED, 0.0)
    fine = schedule.take(0.0)
    assert fine is not None and fine.message == "fine"
    assert schedule.take(0.9) is None
    again = schedule.take(schedule.next_due() or 0.0)
    assert again is poison
    assert schedule.failed(poison, FAILED, 1.0)
    assert schedule.take(10.0) is poison
    assert not schedule.failed(poison, FAILED, 10.0), "the third is the last"
    assert poison.attempts == 3


def test_a_retry_after_is_for_the_receiver() -> None:
    schedule: Schedule[str] = Schedule(lambda: 0.0, limit=3, max_attempts=9)
    schedule.add("one", 0.0)
    schedule.add("two", 0.0)
    one = schedule.take(0.0)
    assert one is not None
    schedule.failed(one, SendResult("failed", "HTTP 429", 50.0), 0.0)
    assert schedule.take(49.0) is None
    two = schedule.take(50.0)
    assert two is not None and two.message == "two"


def test_f30_the_queue_is_bounded() -> None:
    schedule: Schedule[str] = Schedule(lambda: 0.0, limit=1, max_attempts=9)
    schedule.add("one", 0.0)
    assert not schedule.room()


@contextmanager
def working(send: Callable[[Message], SendResult], max_attempts: int = 3) -> Iterator[Any]:
    settled: queue.SimpleQueue[Delivered] = queue.SimpleQueue()
    attempts: list[tuple[str, int]] = []
    schedule: Schedule[Message] = Schedule(lambda: 0.0, 2, max_attempts)
    worker = ReceiverWorker(
        "hook", send, schedule, settled, lambda name, result, attempt, seconds: attempts.append((result.outcome, attempt))
    )
    worker.start()
    try:
        yield worker, settled, attempts
    finally:
        worker.stop()
        worker.join(10)
        assert not worker.is_alive()


def test_f30_a_worker_gives_up_in_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retries, "BASE_S", 0.02)
    with working(lambda sending: FAILED) as (worker, settled, attempts):
        assert worker.offer(message())
        given_up = settled.get(timeout=10)
        assert (given_up.attempts, given_up.result.reason, attempts) == (3, "HTTP 500", [("failed", 1), ("failed", 2), ("failed", 3)])
        assert eventually(lambda: worker.length() == 0)


def test_a_workers_own_error_is_a_failed_attempt_and_quotes_nothing(caplog: pytest.LogCaptureFixture) -> None:
    def broken(sending: Message) -> SendResult:
        raise ValueError("canary-secret")

    with working(broken, max_attempts=1) as (worker, settled, _):
        worker.offer(message())
        assert settled.get(timeout=10).result.reason == "an error of clientscope's own: ValueError"
    assert "canary-secret" not in caplog.text


def test_gone_ends_all_that_waits() -> None:
    results = iter((SendResult("gone", "HTTP 410"),))
    with working(lambda sending: next(results)) as (worker, settled, _):
        worker.offer(message(made(1)))
        assert settled.get(timeout=10).result.outcome == "gone"
        assert worker.length() == 0


def test_f30_what_is_beyond_the_queue_is_refused_at_once() -> None:
    entered: queue.SimpleQueue[None] = queue.SimpleQueue()
    let_go: queue.SimpleQueue[None] = queue.SimpleQueue()

    def slow(sending: Message) -> SendResult:
        entered.put(None)
        let_go.get(timeout=10)
        return OK

    with working(slow) as (worker, settled, _):
        worker.offer(message(made(0)))
        entered.get(timeout=10)
        assert [worker.offer(message(made(number))) for number in (1, 2, 3)] == [True, True, False]
        assert worker.length() == 3
        for _ in range(3):
            let_go.put(None)
        assert {settled.get(timeout=10).message.plan.id for _ in range(3)} == {message(made(number)).plan.id for number in (0, 1, 2)}
