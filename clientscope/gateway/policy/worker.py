"""One worker process of the policy, from fork to end: its pushes, and its deadline."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Protocol

from clientscope.errors import SettingsError
from clientscope.gateway.channel import Channel
from clientscope.gateway.policy.child import PolicyChild
from clientscope.gateway.policy.messages import (
    Acknowledged,
    Close,
    Configure,
    Configured,
    Done,
    PolicyProblem,
    PolicyPush,
    Publish,
    Reconfigure,
    Reconfigured,
    Settled,
    Worn,
)
from clientscope.gateway.policy.plan import PolicyPlan
from clientscope.session.state import Verdict

WINDOW = 32
_MOST_PENDING = 10_000
_START_WITHIN_S = 30.0
_RECONFIGURE_WITHIN_S = 10.0
_CLOSE_WITHIN_S = 2.0
_GRACE_S = 0.02  # a report may lie unread when the deadline comes
_DIED = PolicyProblem("the policy's process ended meanwhile", "its output is in the gateway's standard error")
_SLOW_START = PolicyProblem(f"configuring the policy lasts longer than {_START_WITHIN_S:.0f} s")
_SLOW_CHANGE = PolicyProblem(f"reconfiguring the policy lasts longer than {_RECONFIGURE_WITHIN_S:.0f} s")

PublishToKafka = Callable[[str, str, bytes], "Future[None]"]


@dataclass(eq=False)
class WaitingPush:
    """A push that is on its way.

    Attributes:
        processed: done once the policy's ``process`` has returned, or raised.
        early: its client was answered before it was processed, or before Kafka had it.
        published: the policy has published something for it.
    """

    push: PolicyPush
    verdict: asyncio.Future[Verdict]
    processed: asyncio.Future[None]
    early: bool = False
    published: bool = False


class PolicyOwner(Protocol):
    """The receiver of a worker's reports."""

    def done(self, worker: PolicyWorker, waiting: WaitingPush, report: Done) -> None:
        """``process`` has returned, or raised."""

    def settled(self, waiting: WaitingPush, lost: bool) -> None:
        """The future that it returned is done."""

    def worn(self, worker: PolicyWorker) -> None:
        """Its memory is nearly used up."""

    def ended(self, worker: PolicyWorker) -> None:
        """A worker that was configured is gone; what was with it still is in its ``at_work`` and ``pending``."""


