"""The guard: which pushes are refused, for how long, and when the circuit opens and closes."""

from __future__ import annotations

from clientscope.gateway.policy.runner import MOST_CLIENTS, PolicyGuard


def test_a_client_that_failed_waits_and_no_other() -> None:
    guard = PolicyGuard(penalty_s=30)
    assert not guard.failed("bad", 100.0)
    assert guard.wait_s("bad", 110.0) == 20.0
    assert guard.wait_s("good", 110.0) == 0.0
    assert guard.wait_s("bad", 131.0) == 0.0


def test_only_failures_of_different_clients_in_a_row_open_the_circuit() -> None:
    guard = PolicyGuard(failures=3, bypass_s=30)
    assert not any(guard.failed("the same", float(second)) for second in range(10))
    guard.succeeded()
    assert [guard.failed(client, 50.0) for client in "ab"] == [False, False]
    guard.succeeded()
    assert [guard.failed(client, 60.0) for client in "abc"] == [False, False, True]
    assert guard.wait_s("good", 70.0) == 20.0
    assert guard.bypass_left_s(90.0) == 0.0


def test_after_a_bypass_one_failure_opens_it_again_and_one_success_closes_it() -> None:
    guard = PolicyGuard(failures=3, bypass_s=30)
    guard.bypass(0.0)
    assert guard.failed("a", 31.0)
    assert guard.bypass_left_s(31.0) == 30.0
    guard.succeeded()
    assert not guard.failed("b", 62.0)


def test_a_process_that_dies_by_itself_again_and_again_opens_it_too() -> None:
    guard = PolicyGuard(failures=3)
    assert [guard.failed(None, float(second)) for second in range(3)] == [False, False, True]


def test_no_more_clients_are_remembered_than_may_be() -> None:
    guard = PolicyGuard(penalty_s=30)
    for number in range(MOST_CLIENTS + 5):
        guard.failed(number, 0.0)
        guard.succeeded()
    assert guard.wait_s(0, 1.0) == 0.0
    assert guard.wait_s(MOST_CLIENTS, 1.0) == 29.0
