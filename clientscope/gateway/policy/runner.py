"""Runner of the policy in a process of its own: a misbehaving plug-in stops neither traffic nor other clients' pushes.

Up to `worker.WINDOW` pushes are with the process at a time. It takes them in order, so the oldest that it has not
reported is the one that it has now: the one to blame when the process ends or lasts too long. The others go to the next process.
"""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections import deque
from collections.abc import Callable, Hashable, Mapping
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from clientscope.bounded import Recent
from clientscope.errors import SettingsError
from clientscope.gateway.channel import Channel
from clientscope.gateway.policy.metrics import PolicyMetrics
from clientscope.gateway.policy.plan import PolicyPlan
from clientscope.gateway.policy.process import Close, Configured, Done, PolicyPush, Publish, Started
from clientscope.gateway.quota import client_of
from clientscope.gateway.template import Template
from clientscope.policy.interface import ClientConfigData, RequestContext
from clientscope.session.state import PushAnswer
from clientscope.wire.codes import INVALID_CONFIG, NONE, THROTTLING_QUOTA_EXCEEDED

MOST_CLIENTS = 10_000


class PolicyGuard:
    """Remembers on whose push the policy's process ended, and opens a circuit once that happens to one client after the other.

    Args:
        penalty_s: how long such a client is throttled.
        failures: so many different clients in a row, and the policy is bypassed.
        bypass_s: for so long; the next failure after it opens the circuit again, the next success closes it for good.
    """

    def __init__(self, penalty_s: float = 30.0, failures: int = 5, bypass_s: float = 30.0) -> None:
        self.penalty_s = penalty_s
        self.bypass_s = bypass_s
        self._failures = failures
        self._blocked: Recent[Hashable, float] = Recent(MOST_CLIENTS)
        self._failed: set[Hashable] = set()
        self._bypassed_until = 0.0

    def wait_s(self, client: Hashable, now_s: float) -> float:
        """How long this client has to wait, 0 where it need not."""
        return max(0.0, self.bypass_left_s(now_s), self._blocked.get(client, 0.0) - now_s)

    def bypass_left_s(self, now_s: float) -> float:
        """How long the policy is still left alone, 0 where it isn't."""
        return max(0.0, self._bypassed_until - now_s)

    def failed(self, client: Hashable | None, now_s: float) -> bool:
        """The process ended on a push of this client, or by itself (None); whether the circuit opens by it."""
        if client is not None:
            self._blocked[client] = now_s + self.penalty_s
        self._failed.add(client if client is not None else ("by itself", now_s))
        if len(self._failed) < self._failures:
            return False
        self.bypass(now_s)
        return True

    def succeeded(self) -> None:
        """A push was processed."""
        self._failed.clear()

    def bypass(self, now_s: float) -> None:
        """Opens the circuit."""
        self._bypassed_until = now_s + self.bypass_s
        # One more failure after it is enough.
        self._failed = {("earlier", number) for number in range(self._failures - 1)}


WINDOW = 32

_START_WITHIN_S = 30.0

_RECONFIGURE_WITHIN_S = 10.0

_CLOSE_WITHIN_S = 2.0

_GRACE_S = 0.02  # a report may lie unread when the deadline comes

_DIED = SettingsError("the policy's process ended meanwhile", "its output is in the gateway's standard error")

_SLOW_START = SettingsError(f"configuring the policy lasts longer than {_START_WITHIN_S:.0f} s")

_SLOW_CHANGE = SettingsError(f"reconfiguring the policy lasts longer than {_RECONFIGURE_WITHIN_S:.0f} s")

PublishToKafka = Callable[[str, str, bytes], "Future[None]"]


@dataclass(eq=False)
class WaitingPush:
    """A push that is on its way.

    Attributes:
        processed: done once the policy's ``process`` has returned, or raised.
        early: its client was answered before it was processed, or before Kafka had it.
        records: done once Kafka has what the policy has published for it.
    """

    push: PolicyPush
    answer: asyncio.Future[PushAnswer]
    processed: asyncio.Future[None]
    early: bool = False
    records: list[asyncio.Future[None]] = field(default_factory=list)


