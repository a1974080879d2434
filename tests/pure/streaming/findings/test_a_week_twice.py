"""A week, as it happens and once more from its beginning, at another time and pace: the same findings and gauges, and no second alert."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import oracle
import pytest
from fleets import HOUR, KEY, MINUTE, NOW, SECOND, as_json, connected, essentials, pushed
from gauge_rows import Topic
from record_bytes import config_record, setting

from clientscope.findings.conditions import Conditions
from clientscope.findings.record import Finding
from clientscope.gateway.place import GatewayPlace
from clientscope.gateway.registry import ConnectionRegistry
from clientscope.profiles import Thresholds
from clientscope.records.codec import encode
from clientscope.records.connection_record import ClientConnectionRecord
from clientscope.records.enums import ValueState
from clientscope.records.input_record import InputRecord
from clientscope.records.result_record import PushResult
from clientscope.session.state import Identity
from streaming.findings.engine import CONNECTIONS_BACK_MS, FindingsEngine
from streaming.findings.entry import Policy
from streaming.findings.inputs import EngineInput
from streaming.gauges import Gauges
from streaming.gauges.heartbeats import gauge_entries

STEP_MS, STEPS = 20 * MINUTE, 7 * 24 * 3
CONFIGURATIONS = (
    {"acks": "all"},
    {"acks": "all", "linger.ms": "5"},
    {"acks": "0"},
    {"acks": "1", "retries": "0"},
    {"acks": "all", "sasl.password": None},
)
SECRET = setting("sasl.password", None, state=ValueState.KEY_INFIX, length=14, digest=KEY.digest("hunter2-canary"))
RELEASES = ("3.9.0", "4.0.0")


@dataclass
class Running:
    """A client that runs."""

    gateway: int
    connection: int
    identity: Identity


class Week:
    """What two gateways write of their clients, which start, push, are fixed, leak, are upgraded and leave, by a seed.

    Attributes:
        batches: when each was read as it happened, and what it has.
    """

    def __init__(self, seed: int) -> None:
        self.now = NOW
        self.batches: list[tuple[int, list[EngineInput]]] = []
        self._chance = random.Random(seed)  # noqa: S311  # a week, no secret
        self._offsets = {PushResult: 0, InputRecord: 0}
        self._connection = self._instance = 0
        self._running: dict[int, Running] = {}
        self._gateways = [self._gateway(number, epoch=1) for number in range(2)]
        for step in range(STEPS):
            self._step()
            if step == STEPS // 2:
                self._restart(0)

    @property
    def inputs(self) -> list[EngineInput]:
        """All, in the order of the topics."""
        return [each for _, batch in self.batches for each in batch]

    def _step(self) -> None:
        self._take([])
        for _ in range(self._chance.randrange(3)):
            client = self._chance.randrange(12)
            if client not in self._running:
                self._instance += 1
                release = self._chance.choice(RELEASES)
                names = Identity(f"app-{'abc'[client % 3]}-{client}", "apache-kafka-java", release, UUID(int=self._instance), "User:a")
                self._connect(client, self._chance.randrange(2), names)
                self._push(client)
            elif self._chance.random() < 0.3:
                self._push(client)
            else:
                gone = self._running.pop(client)
                self._take([self._gateways[gone.gateway].closed(gone.connection, "client_closed", self.now)])
        for gateway in self._gateways:
            self._take([*gateway.present(self.now), *gateway.heartbeat(self.now, 5_000)])
        self.now += STEP_MS - self.now % STEP_MS

    def _restart(self, number: int) -> None:
        """Its clients are back some minutes later, and push no more: they did when they started."""
        self._gateways[number] = self._gateway(number, epoch=2)
        self._take(self._gateways[number].heartbeat(self.now, 5_000))
        self.now += 6 * MINUTE
        for client, running in list(self._running.items()):
            if running.gateway == number:
                self._connect(client, number, running.identity)

    def _gateway(self, number: int, epoch: int) -> ConnectionRegistry:
        return ConnectionRegistry(GatewayPlace("c", 1, f"gw-{number}", epoch, "CLIENT"))

    def _connect(self, client: int, number: int, names: Identity) -> None:
        self._connection += 1
        self._running[client] = Running(number, self._connection, names)
        gateway = self._gateways[number]
        opened = gateway.opened(self._connection, f"10.0.0.{client}", self.now)
        self._take([opened, gateway.identified(self._connection, names, self.now)])

    def _push(self, client: int) -> None:
        running = self._running[client]
        place, names = self._gateways[running.gateway].place, running.identity
        record = config_record(
            *(SECRET if value is None else setting(key, value) for key, value in self._chance.choice(CONFIGURATIONS).items()),
            client_id=names.client_id, client_instance_id=names.instance_id, principal=names.principal, client_address=f"10.0.0.{client}",
            client_software_version=names.software_version, gateway_id=place.gateway_id, gateway_epoch=place.gateway_epoch,
            connection_id=running.connection,
        )  # fmt: skip
        self._append(pushed([(self.now, record)], self._offsets[PushResult]))

    def _take(self, records: Iterable[ClientConnectionRecord | None]) -> None:
        self._append(connected([(self.now, encode(each)) for each in records if each], self._offsets[InputRecord]))

    def _append(self, batch: list[EngineInput]) -> None:
        for each in batch:
            self._offsets[type(each)] += 1
        self.batches.append((self.now, batch))
        self.now += SECOND


class Job:
    """The engines, and the topics that they write.

    Attributes:
        alerts: fingerprint and number of each that was asked for.
    """

    def __init__(self, findings: Mapping[str, bytes], gauges: dict[str, bytes]) -> None:
        self.findings = dict(findings)
        self.alerts = {alert(value) for value in findings.values()}
        self.gauges = Topic()
        self.gauges.values = gauges
        self._engine = FindingsEngine(self.findings, Policy(), Thresholds(), Conditions())
        self._gauges = Gauges(gauges, now=0)

    def take(self, inputs: list[EngineInput]) -> None:
        self._engine.apply(inputs)
        self.gauges.take(self._gauges, gauge_entries(each for each in inputs if isinstance(each, InputRecord)))

    def look(self, now_ms: int, is_early: bool = False) -> None:
        changes = self._engine.early(now_ms) if is_early else self._engine.changes(now_ms)
        for fingerprint, finding in changes.items():
            if finding is None:
                del self.findings[fingerprint]
            else:
                self.findings[fingerprint] = finding.model_dump_json(exclude_none=True).encode()
                self.alerts.add(alert(self.findings[fingerprint]))
        self._engine.written(changes, now_ms)

    def essentials(self) -> dict[str, dict[str, Any]]:
        return {key: essentials(Finding.model_validate_json(value)) for key, value in self.findings.items()}

    def rests(self, now_ms: int) -> None:
        """Half an hour passes in which nothing happens."""
        for passed_ms in range(0, 30 * MINUTE, MINUTE):
            self.look(now_ms + passed_ms)


def alert(value: bytes) -> tuple[str, int | None]:
    finding = Finding.model_validate_json(value)
    return finding.fingerprint, finding.alert and finding.alert.number


def lived(week: Week) -> Job:
    job = Job({}, {})
    for at_ms, batch in week.batches:
        job.take(batch)
        job.look(at_ms)
        job.look(at_ms + SECOND // 2)
    job.rests(week.now)
    return job


def as_a_start_reads(week: Week, job: Job, chance: random.Random) -> None:
    """What happened to connections lately, and then of each client the newest result."""
    events, pushes = parted(week.inputs)
    job.take([each for each in events if each.appended_ms >= week.now - CONNECTIONS_BACK_MS])
    job.take(list({each.client: each for each in pushes}.values()))


def all_at_once(week: Week, job: Job, chance: random.Random) -> None:
    """Before compaction, and all that connections had."""
    for topic in parted(week.inputs):
        job.take(topic)


def in_other_batches(week: Week, job: Job, chance: random.Random) -> None:
    """All pushes are judged again, as after a new release."""
    left, at_ms = week.inputs, week.now + HOUR
    while left:
        size = chance.randrange(1, 100)
        job.take(left[:size])
        job.look(at_ms, is_early=True)
        left, at_ms = left[size:], at_ms + SECOND


def parted(inputs: list[EngineInput]) -> tuple[list[EngineInput], list[EngineInput]]:
    """Inputs, and results."""
    return [each for each in inputs if isinstance(each, InputRecord)], [each for each in inputs if isinstance(each, PushResult)]


@pytest.mark.parametrize("reads", [as_a_start_reads, all_at_once, in_other_batches])
@pytest.mark.parametrize("seed", range(3))
def test_week_is_played_twice(seed: int, reads: Callable[[Week, Job, random.Random], None]) -> None:
    week = Week(seed)
    first = lived(week)
    again = Job(first.findings, dict(first.gauges.values))
    reads(week, again, random.Random(seed))  # noqa: S311  # sizes, no secret
    for job in (first, again):
        job.rests(week.now + 2 * HOUR)
    assert again.alerts <= first.alerts
    assert again.essentials() == first.essentials()
    assert "open" in {each["state"] for each in again.essentials().values()}
    assert again.gauges.recorded() == first.gauges.recorded() == oracle.gauges(as_json(parted(week.inputs)[0]))
