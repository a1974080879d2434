"""Runner of the policy in a process of its own: a misbehaving plug-in stops neither traffic nor other clients' pushes.

Up to `worker.WINDOW` pushes are with the process at a time. It takes them in order, so the oldest that it has not
reported is the one that it has now: the one to blame when the process ends or lasts too long. The others go to the next process.
"""

from __future__ import annotations

import asyncio
import logging
import math
import socket
import time
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

from clientscope.errors import SettingsError
from clientscope.gateway.policy.child import PolicyChild
from clientscope.gateway.policy.guard import PolicyGuard, client_of
from clientscope.gateway.policy.messages import Done, PolicyPush
from clientscope.gateway.policy.metrics import PolicyMetrics
from clientscope.gateway.policy.plan import PolicyPlan
from clientscope.gateway.policy.worker import PolicyWorker, PublishToKafka, WaitingPush
from clientscope.policy.interface import ClientConfigData, RequestContext
from clientscope.session.state import Verdict
from clientscope.wire.codes import INVALID_CONFIG, NONE, THROTTLING_QUOTA_EXCEEDED

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
        fork_template: what `PolicyChild` starts its template by.
        publish: takes a record of the policy's, returns at once; the future is done once Kafka has it.
        count: adds one to a counter of the gateway's: ``pushes``, ``pushes_refused``, ``pushes_answered_early``,
            ``pushes_rejected_late``, ``lost``.
    """

    def __init__(
        self,
        plan: PolicyPlan,
        fork_template: Callable[[], socket.socket],
        publish: PublishToKafka,
        count: Count,
        metrics: PolicyMetrics,
        guard: PolicyGuard | None = None,
    ) -> None:
        self._plan = plan
        self._configs = plan.configs
        self._publish = publish
        self._count = count
        self._metrics = metrics
        self._guard = guard or PolicyGuard()
        self._child = PolicyChild(plan.class_name, fork_template)
        self._worker: PolicyWorker | None = None
        self._queue: deque[WaitingPush] = deque()
        self._numbers = 0
        self._restarting: asyncio.Task[None] | None = None
        self._idle = asyncio.Event()
        self._closing = self._stopped = False
        metrics.show(self._waiting, lambda: self._bypass_left_s() > 0)

    async def start(self) -> None:
        """Makes the policy and configures it.

        Raises:
            SettingsError: there is no such policy, or it refuses its settings.
        """
        try:
            await self._start_worker()
        except SettingsError:
            await self._child.close()
            raise

    async def judge(self, context: RequestContext, data: ClientConfigData) -> Verdict:
        """The policy's verdict.

        Success is anticipated in two cases: Kafka needs more than 100 ms to acknowledge what the policy has published, or the policy
        doesn't come to the push within its deadline, since others are before it. It is then still processed, and published, in its turn.
        """
        self._metrics.pushed()
        if (wait_s := self._guard.wait_s(client_of(context), self._now())) > 0:
            self._count("pushes_refused", "bypassed" if self._bypass_left_s() else "penalty")
            return _again("the policy can't take this push now", wait_s)
        if self._closing or self._waiting() >= WAITING_PUSHES:
            self._count("pushes_refused", "throttled")
            return _again("too many pushes are waiting")
        self._numbers += 1
        loop = asyncio.get_running_loop()
        waiting = WaitingPush(PolicyPush(self._numbers, context, data), loop.create_future(), loop.create_future())
        self._queue.append(waiting)
        self._feed()
        either: tuple[asyncio.Future[Any], ...] = (waiting.verdict, waiting.processed)
        await asyncio.wait(either, timeout=self._plan.deadline_s, return_when=asyncio.FIRST_COMPLETED)
        if (worker := self._worker) is not None and worker.at_work and worker.at_work[0] is waiting:
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)  # its own deadline is near
        if waiting.processed.done():
            await asyncio.wait([waiting.verdict], timeout=ANSWER_WITHIN_S)
            self._answer_early(waiting, "timeout")
        else:
            self._answer_early(waiting, "deadline")
        return waiting.verdict.result()

    @property
    def deadline_s(self) -> float:
        """How long one ``process`` may last; may change while it runs, from the next push on."""
        return self._plan.deadline_s

    @deadline_s.setter
    def deadline_s(self, seconds: float) -> None:
        self._plan = replace(self._plan, deadline_s=seconds)
        if self._worker is not None:
            self._worker.deadline.seconds = seconds

    async def reconfigure(self, configs: Mapping[str, object]) -> bool:
        """Hands new settings to the running policy; whether it took them. If not, it keeps those that it has, and the log says why."""
        worker = self._worker
        if worker is None:
            log.error("the policy keeps its settings: its process is being started; try again")
            return False
        answer = await worker.reconfigure(configs)
        if answer.problem is not None:
            hint = f" ({answer.problem.hint})" if answer.problem.hint else ""
            log.error("the policy keeps its settings: %s%s", answer.problem.message, hint)
            return False
        self._configs = configs
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
        worker = self._worker
        if worker is not None:
            await worker.close()
            self._queue.extend([*worker.at_work, *worker.pending.values()])
        for waiting in self._queue:
            self._give_up(waiting, "stopped")
        self._queue.clear()
        await self._child.close()

    async def _start_worker(self) -> None:
        worker = PolicyWorker(self._child, self._plan.deadline_s, self._publish, self)
        await worker.start(self._plan, self._configs)
        self._worker = worker
        self._feed()

    async def _restart(self) -> None:
        first = True
        while True:
            await asyncio.sleep(self._bypass_left_s())
            try:
                await self._start_worker()
            except (SettingsError, OSError) as error:
                if first:  # the template may have been dying when it was asked
                    first = False
                    continue
                log.error("the policy can't be started again: %s; next try in %.0f s", error, self._guard.bypass_s)
                self._guard.bypass(self._now())
                self._send_away()
            else:
                return

    # What the worker reports.

    def done(self, worker: PolicyWorker, waiting: WaitingPush, report: Done) -> None:
        """``process`` has returned, or raised."""
        self._guard.succeeded()
        self._metrics.processed(report.process_time_s)
        self._count("pushes", report.outcome)
        _set(waiting.processed)
        if report.outcome != "accepted":
            self._metrics.failed(report.outcome)
            if waiting.early:
                self._count("pushes_rejected_late", report.outcome)
        if report.outcome == "invalid_config":
            _answer(waiting, Verdict(INVALID_CONFIG, report.message))
        elif report.outcome == "policy_error":
            _answer(waiting, Verdict(_UNKNOWN_SERVER_ERROR, "the policy failed"))
        elif not report.pending:
            _answer(waiting, Verdict(NONE))
        self._feed()
        self._note_idle()

    def settled(self, waiting: WaitingPush, lost: bool) -> None:
        """Success once Kafka has it; if the record was dropped, an answer after which the client retries."""
        _answer(waiting, _again("the push could not be published") if lost else Verdict(NONE))
        self._feed()
        self._note_idle()

    def worn(self, worker: PolicyWorker) -> None:
        """Its memory is nearly used up."""
        self._metrics.restarted("memory")
        log.warning("the policy's memory nears its limit; its process is replaced")
        worker.retire()

    def ended(self, worker: PolicyWorker) -> None:
        """Blames, saves the others, and starts the next process."""
        if worker is not self._worker or self._stopped:
            return
        self._worker = None
        failed = worker.at_work.popleft() if worker.at_work and not worker.spared else None
        self._queue.extendleft(reversed(worker.at_work))
        if worker.spared:
            self._metrics.restarted(worker.spared)
        elif failed is not None or not worker.closing:
            self._failed(failed, worker.reason)
        for waiting in worker.pending.values():
            if waiting.published:
                self._answer_early(waiting, "policy_restart")  # its record is the publisher's now
            else:
                self._give_up(waiting, worker.reason)
        self._note_idle()
        self._restarting = asyncio.get_running_loop().create_task(self._restart())

    def _failed(self, waiting: WaitingPush | None, reason: str) -> None:
        self._metrics.restarted(reason)
        if reason == "policy_timeout":
            self._metrics.processed(self._plan.deadline_s)
        if waiting is not None:
            context = waiting.push.context
            log.error("the policy's process ended (%s) on a push of connection %d", reason, context.connection_id)
            self._metrics.failed(reason)
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
                if not other.verdict.done():
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
                _answer(push, _again("the policy fails", self._guard.bypass_s))

    # The queue.

    def _feed(self) -> None:
        worker = self._worker
        while worker is not None and self._queue and worker.has_room and worker.take(self._queue[0]):
            self._queue.popleft()

    def _answer_early(self, waiting: WaitingPush, reason: str) -> None:
        if not waiting.verdict.done():
            waiting.early = True
            self._count("pushes_answered_early", reason)
            waiting.verdict.set_result(Verdict(NONE))

    def _give_up(self, waiting: WaitingPush, reason: str, throttle_s: float = _THROTTLE_MS / 1000) -> None:
        """Counts a push as lost, unless its client can still be asked to retry or the publisher has its record."""
        if not waiting.verdict.done():
            _answer(waiting, _again("the policy did not finish this push", throttle_s))
        elif not waiting.published:
            self._count("lost", reason)

    def _waiting(self) -> int:
        worker = self._worker
        return len(self._queue) + (len(worker.at_work) if worker else 0)

    def _note_idle(self) -> None:
        worker = self._worker
        if self._queue or (worker and (worker.at_work or worker.pending)):
            self._idle.clear()
        else:
            self._idle.set()

    def _bypass_left_s(self) -> float:
        return self._guard.bypass_left_s(self._now())

    @staticmethod
    def _now() -> float:
        return time.monotonic()  # not the loop's own: metrics are read in another thread


def _set(processed: asyncio.Future[None]) -> None:
    if not processed.done():
        processed.set_result(None)


def _answer(waiting: WaitingPush, verdict: Verdict) -> None:
    if not waiting.verdict.done():
        waiting.verdict.set_result(verdict)


def _again(message: str, wait_s: float = _THROTTLE_MS / 1000) -> Verdict:
    return Verdict(THROTTLING_QUOTA_EXCEEDED, message, math.ceil(wait_s * 1000))
