"""The policy's process: a failure of the policy affects the client that caused it, and no other."""

from __future__ import annotations

import asyncio
import os
import time
import uuid
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from concurrent.futures import Future
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import cache, wraps
from pathlib import Path
from typing import Any

import pytest
from observe import children, is_gone, process_name
from places import TESTS
from prometheus_client import CollectorRegistry
from refusals import refused
from request_contexts import CONTEXT, Counts
from spawned_template import SpawnedTemplate

from clientscope.gateway.policy import runner
from clientscope.gateway.policy.metrics import PolicyMetrics
from clientscope.gateway.policy.plan import PolicyPlan
from clientscope.gateway.policy.runner import WAITING_PUSHES, PolicyGuard, PolicyRunner
from clientscope.policy.interface import ClientConfig, ClientConfigData, RequestContext
from clientscope.session.state import PushAnswer
from clientscope.wire.codes import INVALID_CONFIG, NONE, THROTTLING_QUOTA_EXCEEDED

ACTING = "bad_policies.Acting"


@cache
def template() -> SpawnedTemplate:
    """One for all tests: each forks policies' processes of its own from it."""
    return SpawnedTemplate()


@pytest.fixture(scope="module", autouse=True)
def _importable() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join([str(TESTS / "pure"), os.environ.get("PYTHONPATH", "")]))
        yield
    template().close()


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody is answered early: on a busy machine a process, which has the lowest priority, may need more than the 100 ms."""
    monkeypatch.setattr(runner, "ANSWER_WITHIN_S", 30.0)


patiently = pytest.mark.usefixtures("patient")


class Case:
    """A runner, what it counted, and what it was asked to publish."""

    def __init__(self, configs: dict[str, Any], **limits: Any) -> None:
        self.counted = Counts()
        self.published: list[tuple[str, Future[None]]] = []
        self.registry = CollectorRegistry()
        guard = PolicyGuard(**limits.pop("guard", {}))
        plan = PolicyPlan(limits.pop("class_name", ACTING), configs, frozenset(configs), **limits)
        metrics = PolicyMetrics(self.registry, lambda: 0)
        self.runner = PolicyRunner(plan, template(), self._publish, self.counted, metrics, guard)

    def _publish(self, topic: str, key: str, value: bytes) -> Future[None]:
        future: Future[None] = Future()
        self.published.append((key, future))
        if not key.startswith("held"):
            future.set_result(None)
        return future

    async def push(self, client: str = "good", **settings: str) -> PushAnswer:
        """Pushes as this client."""
        return await self.runner.judge(who(client), data(**settings))

    async def pid(self) -> str:
        """The process id of the worker."""
        return str((await self.push("asks for the pid", act="pid")).error_message)

    def metric(self, name: str, **labels: str) -> float:
        return self.registry.get_sample_value(f"clientscope_client_config_{name}", labels) or 0.0


def who(client: str) -> RequestContext:
    return replace(CONTEXT, client_instance_id=uuid.uuid5(uuid.NAMESPACE_DNS, client), client_id=client)


def data(**settings: str) -> ClientConfigData:
    return ClientConfigData(tuple(ClientConfig(key, value, 1, False) for key, value in settings.items()), 0)


@asynccontextmanager
async def running(configs: dict[str, Any] | None = None, patience_s: float = 5.0, **limits: Any) -> AsyncIterator[Case]:
    case = Case(configs or {}, **limits)
    await case.runner.start()
    try:
        yield case
    finally:
        await case.runner.close(patience_s)
        assert await eventually(lambda: not processes())


async def eventually(condition: Callable[[], bool], timeout_s: float = 20.0) -> bool:
    deadline = time.monotonic() + timeout_s
    while not condition() and time.monotonic() < deadline:  # noqa: ASYNC110  any condition
        await asyncio.sleep(0.01)
    return condition()


def processes() -> list[int]:
    """The ids of the policies' processes."""
    return [pid for pid in children(os.getpid()) if process_name(pid) == "gw-policy" and not is_gone(pid)]


def in_a_loop(test: Callable[..., Awaitable[None]]) -> Callable[..., None]:
    @wraps(test)
    def run(**fixtures: Any) -> None:
        asyncio.run(asyncio.wait_for(test(**fixtures), 60))

    return run