class PolicyWorker:
    """The gateway's end of one worker process.

    Attributes:
        at_work: pushes that it has, in the order in which it takes them; the first is the one that it processes.
        reason: why it ends, as counted.
        closing: it gets no further push.
        spared: what it is killed for, where that is no push's fault.
        deadline_s: how long one ``process`` may last; what begins later has what it says then.
    """

    def __init__(self, template: Template, deadline_s: float, publish: PublishToKafka, owner: PolicyRunner) -> None:
        self.at_work: deque[WaitingPush] = deque()
        self.reason = "policy_crash"
        self.closing = self.ready = False
        self.spared = ""
        self.deadline_s = deadline_s
        self._timer: asyncio.TimerHandle | None = None
        self._template = template
        self._pid = 0
        self._publish = publish
        self._owner = owner
        self._channel: Channel | None = None
        self._answer: asyncio.Future[Configured] | None = None
        self._ended = asyncio.Event()

    async def start(self, plan: PolicyPlan) -> None:
        """Forks it and configures the policy.

        Raises:
            SettingsError: the policy isn't there, or refuses its settings, or dies of them.
            OSError: there is nothing to fork it from.
        """
        ours = self._template.fork_policy()
        loop = asyncio.get_running_loop()
        _, self._channel = await loop.create_unix_connection(lambda: Channel(self._received, self._lost), sock=ours)
        try:
            answer = await self._ask(self._channel, plan, _START_WITHIN_S, _SLOW_START)
        except asyncio.CancelledError:  # the runner is closed meanwhile
            self.kill()
            self._channel.close()  # of which it ends too, if its id hasn't come yet
            raise
        problem = answer.problem
        if problem is None and self._ended.is_set():
            problem = _DIED
        if problem is not None:
            self.kill(spared="start")
            await self._until_ended()
            raise SettingsError(str(problem), problem.hint)
        self.ready = True

    @property
    def has_room(self) -> bool:
        """Whether it takes a push now."""
        return self.ready and not self.closing and len(self.at_work) < WINDOW

    def take(self, waiting: WaitingPush) -> bool:
        """Hands it a push; whether it could."""
        if self._channel is None or not self._channel.send(waiting.push):
            return False
        self.at_work.append(waiting)
        if len(self.at_work) == 1:
            self._next()
        return True

    async def reconfigure(self, plan: PolicyPlan) -> Configured:
        """Hands it new settings; where that leaves the policy broken, it is killed."""
        if self._channel is None or not self.ready or self.closing or self._answer is not None:
            return Configured(SettingsError("its process is being started, closed or reconfigured", "try again"))
        answer = await self._ask(self._channel, plan, _RECONFIGURE_WITHIN_S, _SLOW_CHANGE)
        if answer.broken:
            self.kill(spared="reconfigure")
        return answer

    async def _ask(self, channel: Channel, plan: PolicyPlan, within_s: float, slow: SettingsError) -> Configured:
        """Its answer; ``slow`` if that doesn't come in time."""
        self._answer = asyncio.get_running_loop().create_future()
        channel.send(plan)
        try:
            return await asyncio.wait_for(self._answer, within_s)
        except TimeoutError:
            return Configured(slow, broken=True)
        finally:
            self._answer = None

    async def close(self) -> None:
        """Lets it finish what it has and close the policy, for two seconds."""
        self.retire()
        await self._until_ended()

    async def _until_ended(self) -> None:
        """Waits for its end; after two seconds, kills it."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._ended.wait(), _CLOSE_WITHIN_S)
        self.kill()
        await self._ended.wait()

    def retire(self) -> None:
        """Gives it no more, and asks it to end."""
        self.closing = True
        if self._channel is not None:
            self._channel.send(Close())
        asyncio.get_running_loop().call_later(_CLOSE_WITHIN_S, self.kill)

    def kill(self, spared: str = "") -> None:
        """Kills it; ``spared`` says for what, where that is no push's fault."""
        if self._ended.is_set():
            return
        if spared:
            self.closing, self.spared = True, spared
        self._template.kill_policy(self._pid)
        if self._channel is not None:  # something that it started may hold its socket open
            asyncio.get_running_loop().call_later(1.0, self._channel.close)

    def _received(self, message: Any) -> None:
        match message:
            case Started(pid):
                self._pid = pid
            case Done():
                waiting = self.at_work.popleft()
                self._next()
                self._owner.done(self, waiting, message)
            case Publish():
                record = self._publish(message.topic, message.key, message.value)
                if message.of_push and self.at_work:
                    self.at_work[0].records.append(asyncio.wrap_future(record))
            case Configured():
                _set(self._answer, message)

    def _lost(self) -> None:
        self._ended.set()
        self._template.kill_policy(self._pid)  # and what it started
        self._stop_timer()
        _set(self._answer, Configured(_DIED))
        if self.ready:
            self._owner.ended(self)

    def _next(self) -> None:
        """The time of a push begins, and that of the one before ends."""
        self._stop_timer()
        if self.at_work:
            self._timer = asyncio.get_running_loop().call_later(self.deadline_s, self._extend)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _extend(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(_GRACE_S, self._too_late)

    def _too_late(self) -> None:
        self.reason = "policy_timeout"
        self.kill()


def _set(future: asyncio.Future[Any] | None, value: Any) -> None:
    if future is not None and not future.done():
        future.set_result(value)


log = logging.getLogger(__name__)

WAITING_PUSHES = 1_000

ANSWER_WITHIN_S = 0.1
"""How long an answer waits for Kafka once the policy has processed the push."""

_THROTTLE_MS = 1_000

_UNKNOWN_SERVER_ERROR = -1

Count = Callable[[str, str], None]


class PolicyRunner:
    """Runs one policy; all of it belongs to one event loop.

    Args:
        template: what its processes are forked from.
        publish: takes a record of the policy's, returns at once; the future is done once Kafka has it.
        count: adds one to a counter of the gateway's: ``pushes``, ``pushes_refused``, ``pushes_answered_early``,
            ``pushes_rejected_late``, ``lost``.
    """

    def __init__(
        self,
        plan: PolicyPlan,
        template: Template,
        publish: PublishToKafka,
        count: Count,
        metrics: PolicyMetrics,
        guard: PolicyGuard | None = None,
    ) -> None:
        self._plan = plan
        self._publish = publish
        self._count = count
        self._metrics = metrics
        self._guard = guard or PolicyGuard()
        self._template = template
        self._worker: PolicyWorker | None = None
        self._queue: deque[WaitingPush] = deque()
        self._restarting: asyncio.Task[None] | None = None
        self._idle = asyncio.Event()
        self._closing = self._stopped = False
        metrics.show(self._waiting, lambda: self._bypass_left_s() > 0)

    async def start(self) -> None:
        """Makes the policy and configures it.

        Raises:
            SettingsError: there is no such policy, or it refuses its settings.
            OSError: there is nothing to fork its process from.
        """
        worker = PolicyWorker(self._template, self._plan.deadline_s, self._publish, self)
        await worker.start(self._plan)
        self._worker = worker
        self._feed()

    async def judge(self, context: RequestContext, data: ClientConfigData) -> PushAnswer:
        """The policy's answer.

        Success is anticipated in two cases: Kafka needs more than 100 ms to acknowledge what the policy has published, or the policy
        doesn't come to the push within its deadline, since others are before it. It is then still processed, and published, in its turn.
        """
        self._metrics.pushes.inc()
        if (wait_s := self._guard.wait_s(client_of(context), self._now())) > 0:
            self._count("pushes_refused", "bypassed" if self._bypass_left_s() else "penalty")
            return _again("the policy can't take this push now", wait_s)
        if self._closing or self._waiting() >= WAITING_PUSHES:
            self._count("pushes_refused", "throttled")
            return _again("too many pushes are waiting")
        loop = asyncio.get_running_loop()
        waiting = WaitingPush(PolicyPush(context, data), loop.create_future(), loop.create_future())
        self._queue.append(waiting)
        self._feed()
        either: tuple[asyncio.Future[Any], ...] = (waiting.answer, waiting.processed)
        await asyncio.wait(either, timeout=self._plan.deadline_s, return_when=asyncio.FIRST_COMPLETED)
        if (worker := self._worker) is not None and worker.at_work and worker.at_work[0] is waiting:
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)  # its own deadline is near
        if waiting.processed.done():
            await asyncio.wait([waiting.answer], timeout=ANSWER_WITHIN_S)
            self._answer_early(waiting, "timeout")
        else:
            self._answer_early(waiting, "deadline")
        return waiting.answer.result()

    def change_deadline(self, seconds: float) -> None:
        """How long one ``process`` may last from the next push on."""
        self._plan = replace(self._plan, deadline_s=seconds)
        if self._worker is not None:
            self._worker.deadline_s = seconds

    async def reconfigure(self, configs: Mapping[str, object]) -> bool:
        """Hands new settings to the running policy; whether it took them. If not, it keeps those that it has, and the log says why."""
        worker = self._worker
        if worker is None:
            log.error("the policy keeps its settings: its process is being started; try again")
            return False
        answer = await worker.reconfigure(replace(self._plan, configs=configs))
        if answer.problem is not None:
            hint = f" ({answer.problem.hint})" if answer.problem.hint else ""
            log.error("the policy keeps its settings: %s%s", answer.problem, hint)
            return False
        self._plan = replace(self._plan, configs=configs)
        return True

    async def close(self, patience_s: float = 5.0) -> None:
        """Lets what waits be processed, for so long, closes the policy, and ends its process."""
        self._closing = True
        self._note_idle()
        with suppress(TimeoutError):
            await asyncio.wait_for(self._idle.wait(), patience_s)
        self._stopped = True
        if self._restarting is not None:
            self._restarting.cancel()
            await asyncio.wait([self._restarting])  # until Python 3.12 `wait_for` ignores it if the answer is there: there is a worker then
        worker = self._worker
        if worker is not None:
            await worker.close()
            self._queue.extend(worker.at_work)
        for waiting in self._queue:
            self._give_up(waiting, "stopped")
        self._queue.clear()

    async def _restart(self) -> None:
        while True:
            await asyncio.sleep(self._bypass_left_s())
            try:
                await self.start()
            except (SettingsError, OSError) as error:
                log.error("the policy can't be started again: %s; next try in %.0f s", error, self._guard.bypass_s)
                self._guard.bypass(self._now())
                self._send_away()
            else:
                return

    # What the worker reports.

    def done(self, worker: PolicyWorker, waiting: WaitingPush, report: Done) -> None:
        """``process`` has returned, or raised."""
        self._guard.succeeded()
        self._metrics.process_time.observe(report.process_time_s)
        self._count("pushes", report.outcome)
        _set(waiting.processed, None)
        if report.outcome != "accepted":
            self._metrics.errors.labels(report.outcome).inc()
            if waiting.early:
                self._count("pushes_rejected_late", report.outcome)
        if report.outcome == "invalid_config":
            _set(waiting.answer, PushAnswer(INVALID_CONFIG, report.message))
        elif report.outcome == "policy_error":
            _set(waiting.answer, PushAnswer(_UNKNOWN_SERVER_ERROR, "the policy failed"))
        asyncio.gather(*waiting.records, return_exceptions=True).add_done_callback(partial(_acknowledged, waiting))
        if report.worn and not worker.closing:
            self._metrics.restarts.labels("memory").inc()
            log.warning("the policy's memory nears its limit; its process is replaced")
            worker.retire()
        self._feed()
        self._note_idle()

    def ended(self, worker: PolicyWorker) -> None:
        """Blames, saves the others, and starts the next process."""
        if worker is not self._worker or self._stopped:
            return
        self._worker = None
        failed = worker.at_work.popleft() if worker.at_work and not worker.spared else None
        self._queue.extendleft(reversed(worker.at_work))
        if worker.spared:
            self._metrics.restarts.labels(worker.spared).inc()
        elif failed is not None or not worker.closing:
            self._failed(failed, worker.reason)
        self._note_idle()
        self._restarting = asyncio.get_running_loop().create_task(self._restart())

    def _failed(self, waiting: WaitingPush | None, reason: str) -> None:
        self._metrics.restarts.labels(reason).inc()
        if reason == "policy_timeout":
            self._metrics.process_time.observe(self._plan.deadline_s)
        if waiting is not None:
            context = waiting.push.context
            log.error("the policy's process ended (%s) on a push of connection %d", reason, context.connection_id)
            self._metrics.errors.labels(reason).inc()
            self._count("pushes", reason)
            opened = self._guard.failed(client_of(context), self._now())
            self._punish(waiting, reason)
        else:
            log.error("the policy's process ended by itself")
            opened = self._guard.failed(None, self._now())
        if opened:
            log.error("the policy failed on one client after another; no push is handed to it for %.0f s", self._guard.bypass_s)
            self._send_away()

    def _punish(self, failed: WaitingPush, reason: str) -> None:
        """Gives the push up, and what else that client has waiting: each might cost the others a deadline."""
        self._give_up(failed, reason, self._guard.penalty_s)
        client = client_of(failed.push.context)
        waiting, self._queue = self._queue, deque()
        for other in waiting:
            if client_of(other.push.context) == client:
                if not other.answer.done():
                    self._count("pushes_refused", "penalty")
                self._give_up(other, "penalty", self._guard.penalty_s)
            else:
                self._queue.append(other)

    def _send_away(self) -> None:
        """Asks each client that has no answer yet to retry; pushes that were answered wait until the policy is tried again."""
        waiting, self._queue = self._queue, deque()
        for push in waiting:
            if push.early:
                self._queue.append(push)
            else:
                self._count("pushes_refused", "bypassed")
                _set(push.answer, _again("the policy fails", self._guard.bypass_s))

    # The queue.

    def _feed(self) -> None:
        worker = self._worker
        while worker is not None and self._queue and worker.has_room and worker.take(self._queue[0]):
            self._queue.popleft()

    def _answer_early(self, waiting: WaitingPush, reason: str) -> None:
        if not waiting.answer.done():
            waiting.early = True
            self._count("pushes_answered_early", reason)
            waiting.answer.set_result(PushAnswer(NONE))

    def _give_up(self, waiting: WaitingPush, reason: str, throttle_s: float = _THROTTLE_MS / 1000) -> None:
        """Counts a push as lost, unless its client can still be asked to retry or the publisher has its record."""
        if not waiting.answer.done():
            _set(waiting.answer, _again("the policy did not finish this push", throttle_s))
        elif not waiting.records:
            self._count("lost", reason)

    def _waiting(self) -> int:
        worker = self._worker
        return len(self._queue) + (len(worker.at_work) if worker else 0)

    def _note_idle(self) -> None:
        worker = self._worker
        if self._queue or (worker and worker.at_work):
            self._idle.clear()
        else:
            self._idle.set()

    def _bypass_left_s(self) -> float:
        return self._guard.bypass_left_s(self._now())

    @staticmethod
    def _now() -> float:
        return time.monotonic()  # not the loop's own: metrics are read in another thread


def _acknowledged(waiting: WaitingPush, records: asyncio.Future[list[BaseException | None]]) -> None:
    """Success once Kafka has all; if a record was dropped, an answer after which the client retries."""
    lost = any(each is not None for each in records.result())
    _set(waiting.answer, _again("the push could not be published") if lost else PushAnswer(NONE))


def _again(message: str, wait_s: float = _THROTTLE_MS / 1000) -> PushAnswer:
    return PushAnswer(THROTTLING_QUOTA_EXCEEDED, message, math.ceil(wait_s * 1000))
