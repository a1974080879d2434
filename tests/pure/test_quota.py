"""quota: whatever comes when, no more passes than the buckets hold, and the wait that is told is the true one."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from clientscope.gateway.quota import PushQuota, Rate

PUSHES = st.lists(st.tuples(st.integers(0, 4), st.floats(0, 5)), max_size=200)


def test_a_client_that_pushes_once_passes_and_a_crash_loop_is_told_to_wait() -> None:
    quota = PushQuota(Rate(0.5, 3), Rate(1000, 1000))
    assert [quota.take("loop", float(second)) for second in range(4)] == [0, 0, 0, 0]
    assert quota.take("loop", 4.0) == 0
    assert quota.take("loop", 4.5) == 1500
    assert quota.take("other", 4.5) == 0


def test_the_bucket_for_all_holds_whoever_changes_its_name() -> None:
    quota = PushQuota(Rate(1, 1), Rate(10, 5))
    assert [quota.take(f"new-{number}", 0.0) for number in range(6)] == [0, 0, 0, 0, 0, 100]


def test_a_refused_push_costs_nothing() -> None:
    quota = PushQuota(Rate(1, 1), Rate(100, 2))
    assert quota.take("a", 0.0) == 0
    assert all(quota.take("a", 0.0) == 1000 for _ in range(50))
    assert quota.take("b", 0.0) == 0


def test_no_more_clients_are_remembered_than_may_be() -> None:
    quota = PushQuota(Rate(1, 1), Rate(1e9, 10**9), most_clients=3)
    for number in range(10):
        quota.take(number, 0.0)
    assert len(quota) == 3
    assert quota.take(9, 0.0) > 0
    assert quota.take(0, 0.0) == 0  # forgotten, hence full again


@given(PUSHES, st.floats(0.1, 10), st.integers(1, 5), st.floats(0.1, 20), st.integers(1, 10))
def test_never_more_than_burst_and_rate_allow(
    pushes: list[tuple[int, float]], rate: float, burst: int, rate_all: float, burst_all: int
) -> None:
    quota = PushQuota(Rate(rate, burst), Rate(rate_all, burst_all))
    now, passed = 0.0, []
    for client, pause in pushes:
        now += pause
        wait_ms = quota.take(client, now)
        if wait_ms == 0:
            passed.append((client, now))
        else:
            assert quota.take(client, now) == wait_ms
    for client in {None, *(client for client, _ in passed)}:
        times = [at for who, at in passed if client is None or who == client]
        limit, most = (rate_all, burst_all) if client is None else (rate, burst)
        for first, start in enumerate(times):
            for last in range(first, len(times)):
                assert last - first + 1 <= most + (times[last] - start) * limit + 1e-6


@given(PUSHES, st.integers(0, 4))
def test_after_the_wait_that_was_told_it_passes(pushes: list[tuple[int, float]], client: int) -> None:
    quota = PushQuota(Rate(0.7, 2), Rate(3, 4))
    now = 0.0
    for other, pause in pushes:
        now += pause
        quota.take(other, now)
    wait_ms = quota.take(client, now)
    if wait_ms > 1:
        assert quota.take(client, now + (wait_ms - 1.001) / 1000) > 0
    if wait_ms:
        assert quota.take(client, now + wait_ms / 1000 + 1e-6) == 0