@patiently
@in_a_loop
async def test_the_answer_follows_the_policy(capfd: pytest.CaptureFixture[str]) -> None:
    async with running() as it:
        assert await it.push() == PushAnswer(NONE)
        assert await it.push(act="refuse") == PushAnswer(INVALID_CONFIG, "acks must be all")
        assert await it.push(act="raise") == PushAnswer(-1, "the policy failed")
        assert await it.push(publish="k") == PushAnswer(NONE)
        assert await it.push(publish="l", act="refuse") == PushAnswer(INVALID_CONFIG, "acks must be all"), "it is published all the same"
        assert await it.push(publish="m", size=str(2**20 + 1)) == PushAnswer(-1, "the policy failed"), "no topic takes it"
        assert [key for key, _ in it.published] == ["k", "l"]
        assert it.metric("pushes_total") == 6
        assert it.metric("errors_total", reason="invalid_config") == it.metric("errors_total", reason="policy_error") == 2
        assert it.metric("process_time_seconds_count") == 6
    said = capfd.readouterr().err
    assert "ValueError at bad_policies.py:" in said and "hunter2" not in said


@in_a_loop
async def test_an_answer_waits_for_kafka_and_tells_to_try_again_where_the_record_was_given_up() -> None:
    async with running() as it:
        lost = asyncio.ensure_future(it.push(publish="held"))
        await eventually(lambda: bool(it.published))
        it.published[0][1].set_exception(RuntimeError("full"))
        assert await lost == PushAnswer(THROTTLING_QUOTA_EXCEEDED, "the push could not be published", 1000)
        assert await it.push(publish="held too") == PushAnswer(NONE)
        assert it.counted["pushes_answered_early", "timeout"] == 1
        it.published[1][1].set_result(None)


@in_a_loop
async def test_an_answer_waits_for_the_policy_however_long_it_may_take_and_no_longer() -> None:
    async with running(deadline_s=2.0) as it:
        refused = PushAnswer(INVALID_CONFIG, "acks must be all")
        assert await it.push("slow", act="refuse late") == refused, "after 150 ms"
        await asyncio.gather(*(it.push(f"{number}", act="sleep a little") for number in range(5)))
        assert not it.counted["pushes_answered_early", "timeout"] + it.counted["pushes_answered_early", "deadline"]
    async with running(deadline_s=0.4) as it:
        before = [asyncio.ensure_future(it.push(f"{number}", act="sleep a little")) for number in range(4)]
        await asyncio.sleep(0)
        assert await it.push("behind", act="refuse late") == PushAnswer(NONE), "behind 0.6 s of others"
        assert await eventually(lambda: it.counted["pushes_rejected_late", "invalid_config"] == 1)
        assert it.counted["pushes_answered_early", "deadline"] >= 1
        await asyncio.gather(*before)


@in_a_loop
async def test_a_process_without_a_push_has_no_deadline() -> None:
    async with running(deadline_s=0.2) as it:
        before = await it.pid()
        await asyncio.sleep(0.3)
        assert await it.pid() == before


@patiently
@in_a_loop
async def test_f17_a_policy_that_leaks_gets_a_new_process_before_it_fails() -> None:
    async with running(memory_bytes=256 * 1024 * 1024, deadline_s=5.0) as it:
        for number in range(30):
            assert (await it.push(f"client {number}", act="leak")).error_code == NONE
        assert it.metric("policy_restarts_total", reason="memory") >= 2
        assert await eventually(lambda: it.counted["pushes", "accepted"] == 30)
        assert not [key for key in it.counted if key[0] == "lost"]


@patiently
@in_a_loop
async def test_f17_one_bad_client_after_the_other_opens_the_circuit_and_nothing_is_lost_while_it_is_open() -> None:
    async with running(guard={"failures": 3, "bypass_s": 0.4, "penalty_s": 0.4}) as it:
        for number in range(3):
            assert (await it.push(f"bad {number}", act="exit")).error_code == THROTTLING_QUOTA_EXCEEDED
        refused = await it.push("good", publish="k")
        assert refused.error_code == THROTTLING_QUOTA_EXCEEDED and 0 < refused.throttle_time_ms <= 400
        assert it.counted["pushes_refused", "bypassed"] >= 1 and it.metric("policy_bypassed") == 1
        await asyncio.sleep(0.45)
        assert (await it.push("good", publish="k")).error_code == NONE
        assert it.metric("policy_bypassed") == 0
        assert await eventually(lambda: len(it.published) == 1)


