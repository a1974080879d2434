"""gateway/quota: never more pushes pass than the buckets hold, and a push passes after the wait that was returned."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from clientscope.gateway.quota import PushQuota, PushRate

PUSHES = st.lists(st.tuples(st.integers(0, 4), st.floats(0, 5)), max_size=200)


def test_no_more_clients_are_remembered_than_may_be() -> None:
    quota = PushQuota(PushRate(1, 1), PushRate(1e9, 10**9), most_clients=3)
    for number in range(10):
        quota.take(number, 0.0)
    assert len(quota) == 3
    assert quota.take(9, 0.0) > 0
    assert quota.take(0, 0.0) == 0  # forgotten, hence full again


@given(PUSHES, st.floats(0.1, 10), st.integers(1, 5), st.floats(0.1, 20), st.integers(1, 10))
def test_never_more_than_burst_and_rate_allow(
    pushes: list[tuple[int, float]], rate: float, burst: int, rate_all: float, burst_all: int
) -> None:
    quota = PushQuota(PushRate(rate, burst), PushRate(rate_all, burst_all))
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
def test_a_push_passes_after_the_wait_that_was_returned(pushes: list[tuple[int, float]], client: int) -> None:
    quota = PushQuota(PushRate(0.7, 2), PushRate(3, 4))
    now = 0.0
    for other, pause in pushes:
        now += pause
        quota.take(other, now)
    wait_ms = quota.take(client, now)
    if wait_ms > 1:
        assert quota.take(client, now + (wait_ms - 1.001) / 1000) > 0
    if wait_ms:
        assert quota.take(client, now + wait_ms / 1000 + 1e-6) == 0


NO_LIMIT = PushRate(1e9, 10**9)


def test_f44_whoever_invents_ids_meets_the_quotas_of_its_principal_and_its_address() -> None:
    for principal, whose in (("User:mallory", "quota_principal"), (None, "quota_address")):
        quota = PushQuota(PushRate(1, 10), NO_LIMIT, per_principal=PushRate(50, 100), per_address=PushRate(10, 200))
        passed = sum(
            quota.take(number, 0.0, principal=principal, address=f"10.0.0.{number % 3 if principal else 1}") == 0 for number in range(617)
        )
        assert (passed, quota.refused_by) == (100 if principal else 200, whose)
        assert len(quota) == passed, "of those that were refused nothing is kept"
        assert quota.take("new", 0.0, principal="User:victim", address="10.0.0.99") == 0, "and nobody else waits"


def test_f44_an_ipv6_host_has_one_bucket_for_all_its_addresses() -> None:
    quota = PushQuota(NO_LIMIT, NO_LIMIT, per_address=PushRate(1, 5))
    assert sum(quota.take(number, 0.0, address=f"2001:db8:1:2::{number:x}") == 0 for number in range(100)) == 5
    assert quota.take("other", 0.0, address="2001:db8:1:3::1") == 0
