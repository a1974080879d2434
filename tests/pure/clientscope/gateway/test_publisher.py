"""gateway/publisher with a producer that never acknowledges: the bound holds, and a refused record is reported at once."""

from __future__ import annotations

import asyncio
import queue
from contextlib import closing
from typing import Any

import pytest
from kafka.future import Future
from patience import LIMIT_S
from request_contexts import CONTEXT, PLACE, Counts
from spawned_template import SpawnedTemplate

from clientscope.config import GatewaySettings
from clientscope.gateway import publisher as module
from clientscope.gateway.common import Common
from clientscope.gateway.metrics import GatewayMetrics
from clientscope.gateway.publisher import Publisher
from clientscope.kafka import writer
from clientscope.model.codec import decode
from clientscope.model.push import Push
from clientscope.policy.interface import ClientConfig
from clientscope.session.state import Pushed


class Unacknowledged:
    """Takes whatever it is given, as kafka-python's producer does: it has no ``buffer.memory``."""

    def __init__(self) -> None:
        self.sent: queue.SimpleQueue[bytes] = queue.SimpleQueue()

    def send(self, topic: str, key: bytes, value: bytes) -> Any:
        self.sent.put(value)
        return Future()

    def close(self, timeout: float) -> None:
        """Nothing is under way."""


@pytest.fixture(autouse=True)
def sent(monkeypatch: pytest.MonkeyPatch) -> queue.SimpleQueue[bytes]:
    """What a broker would get, which there is none of."""
    producer = Unacknowledged()
    monkeypatch.setattr(writer, "new_producer", lambda *_, **__: producer)
    return producer.sent


def test_f16_the_bound_counts_what_is_not_acknowledged_wherever_it_waits() -> None:
    counts = Counts()
    publisher = Publisher("", counts, 20)
    futures = [publisher.publish("topic", "key", b"x" * 100) for _ in range(50)]
    assert [future.done() for future in futures] == [False] * 20 + [True] * 30
    assert counts == {("lost", "queue_full"): 30}
    assert publisher.room == 0
    assert publisher.close(0.1) == 20
    assert counts == {("lost", "queue_full"): 30, ("lost", "stopped"): 20}


def test_f16_bytes_are_bounded_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "QUEUE_BYTES", 1000)
    publisher = Publisher("", Counts(), 1000)
    futures = [publisher.publish("topic", "key", b"x" * 300) for _ in range(5)]
    assert [future.done() for future in futures] == [False, False, False, True, True]
    publisher.close(0.1)


def test_a_record_for_which_a_client_waits_is_sent_at_once_and_with_it_all_before_it(
    sent: queue.SimpleQueue[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_GATHER_S", 600.0)
    publisher = Publisher("", Counts(), 1000)
    publisher.publish("topic", "key", b"1")
    with pytest.raises(queue.Empty):
        sent.get(timeout=0.2)
    publisher.publish("topic", "key", b"2")
    publisher.publish("topic", "key", b"3", at_once=True)
    assert [sent.get(timeout=LIMIT_S) for _ in range(3)] == [b"1", b"2", b"3"]
    monkeypatch.setattr(module, "_GATHER_S", 0.01)
    publisher.publish("topic", "key", b"4")
    assert sent.get(timeout=LIMIT_S) == b"4", "without one for which somebody waits, soon"
    publisher.close(0.1)


def test_a_push_is_published_at_once(sent: queue.SimpleQueue[bytes], monkeypatch: pytest.MonkeyPatch) -> None:
    """Its client waits for it."""
    monkeypatch.setattr(module, "_GATHER_S", 600.0)
    metrics = GatewayMetrics()
    publisher = Publisher("", metrics.count)
    address = "127.0.0.1:1"  # nobody is asked there
    settings = GatewaySettings(bootstrap_servers=address, listen=address, upstream=address, policy_deadline_ms=60_000)

    async def case() -> bytes:
        with closing(SpawnedTemplate()) as template:
            common = Common.of(settings, PLACE, template, metrics, publisher, lambda: 0)
            assert common.policy is not None
            await common.policy.start()
            judged = asyncio.ensure_future(common.judge(Pushed(1, (ClientConfig("acks", "all", 1, False),), 1, 1), CONTEXT))
            record = await asyncio.to_thread(sent.get, True, LIMIT_S)
            await common.close()
            await judged
            return record

    record = asyncio.run(asyncio.wait_for(case(), 2 * LIMIT_S))
    assert [each.value for each in decode(Push, record).listed()] == ["all"]
    publisher.close(0.1)