@in_a_loop
async def test_pushes_that_were_answered_early_outlive_an_open_circuit() -> None:
    async with running(guard={"failures": 2, "bypass_s": 0.5, "penalty_s": 5.0}) as it:
        bad = [asyncio.ensure_future(it.push(f"bad {number}", act="sleep")) for number in range(2)]
        await asyncio.sleep(0)
        assert await it.push("good", publish="k") == PushAnswer(NONE)  # early: two sleepers are before it
        assert await eventually(lambda: it.metric("policy_bypassed") == 1)
        assert not it.published
        assert await eventually(lambda: len(it.published) == 1)
        await asyncio.gather(*bad)


@in_a_loop
async def test_a_full_queue_is_throttled() -> None:
    async with running(patience_s=0.1, deadline_s=0.5) as it:
        answers = await asyncio.gather(*(it.push(f"{number}", act="sleep") for number in range(WAITING_PUSHES + 10)))
        # Ten find no room, and one is the first that the policy hangs on.
        assert Counter(answer.error_code for answer in answers) == {NONE: WAITING_PUSHES - 1, THROTTLING_QUOTA_EXCEEDED: 11}
        assert it.counted["pushes_refused", "throttled"] == 10
        assert it.counted["pushes_answered_early", "deadline"] == WAITING_PUSHES - 1
    assert it.counted["lost", "stopped"] == WAITING_PUSHES - 1


@patiently
@in_a_loop
async def test_a_process_that_dies_by_itself_is_replaced_and_nobody_is_blamed() -> None:
    async with running() as it:
        assert (await it.push("bad", act="die_later")).error_code == NONE
        assert await eventually(lambda: it.metric("policy_restarts_total", reason="policy_crash") == 1)
        assert (await it.push("bad", publish="k")).error_code == NONE
        assert await eventually(lambda: [key for key, _ in it.published] == ["k"])


@patiently
@in_a_loop
async def test_closing_while_it_is_started_again_leaves_no_process() -> None:
    async with running({"start": "sleep a little"}, deadline_s=5.0) as it:
        assert (await it.push("bad", act="exit")).error_code == THROTTLING_QUOTA_EXCEEDED


@patiently
@in_a_loop
async def test_reconfiguring_while_it_runs(caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]) -> None:
    async def greets(it: Case, wanted: str) -> bool:
        """Whether it comes to this greeting; a process that starts anew doesn't answer in time at first."""
        deadline = time.monotonic() + 20
        while (greeting := (await it.push(act="greet")).error_message) is None and time.monotonic() < deadline:  # noqa: ASYNC110  any greeting
            await asyncio.sleep(0.01)
        return greeting == wanted

    async with running({"greeting": "hello", "fixed": "1"}) as it:
        assert await it.runner.reconfigure({"greeting": "good day", "fixed": "1"})
        assert await greets(it, "good day")
        for wrong in ({"greeting": "rude", "fixed": "1"}, {"greeting": "hi", "fixed": "2"}, {"greeting": "break", "fixed": "1"}):
            assert not await it.runner.reconfigure(wrong)
            assert await greets(it, "good day")
        assert (await it.push("bad", act="exit")).error_code == THROTTLING_QUOTA_EXCEEDED
        assert await greets(it, "good day")
    assert "the greeting is rude" in caplog.text
    assert "fixed can't change while it runs (may change: greeting)" in caplog.text
    assert "reconfigure raised ValueError at bad_policies.py:" in caplog.text
    assert "hunter2" not in caplog.text + capfd.readouterr().err


@pytest.mark.parametrize(
    ("class_name", "configs", "message"),
    [
        ("nowhere.Policy", {}, "nowhere.Policy: No module named"),
        ("pathlib.Path", {}, "is not a ClientConfigPolicy"),
        (ACTING, {"start": "refuse"}, "no start"),
        (ACTING, {"start": "raise"}, "configure raised ValueError at bad_policies.py"),
        (ACTING, {"start": "exit"}, "the policy's process ended meanwhile"),
    ],
)
@in_a_loop
async def test_a_policy_that_can_not_start_is_an_error(class_name: str, configs: dict[str, Any], message: str) -> None:
    it = Case(configs, class_name=class_name)
    with refused(message) as caught:
        await it.runner.start()
    assert "hunter2" not in str(caught.value)
    assert await eventually(lambda: not processes())


@in_a_loop
async def test_closing_lets_what_waits_be_processed_and_closes_the_policy(tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    async with running({"closed.file": str(closed)}) as it:
        pushes = [asyncio.ensure_future(it.push(f"client {number}", publish=str(number))) for number in range(300)]
        await asyncio.sleep(0)
    assert {(await push).error_code for push in pushes} == {NONE}
    assert len(it.published) == 300
    assert closed.read_text() == "closed\n"


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
