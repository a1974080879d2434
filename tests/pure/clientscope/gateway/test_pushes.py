"""A push's record is published at once, though others' wait: its client waits for it."""

from __future__ import annotations

import asyncio
import queue
from contextlib import closing
from typing import Any

import pytest
from kafka.future import Future
from request_contexts import CONTEXT
from spawned_template import SpawnedTemplate

from clientscope.config import GatewaySettings
from clientscope.gateway import publisher as publishing
from clientscope.gateway.metrics import GatewayMetrics
from clientscope.gateway.publisher import Publisher
from clientscope.gateway.pushes import PushJudging
from clientscope.gateway.worker.messages import Asked
from clientscope.policy.interface import ClientConfig
from clientscope.records.topics import CONFIGS
from clientscope.wire.codes import NONE


def test_a_push_is_published_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: queue.SimpleQueue[str] = queue.SimpleQueue()

    class Acknowledged:
        def send(self, topic: str, key: bytes, value: bytes) -> Any:
            sent.put(topic)
            return Future().success(None)

        def close(self, timeout: float) -> None:
            """Nothing is under way."""

    monkeypatch.setattr(publishing, "new_producer", lambda *_, **__: Acknowledged())
    monkeypatch.setattr(publishing, "_GATHER_S", 600.0)
    metrics = GatewayMetrics()
    publisher = Publisher("", metrics.count)
    settings = GatewaySettings(bootstrap_servers="127.0.0.1:1", listen="127.0.0.1:2", upstream="127.0.0.1:3", policy_deadline_ms=10_000)

    async def case() -> None:
        with closing(SpawnedTemplate()) as template:
            pushes = PushJudging(settings, template, publisher, metrics, lambda: 0)
            await pushes.start()
            verdict = await pushes.judge(Asked(1, 1, (ClientConfig("acks", "all", 1, False),), 1, 1), CONTEXT)
            assert verdict is not None and verdict.error_code == NONE
            assert await asyncio.to_thread(sent.get, True, 10) == CONFIGS
            await pushes.close()

    asyncio.run(asyncio.wait_for(case(), 60))
    publisher.close(0.1)
