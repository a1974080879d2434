"""A week, as it happens and once more from its beginning, at another time and pace: the same findings and gauges, and no second alert."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from typing import Any
from uuid import UUID

import oracle
import pytest
from fleets import HOUR, KEY, MINUTE, SECOND, Fleet, as_json, connected, essentials
from gauge_rows import Topic
from record_bytes import setting

from clientscope.catalog.value_states import ValueState
from clientscope.gateway.place import GatewayPlace
from clientscope.gateway.registry import ConnectionRegistry
from clientscope.model.codec import encode
from clientscope.model.connection import ClientConnectionRecord
from clientscope.session.state import Identity
from streaming.findings.engine import CONNECTIONS_BACK_MS
from streaming.findings.inputs import EngineInput
from streaming.gauges import Gauges

STEP_MS, STEPS = 20 * MINUTE, 7 * 24 * 3
SECRET = setting("sasl.password", None, state=ValueState.KEY_INFIX, length=14, digest=KEY.digest("hunter2-canary"))
ALL, NONE = setting("acks", "all"), setting("acks", "0")
CONFIGURATIONS = [ALL], [ALL, setting("linger.ms", "5")], [NONE], [setting("acks", "1"), setting("retries", "0")], [ALL, SECRET]
RELEASES = ("3.9.0", "4.0.0")


class Week(Fleet):
    """What two gateways write of their clients, by a seed: they start, push, are fixed, leak, are upgraded and leave. And what is found."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        self.topic = Topic()
        self._gauges = Gauges({}, now=0)
        self._chance = random.Random(seed)  # noqa: S311  # a week, no secret
        self._instance = 0
        self._running: dict[int, tuple[ConnectionRegistry, int, Identity]] = {}
        self._gateways = [registry(name, epoch=1) for name in "gh"]
        for step in range(STEPS):
            self._step()
            if step == STEPS - 6:  # clients that pushed long ago are there again at the end
                self._restart()
            self.now += STEP_MS - self.now % STEP_MS

    def _step(self) -> None:
        for _ in range(self._chance.randrange(3)):
            client = self._chance.randrange(12)
            if client not in self._running:
                self._instance += 1
                names = f"app-{'abc'[client % 3]}-{client}", "apache-kafka-java", self._chance.choice(RELEASES), UUID(int=self._instance)
                self._connects(client, self._chance.choice(self._gateways), Identity(*names, "User:a"))
                self._pushes(client)
            elif self._chance.random() < 0.3:
                self._pushes(client)
            else:
                gateway, number, _ = self._running.pop(client)
                self._take([gateway.closed(number, "client_closed", self.now)])
        for gateway in self._gateways:
            self._take([*gateway.present(self.now), *gateway.heartbeat(self.now, 5_000)])

    def _restart(self) -> None:
        """Of a gateway. Its clients are back some minutes later, and push no more: they did when they started."""
        before, self._gateways[0] = self._gateways[0], registry("g", epoch=2)
        self._take(self._gateways[0].heartbeat(self.now, 5_000))
        self.later(6 * MINUTE)
        for client, (gateway, _, names) in list(self._running.items()):
            if gateway is before:
                self._connects(client, self._gateways[0], names)

    def _connects(self, client: int, gateway: ConnectionRegistry, names: Identity) -> None:
        self._connection += 1
        self._running[client] = gateway, self._connection, names
        opened = gateway.opened(self._connection, f"10.0.0.{client}", self.now)
        self._take([opened, gateway.identified(self._connection, names, self.now)])

    def _pushes(self, client: int) -> None:
        gateway, connection, names = self._running[client]
        at = {"gateway": gateway.place.gateway_id, "epoch": gateway.place.gateway_epoch, "address": f"10.0.0.{client}"}
        assert names.client_id and names.instance_id
        said = {"settings": self._chance.choice(CONFIGURATIONS), "software_version": names.software_version}
        self.push(names.client_id, connection, names.instance_id.int, **said, **at)
        self.later(SECOND)

    def _take(self, records: Iterable[ClientConnectionRecord | None]) -> None:
        begin = len(self.events)
        self.events += [(self.now, encode(each)) for each in records if each]
        new = connected(self.events[begin:], begin)
        self.engine.apply(new)
        self.topic.take(self._gauges, new)
        self.later(SECOND)


def registry(gateway: str, epoch: int) -> ConnectionRegistry:
    return ConnectionRegistry(GatewayPlace("c", 1, gateway, epoch, "CLIENT"))


def as_a_start_reads(week: Week, again: Fleet) -> None:
    """What happened to connections lately, and then of each client the newest result."""
    again.events = [event for event in week.events if event[0] >= week.events[-1][0] - CONNECTIONS_BACK_MS]
    again.pushes = week.pushes
    again.start()


def all_at_once(week: Week, again: Fleet) -> None:
    """Before compaction, and all that connections had."""
    again.engine.apply(connected(week.events))
    again.engine.apply(week.results())


def in_other_batches(week: Week, again: Fleet) -> None:
    """All pushes are judged again, as after a new release."""
    chance = random.Random(0)  # noqa: S311  # sizes, no secret
    left: Sequence[EngineInput] = sorted([*connected(week.events), *week.results()], key=lambda each: each.appended_ms)
    while left:
        size = chance.randrange(1, 100)
        again.engine.apply(left[:size])
        assert not again.engine.early(again.now)
        again.now, left = again.now + SECOND, left[size:]


@pytest.mark.parametrize("seed", range(3))
def test_week_is_played_twice(seed: int) -> None:
    week = Week(seed)
    published, read_ms = dict(week.published), week.now + 2 * HOUR
    rests(week, read_ms)
    for reads in (as_a_start_reads, all_at_once, in_other_batches):
        again = Fleet()
        again.now, again.published = week.now - HOUR, dict(published)
        again.start()
        reads(week, again)
        rests(again, read_ms)
        assert said(again) == said(week), reads.__name__
    gauges, topic = Gauges(dict(week.topic.values), now=0), Topic()
    topic.values = dict(week.topic.values)
    topic.take(gauges, connected(week.events))
    assert topic.recorded() == week.topic.recorded() == oracle.gauges(as_json(connected(week.events)))


def rests(fleet: Fleet, now_ms: int) -> None:
    """Half an hour passes, in which nothing happens."""
    fleet.now = now_ms
    for _ in range(30):
        fleet.later()


def said(fleet: Fleet) -> dict[str, dict[str, Any]]:
    return {each.fingerprint: essentials(each) for each in fleet.findings()}
