"""The policy's own thread: whatever a plug-in does, clients' bytes go on."""

from __future__ import annotations

import asyncio
import importlib
import logging
import queue
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from functools import partial
from typing import Any

from clientscope.errors import InvalidConfigException, SettingsError
from clientscope.policy.interface import ClientConfigData, ClientConfigPolicy, RequestContext
from clientscope.session.state import Verdict
from clientscope.wire.numbers import INVALID_CONFIG, NONE, THROTTLING_QUOTA_EXCEEDED

log = logging.getLogger(__name__)

WAITING_PUSHES = 1_000
ANSWER_WITHIN_S = 0.1
_THROTTLE_MS = 1_000
_UNKNOWN_SERVER_ERROR = -1

Count = Callable[[str, str], None]


def load_policy(dotted_name: str) -> ClientConfigPolicy:
    """An instance of ``module.Class``.

    Raises:
        SettingsError: there is no such class, or it is no ClientConfigPolicy.
    """
    module_name, _, class_name = dotted_name.rpartition(".")
    try:
        policy_class = getattr(importlib.import_module(module_name), class_name)
    except (ImportError, AttributeError, ValueError) as error:
        raise SettingsError(
            f"client_config_policy_class_name: {dotted_name}: {error}", "a dotted name such as my_package.my_module.MyPolicy"
        ) from None
    if not (isinstance(policy_class, type) and issubclass(policy_class, ClientConfigPolicy)):
        raise SettingsError(f"client_config_policy_class_name: {dotted_name} is no ClientConfigPolicy")
    return policy_class()


def _settle(future: Future[Verdict], acknowledged: Future[None]) -> None:
    """Success once Kafka has it; where that was given up, an answer after which the client tries again."""
    lost = acknowledged.exception() is not None
    future.set_result(Verdict(THROTTLING_QUOTA_EXCEEDED, "the push could not be published", _THROTTLE_MS) if lost else Verdict(NONE))


class PolicyRunner:
    """Runs one policy in one thread, with a bounded queue before it."""

    def __init__(self, policy: ClientConfigPolicy, configs: Mapping[str, Any], count: Count) -> None:
        self._policy = policy
        self._count = count
        self._queue: queue.Queue[tuple[RequestContext, ClientConfigData, Future[Verdict]] | None] = queue.Queue(WAITING_PUSHES)
        policy.configure(configs)
        self._thread = threading.Thread(target=self._run, name="policy", daemon=True)
        self._thread.start()

    async def judge(self, context: RequestContext, data: ClientConfigData) -> Verdict:
        """The policy's verdict, or after 100 ms, success: the push is then still processed, and published, in its turn."""
        future: Future[Verdict] = Future()
        try:
            self._queue.put_nowait((context, data, future))
        except queue.Full:
            self._count("pushes_refused", "throttled")
            return Verdict(THROTTLING_QUOTA_EXCEEDED, "too many pushes are waiting", _THROTTLE_MS)
        try:
            return await asyncio.wait_for(asyncio.shield(asyncio.wrap_future(future)), ANSWER_WITHIN_S)
        except TimeoutError:
            self._count("pushes_answered_early", "timeout")
            return Verdict(NONE)

    def close(self, patience_s: float = 5.0) -> None:
        """Lets what waits be processed, for so long, and closes the policy."""
        try:
            self._queue.put(None, timeout=patience_s)
        except queue.Full:
            return
        self._thread.join(patience_s)

    def _run(self) -> None:
        while (item := self._queue.get()) is not None:
            context, data, future = item
            try:
                acknowledged = self._policy.process(context, data)
            except InvalidConfigException as refusal:
                self._count("pushes", "invalid_config")
                future.set_result(Verdict(INVALID_CONFIG, str(refusal)))
            except Exception as error:  # a plug-in may raise anything, and its text may quote a value
                self._count("pushes", "policy_error")
                log.error("the policy raised %s on a push", type(error).__name__)
                future.set_result(Verdict(_UNKNOWN_SERVER_ERROR, "the policy failed"))
            else:
                self._count("pushes", "accepted")
                if acknowledged is None:
                    future.set_result(Verdict(NONE))
                else:
                    acknowledged.add_done_callback(partial(_settle, future))
        self._policy.close()
