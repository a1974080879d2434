"""Handling of clients' pushes: admission, and the policy's verdict."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from functools import partial

from clientscope.config import GatewaySettings
from clientscope.gateway.metrics import GatewayMetrics
from clientscope.gateway.policy.metrics import PolicyMetrics
from clientscope.gateway.policy.plan import PolicyPlan
from clientscope.gateway.policy.runner import PolicyRunner, client_of
from clientscope.gateway.publisher import Publisher
from clientscope.gateway.quota import PushQuota
from clientscope.gateway.reconfiguring import quotas
from clientscope.gateway.template import Template
from clientscope.policy.interface import ClientConfigData, RequestContext
from clientscope.records.principals import authenticated
from clientscope.session.state import Pushed, Verdict
from clientscope.wire.codes import THROTTLING_QUOTA_EXCEEDED

log = logging.getLogger(__name__)


class PushJudging:
    """The quota and the policy of one gateway; without a policy no push comes.

    Args:
        instances: the number of different clients with an instance id that are connected.
    """

    def __init__(
        self, settings: GatewaySettings, template: Template, publisher: Publisher, metrics: GatewayMetrics, instances: Callable[[], int]
    ) -> None:
        self._metrics = metrics
        self._quota = PushQuota(**quotas(settings))
        self._policy: PolicyRunner | None = None
        if settings.client_config_policy_class_name:
            shown = PolicyMetrics(metrics.registry, instances)
            publish = partial(publisher.publish, at_once=True)
            self._policy = PolicyRunner(PolicyPlan.of(settings), template, publish, metrics.count, shown)

    async def start(self) -> None:
        """Starts the policy."""
        if self._policy is not None:
            await self._policy.start()

    async def judge(self, push: Pushed, context: RequestContext | None) -> Verdict | None:
        """What a push is answered; None where its connection is no more, and there is no context."""
        if context is None or self._policy is None:
            return None
        quota, principal = self._quota, authenticated(context.principal)
        if throttle_ms := quota.take(client_of(context), time.monotonic(), principal=principal, address=context.client_address):
            self._metrics.count("pushes_refused", quota.refused_by)
            return Verdict(THROTTLING_QUOTA_EXCEEDED, "over the quota of pushes", throttle_ms)
        return await self._policy.judge(context, ClientConfigData(push.configs, push.received_ms))

    def change(self, settings: GatewaySettings) -> None:
        """Limits that have changed."""
        self._quota.change(**quotas(settings))
        if self._policy is not None:
            self._policy.deadline_s = settings.policy_deadline_ms / 1000

    async def reconfigure(self, configs: Mapping[str, object]) -> bool:
        """Gives the policy its settings again; whether it has taken them."""
        if self._policy is not None:
            if not await self._policy.reconfigure(configs):
                return False
            log.warning("the policy has taken its settings again")
        return True

    async def close(self) -> None:
        """Lets the policy finish what waits."""
        if self._policy is not None:
            await self._policy.close()