class PushDeadline:
    """Timer of the push that a worker processes.

    Attributes:
        seconds: how long one ``process`` may last; what begins later has what it says then.

    Args:
        late: called when the time is up.
    """

    def __init__(self, seconds: float, late: Callable[[], None]) -> None:
        self.seconds = seconds
        self._late = late
        self._timer: asyncio.TimerHandle | None = None

    def begin(self) -> None:
        """Begins the time of a push, and ends that of the one before."""
        self.cancel()
        self._timer = asyncio.get_running_loop().call_later(self.seconds, self._extend)

    def _extend(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(_GRACE_S, self._late)

    def cancel(self) -> None:
        """Ends the time of a push."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


class PolicyWorker:
    """The gateway's end of one worker process.

    Attributes:
        at_work: pushes that it has, in the order in which it takes them; the first is the one that it processes.
        pending: pushes that it has processed, whose futures aren't done.
        reason: why it ends, as counted.
        closing: it gets no further push.
        spared: what it is killed for, where that is no push's fault.
        deadline: of the push that it processes.
    """

    def __init__(self, child: PolicyChild, deadline_s: float, publish: PublishToKafka, owner: PolicyOwner) -> None:
        self.at_work: deque[WaitingPush] = deque()
        self.pending: dict[int, WaitingPush] = {}
        self.reason = "policy_crash"
        self.closing = self.ready = False
        self.spared = ""
        self.deadline = PushDeadline(deadline_s, self._too_late)
        self._child = child
        self._publish = publish
        self._owner = owner
        self._channel: Channel | None = None
        self._configured: asyncio.Future[Configured] = asyncio.get_running_loop().create_future()
        self._reconfigured: asyncio.Future[Reconfigured] | None = None
        self._ended = asyncio.Event()

    async def start(self, plan: PolicyPlan, configs: Mapping[str, Any]) -> None:
        """Forks it and configures the policy.

        Args:
            configs: what the policy's ``configure`` gets now.

        Raises:
            SettingsError: the policy isn't there, or refuses its settings, or dies of them.
        """
        self._channel = await self._child.fork(self._received, self._lost)
        self._channel.send(Configure(plan.class_name, configs, plan.own, plan.memory_bytes))
        problem: PolicyProblem | None = _SLOW_START
        with suppress(TimeoutError):
            problem = (await asyncio.wait_for(asyncio.shield(self._configured), _START_WITHIN_S)).problem
        if problem is None and self._ended.is_set():
            problem = _DIED
        if problem is not None:
            self.kill(spared="start")
            raise SettingsError(problem.message, problem.hint)
        self.ready = True

    @property
    def has_room(self) -> bool:
        """Whether it takes a push now."""
        return self.ready and not self.closing and len(self.at_work) < WINDOW and len(self.pending) < _MOST_PENDING

    def take(self, waiting: WaitingPush) -> bool:
        """Hands it a push; whether it could."""
        if self._channel is None or not self._channel.send(waiting.push):
            return False
        self.at_work.append(waiting)
        if len(self.at_work) == 1:
            self._next()
        return True

    async def reconfigure(self, configs: Mapping[str, Any]) -> Reconfigured:
        """Hands it new settings; where that leaves the policy broken, it is killed."""
        if self._channel is None or not self.ready or self.closing or self._reconfigured is not None:
            return Reconfigured(PolicyProblem("its process is being started, closed or reconfigured", "try again"))
        self._reconfigured = asyncio.get_running_loop().create_future()
        self._channel.send(Reconfigure(configs))
        answer = Reconfigured(_SLOW_CHANGE, broken=True)
        with suppress(TimeoutError):
            answer = await asyncio.wait_for(asyncio.shield(self._reconfigured), _RECONFIGURE_WITHIN_S)
        self._reconfigured = None
        if answer.broken:
            self.kill(spared="reconfigure")
        return answer

    async def close(self) -> None:
        """Lets it finish what it has and close the policy, for two seconds."""
        self.retire()
        with suppress(TimeoutError):
            await asyncio.wait_for(self._ended.wait(), _CLOSE_WITHIN_S)
        self.deadline.cancel()

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
        self._child.kill()
        if self._channel is not None:  # something that it started may hold its socket open
            asyncio.get_running_loop().call_later(1.0, self._channel.close)

    def _received(self, message: Any) -> None:
        match message:
            case Done():
                waiting = self.at_work.popleft()
                self._next()
                if message.pending:
                    self.pending[message.push] = waiting
                self._owner.done(self, waiting, message)
            case Settled():
                if (settled := self.pending.pop(message.push, None)) is not None:
                    self._owner.settled(settled, message.lost)
            case Publish():
                self._publish_for(message)
            case Worn():
                self._owner.worn(self)
            case Configured():
                _set(self._configured, message)
            case Reconfigured():
                _set(self._reconfigured, message)

    def _publish_for(self, message: Publish) -> None:
        if self.at_work and self.at_work[0].push.number == message.push:
            self.at_work[0].published = True

        loop = asyncio.get_running_loop()

        def acknowledged(future: Future[None]) -> None:
            lost = future.exception() is not None
            with suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(self._acknowledged, Acknowledged(message.number, lost))

        self._publish(message.topic, message.key, message.value).add_done_callback(acknowledged)

    def _acknowledged(self, message: Acknowledged) -> None:
        if self._channel is not None and not self._ended.is_set():
            self._channel.send(message)

    def _lost(self) -> None:
        self._ended.set()
        self.deadline.cancel()
        _set(self._configured, Configured(_DIED))
        _set(self._reconfigured, Reconfigured(_DIED))
        if self.ready:
            self._owner.ended(self)

    def _next(self) -> None:
        if self.at_work:
            self.deadline.begin()
        else:
            self.deadline.cancel()

    def _too_late(self) -> None:
        self.reason = "policy_timeout"
        self.kill()


def _set(future: asyncio.Future[Any] | None, value: Any) -> None:
    if future is not None and not future.done():
        future.set_result(value)
