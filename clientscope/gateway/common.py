"""Parts that the gateways of one process share: policy, publisher, metrics and request log."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from clientscope.config import GatewaySettings
from clientscope.gateway.metrics import GatewayMetrics
from clientscope.gateway.place import GatewayPlace
from clientscope.gateway.publisher import BATCHED, Publisher
from clientscope.gateway.pushes import PushJudging
from clientscope.gateway.request_log import RequestLog
from clientscope.gateway.template import Template
from clientscope.kafka.access import KafkaAccess
from clientscope.policy.redaction import ClientNames

_TELEMETRY_S = 2.0
"""Patience with clients' own metrics at the end, which is more than they wait for others."""


@dataclass(slots=True)
class Common:
    """Parts that outlive each gateway.

    Attributes:
        names: judges what clients call themselves; replaced with the digest key.
        telemetry: publishes clients' own metrics; None where none are recorded.
        request_log: None where none is asked for.
    """

    names: ClientNames
    metrics: GatewayMetrics
    publisher: Publisher
    pushes: PushJudging
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
        pushes = PushJudging(settings, template, publisher, metrics, instances)
        common = cls(ClientNames.of(settings.digest_key_file), metrics, publisher, pushes)
        if settings.client_telemetry:
            common.telemetry = Publisher(KafkaAccess.of(settings), metrics.count, settings.publish_queue_records // 2, BATCHED)
        common.request_log = RequestLog.of(settings, place, metrics.count, lambda: common.names)
        return common

    def last_records(self) -> int:
        """Waits for what both publishers have on its way, as `Publisher.close` does; returns how many records were lost."""
        return self.publisher.close() + (self.telemetry.close(_TELEMETRY_S) if self.telemetry is not None else 0)

    async def close(self) -> None:
        """Writes what waits, and lets the policy finish what waits."""
        if self.request_log is not None:
            await asyncio.to_thread(self.request_log.close)
        await self.pushes.close()
