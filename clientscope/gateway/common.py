"""Parts that the gateways of one process share: quota and policy of pushes, publisher, metrics and request log."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from clientscope.config import GatewaySettings
from clientscope.errors import SettingsError
from clientscope.gateway.metrics import GatewayMetrics
from clientscope.gateway.place import GatewayPlace
from clientscope.gateway.policy.metrics import PolicyMetrics
from clientscope.gateway.policy.plan import PolicyPlan
from clientscope.gateway.policy.runner import PolicyRunner
from clientscope.gateway.publisher import BATCHED, Publisher
from clientscope.gateway.quota import PushQuota, rates
from clientscope.gateway.request_log import RequestLog
from clientscope.gateway.template import Template
from clientscope.kafka.access import KafkaAccess
from clientscope.policy.interface import ClientConfigData, RequestContext
from clientscope.policy.redaction import ClientNames
from clientscope.session.state import PushAnswer, Pushed
from clientscope.wire.codes import THROTTLING_QUOTA_EXCEEDED

log = logging.getLogger(__name__)

_TELEMETRY_S = 2.0
"""Patience with clients' own metrics at the end, which is more than they wait for others."""


@dataclass(slots=True)
class Common:
    """Parts that outlive each gateway.

    Attributes:
        template: what workers and the policy's processes are forked from.
        names: judges what clients call themselves; the digest key in it is replaced.
        policy: None if PushConfig isn't advertised; then no push comes.
        telemetry: publishes clients' own metrics; None where none are recorded.
        request_log: None where none is asked for.
    """

    template: Template
    names: ClientNames
    metrics: GatewayMetrics
    publisher: Publisher
    quota: PushQuota
    policy: PolicyRunner | None = None
    telemetry: Publisher | None = None
    request_log: RequestLog | None = None

    @classmethod
    def of(
        cls,
        settings: GatewaySettings,
        place: GatewayPlace,
        template: Template,
        metrics: GatewayMetrics,
        publisher: Publisher,
        instances: Callable[[], int],
    ) -> Common:
        """Makes them; nothing is started but the threads of the request log and of a publisher.

        Args:
            place: that of any of the gateways.
            instances: the number of different clients with an instance id that are connected.
        """
        common = cls(template, ClientNames.of(settings.digest_key_file), metrics, publisher, PushQuota(rates(settings)))
        if settings.client_config_policy_class_name:
            shown, publish = PolicyMetrics(metrics.registry, instances), partial(publisher.publish, at_once=True)
            common.policy = PolicyRunner(PolicyPlan.of(settings), template, publish, metrics.count, shown)
        if settings.client_telemetry:
            common.telemetry = Publisher(KafkaAccess.of(settings), metrics.count, settings.publish_queue_records // 2, **BATCHED)
        common.request_log = RequestLog.of(settings, place, metrics.count, common.names)
        return common

    async def judge(self, push: Pushed, context: RequestContext | None) -> PushAnswer | None:
        """What a push is answered; None where its connection is no more, and there is no context."""
        if context is None or self.policy is None:
            return None
        if throttle_ms := self.quota.take(context, time.monotonic()):
            self.metrics.count("pushes_refused", self.quota.refused_by)
            return PushAnswer(THROTTLING_QUOTA_EXCEEDED, "over the quota of pushes", throttle_ms)
        return await self.policy.judge(context, ClientConfigData(push.configs, push.received_ms))

    def change(self, settings: GatewaySettings) -> None:
        """Limits that have changed."""
        self.quota.change(rates(settings))
        if self.policy is not None:
            self.policy.change_deadline(settings.policy_deadline_ms / 1000)

    async def reconfigure(self, settings: GatewaySettings) -> None:
        """Gives the policy its settings again, and reads the digest key again; where one can't be used, the log says so."""
        if self.policy is not None:
            if not await self.policy.reconfigure(PolicyPlan.of(settings).configs):
                return
            log.warning("the policy has taken its settings again")
        try:
            self.names.key = ClientNames.of(settings.digest_key_file).key
        except SettingsError as error:
            log.error("the digest key stays as it was: %s", error)

    def last_records(self) -> int:
        """Waits for what both publishers have on its way, as `Publisher.close` does; returns how many records were lost."""
        return self.publisher.close() + (self.telemetry.close(_TELEMETRY_S) if self.telemetry is not None else 0)

    async def close(self) -> None:
        """Writes what waits, and lets the policy finish what waits."""
        if self.request_log is not None:
            await asyncio.to_thread(self.request_log.close)
        if self.policy is not None:
            await self.policy.close()
