"""Status of a gateway and its broker, for ``clientscope.status``."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from clientscope import __version__
from clientscope.clock import now_ms
from clientscope.gateway.brokers import KnownBrokers
from clientscope.gateway.place import GatewayPlace
from clientscope.gateway.publisher import Publisher
from clientscope.gateway.registry import ConnectionRegistry
from clientscope.records.topics import STATUS
from clientscope.status.record import BrokerStatus, ProcessStatus

INTERVAL_S = 10.0
BROKER_INTERVAL_S = 60.0
"""Asking a broker is a connection of its own each time."""


class StatusPublisher:
    """Reports a gateway's status every ten seconds, and at once when its health changes; its broker's every minute.

    A status is soon out of date, so none is written while the publisher's queue is half full.

    Args:
        health: what is wrong with the gateway, or nothing.
        bypassed: whether it reads nothing of what passes.
    """

    def __init__(
        self,
        place: GatewayPlace,
        registry: ConnectionRegistry,
        brokers: KnownBrokers,
        publisher: Publisher,
        health: Callable[[], str],
        bypassed: Callable[[], bool],
    ) -> None:
        self._place, self._registry, self._brokers, self._publisher = place, registry, brokers, publisher
        self._health, self._bypassed = health, bypassed
        self._enough = publisher.room // 2
        self._reported_s = -INTERVAL_S
        self._reported: tuple[str, str] = ("", "")

    async def watch(self) -> None:
        """Reports the gateway's status for as long as it runs."""
        while True:
            now = self.process()
            if (now.condition, now.reason) != self._reported or time.monotonic() - self._reported_s >= INTERVAL_S:
                self._publish(now)
                self._reported, self._reported_s = (now.condition, now.reason), time.monotonic()
            await asyncio.sleep(1.0)

    async def watch_broker(self) -> None:
        """Reports the broker's status for as long as the gateway runs."""
        while True:
            status = await asyncio.to_thread(self._brokers.status, self._place, int(BROKER_INTERVAL_S * 1000))
            self._publish(status)
            await asyncio.sleep(BROKER_INTERVAL_S)

    def stopped(self) -> None:
        """Reports that the gateway was stopped on request."""
        self._publish(self.process().model_copy(update={"condition": "stopped", "reason": ""}))

    def process(self) -> ProcessStatus:
        """How the gateway is now."""
        reason = self._health() or ("it is bypassed: nothing of what passes is read" if self._bypassed() else "")
        return ProcessStatus(
            kind="gateway",
            id=self._place.gateway_id,
            condition="warn" if reason else "ok",
            reason=reason,
            release=__version__,
            started_ms=self._place.gateway_epoch,
            told_ms=now_ms(),
            interval_ms=int(INTERVAL_S * 1000),
            last_record_ms=self._publisher.acknowledged_ms,
            figures={
                "broker": self._place.broker_id,
                "open_connections": len(self._registry.connections),
                "client_instances": self._registry.instances(),
                "unacknowledged_records": self._enough * 2 - self._publisher.room,
            },
        )

    def _publish(self, status: ProcessStatus | BrokerStatus) -> None:
        if self._publisher.room > self._enough:
            self._publisher.publish(STATUS, status.key.decode(), status.model_dump_json(exclude_none=True).encode())
