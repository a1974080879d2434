"""Records of connections for Kafka: counts once an interval, and records of single connections."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from concurrent.futures import Future
from functools import partial

from clientscope.gateway.publisher import Publisher
from clientscope.gateway.registry import ConnectionRegistry, Unpublished
from clientscope.model.codec import encode
from clientscope.model.connection import MOST_CONNECTIONS, ClientConnectionRecord, Passed
from clientscope.model.enums import OF_GATEWAYS, Kind
from clientscope.model.topics import CONNECTIONS


class ConnectionRecords:
    """Publishes what the registry says, and once more what Kafka did not take; in the gateway's event loop.

    Attributes:
        traffic: for the next heartbeat.
    """

    def __init__(self, registry: ConnectionRegistry, publisher: Publisher) -> None:
        self._registry = registry
        self._publisher = publisher
        self._unpublished = Unpublished()
        self.traffic = Traffic()

    def heartbeat(self, now_ms: int, interval_ms: int) -> None:
        """Publishes all counts, and the traffic; 0 says that there will be no further heartbeat."""
        if (taken := self.traffic.take()) is not None:  # first, so that nothing comes after the goodbye
            self.publish(self._registry.traffic(now_ms, *taken))
        for record in (*self._registry.present(now_ms), *self._registry.heartbeat(now_ms, interval_ms)):
            self.publish(record)
        # After the counts, and never more than half of the room, so that what happens now finds some too.
        for record in self._unpublished.take_closed(self._publisher.room // 2):
            self.publish(record)
        for record in self._registry.again(self._unpublished.open(self._publisher.room // 2), now_ms):
            self.publish(record)

    def publish(self, record: ClientConnectionRecord | None) -> None:
        """Publishes a record, where there is one."""
        if record is not None:
            done = self._publisher.publish(CONNECTIONS, record.gateway, encode(record))
            taken = not (done.done() and done.exception())
            self._unpublished.published(record, taken)
            if taken and record.kind not in OF_GATEWAYS:
                done.add_done_callback(partial(self._settled, record, asyncio.get_running_loop()))

    def _settled(self, record: ClientConnectionRecord, loop: asyncio.AbstractEventLoop, done: Future[None]) -> None:
        """The records that were taken are acknowledged, or dropped because the topic takes no such record. In the publisher's thread."""
        if done.exception() is not None:
            loop.call_soon_threadsafe(self._given_up, record)

    def _given_up(self, record: ClientConnectionRecord) -> None:
        if record.kind == Kind.CLOSED or record.connection in self._registry.connections:
            self._unpublished.published(record, taken=False)


# Bytes that have passed through connections, from one heartbeat to the next.


class Traffic:
    """The bytes that workers have counted for the next heartbeat; in the gateway's event loop."""

    def __init__(self) -> None:
        self._measured_ms = 0
        self._passed: dict[int, Passed] = {}

    def measured(self, elapsed_ms: int, passed: Mapping[int, Passed]) -> int:
        """Takes in a worker's; returns how many more connections the heartbeat will leave out."""
        before = self._left_out
        self._measured_ms = max(self._measured_ms, elapsed_ms)
        self._passed.update(passed)
        return self._left_out - before

    def take(self) -> tuple[int, dict[int, Passed]] | None:
        """For how many ms bytes were counted, and those of each connection; None where no worker has answered since the last time."""
        if not self._measured_ms:
            return None
        taken = self._measured_ms, self._passed
        self._measured_ms, self._passed = 0, {}
        return taken

    @property
    def _left_out(self) -> int:
        return max(0, len(self._passed) - MOST_CONNECTIONS)
