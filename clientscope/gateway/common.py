"""Parts that the gateways of one process share: policy, publisher, metrics and request log."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from clientscope.config import GatewaySettings
from clientscope.gateway.metrics import GatewayMetrics
from clientscope.gateway.place import GatewayPlace
from clientscope.gateway.publisher import Publisher
from clientscope.gateway.pushes import PushJudging
from clientscope.gateway.request_log import RequestLog
from clientscope.policy.redaction import ClientNames


@dataclass(slots=True)
class Common:
    """Parts that outlive each gateway.

    Attributes:
        names: judges what clients call themselves; replaced with the digest key.
        request_log: None where none is asked for.
    """

    names: ClientNames
    metrics: GatewayMetrics
    publisher: Publisher
    pushes: PushJudging
    request_log: RequestLog | None = None

    @classmethod
    def of(
        cls, settings: GatewaySettings, place: GatewayPlace, metrics: GatewayMetrics, publisher: Publisher, instances: Callable[[], int]
    ) -> Common:
        """Makes them; nothing is started but the request log's thread.

        Args:
            place: that of any of the gateways.
            instances: the number of different clients with an instance id that are connected.
        """
        common = cls(ClientNames.of(settings.digest_key_file), metrics, publisher, PushJudging(settings, publisher, metrics, instances))
        common.request_log = RequestLog.of(settings, place, metrics.count, lambda: common.names)
        return common

    async def close(self) -> None:
        """Writes what waits, and lets the policy finish what waits."""
        if self.request_log is not None:
            await asyncio.to_thread(self.request_log.close)
        await self.pushes.close()
