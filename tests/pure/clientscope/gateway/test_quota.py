"""gateway/quota: never more pushes pass than the buckets hold, and a push passes after the wait that was returned."""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st
from request_contexts import CONTEXT

from clientscope.gateway.quota import PushQuota, PushRate
from clientscope.policy.interface import RequestContext

PUSHES = st.lists(st.tuples(st.integers(0, 4), st.floats(0, 5)), max_size=200)


NO_LIMIT = PushRate(1e9, 10**9)


def quota(
    per_client: PushRate = NO_LIMIT, in_all: PushRate = NO_LIMIT, principal: PushRate = NO_LIMIT, address: PushRate = NO_LIMIT
) -> PushQuota:
    return PushQuota({"quota_all": in_all, "quota_address": address, "quota_principal": principal, "quota": per_client})


def push(client: int, principal: str | None = None, address: str = "10.0.0.1") -> RequestContext:
    return replace(CONTEXT, client_instance_id=UUID(int=client), principal=principal, client_address=address)


@given(PUSHES, st.floats(0.1, 10), st.integers(1, 5), st.floats(0.1, 20), st.integers(1, 10))
def test_never_more_than_burst_and_rate_allow(
    pushes: list[tuple[int, float]], rate: float, burst: int, rate_all: float, burst_all: int
) -> None:
    limited = quota(PushRate(rate, burst), PushRate(rate_all, burst_all))
    now, passed = 0.0, []
    for client, pause in pushes:
        now += pause
        wait_ms = limited.take(push(client), now)
        if wait_ms == 0:
            passed.append((client, now))
        else:
            assert limited.take(push(client), now) == wait_ms
    for client in {None, *(client for client, _ in passed)}:
        times = [at for who, at in passed if client is None or who == client]
        limit, most = (rate_all, burst_all) if client is None else (rate, burst)
        for first, start in enumerate(times):
            for last in range(first, len(times)):
                assert last - first + 1 <= most + (times[last] - start) * limit + 1e-6


@given(PUSHES, st.integers(0, 4))
def test_a_push_passes_after_the_wait_that_was_returned(pushes: list[tuple[int, float]], client: int) -> None:
    limited = quota(PushRate(0.7, 2), PushRate(3, 4))
    now = 0.0
    for other, pause in pushes:
        now += pause
        limited.take(push(other), now)
    wait_ms = limited.take(push(client), now)
    if wait_ms > 1:
        assert limited.take(push(client), now + (wait_ms - 1.001) / 1000) > 0
    if wait_ms:
        assert limited.take(push(client), now + wait_ms / 1000 + 1e-6) == 0


def test_f44_whoever_invents_ids_meets_the_quotas_of_its_principal_and_its_address() -> None:
    for principal, whose in (("User:mallory", "quota_principal"), (None, "quota_address")):
        limited = quota(PushRate(1, 10), principal=PushRate(50, 100), address=PushRate(10, 200))
        pushes = [push(number, principal, f"10.0.0.{number % 3 if principal else 1}") for number in range(617)]
        passed = sum(limited.take(each, 0.0) == 0 for each in pushes)
        assert (passed, limited.refused_by) == (100 if principal else 200, whose)
        assert len(limited._buckets["quota"]._buckets) == passed, "of those that were refused nothing is kept"
        assert limited.take(push(999, "User:victim", "10.0.0.99"), 0.0) == 0, "and nobody else waits"


def test_f44_an_ipv6_host_has_one_bucket_for_all_its_addresses() -> None:
    limited = quota(address=PushRate(1, 5))
    assert sum(limited.take(push(number, address=f"2001:db8:1:2::{number:x}"), 0.0) == 0 for number in range(100)) == 5
    assert limited.take(push(999, address="2001:db8:1:3::1"), 0.0) == 0
