"""Clients for tests of findings: their pushes and connections, through the kernels that the job uses."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from datetime import date
from functools import partial
from typing import Any
from uuid import UUID

import pyarrow as pa
from hypothesis import strategies as st
from record_bytes import binaries, config_record, connection_record, setting

from clientscope.digest import DigestKey
from clientscope.findings.conditions import Conditions
from clientscope.model.client_key import client_key
from clientscope.model.codec import decode, encode, encode_whole
from clientscope.model.decision import Decision, Resolution
from clientscope.model.enums import Kind, Origin
from clientscope.model.finding import Finding
from clientscope.model.input import InputRecord
from clientscope.model.result import PushResult, ResultReader
from clientscope.model.setting import Setting
from clientscope.model.topics import CONFIGS, CONNECTIONS, RESULTS
from clientscope.profiles import Thresholds
from streaming.findings.clients import MOST_CLIENTS
from streaming.findings.engine import FindingsEngine
from streaming.findings.entry import Policy
from streaming.findings.fact_reports import FactReport, FactReports
from streaming.findings.inputs import EngineInput, Erased, whereabouts
from streaming.findings.retention import Kept
from udfs.kernels.live import live

NOW = 1_800_000_000_000
"""When a test begins, in ms since the epoch."""

KEY = DigestKey(b"k" * 32)
SECOND, MINUTE, HOUR = 1_000, 60_000, 3_600_000


def left_out(engine: FindingsEngine) -> dict[str, int]:
    """How much each limit left out."""
    return {each.limit.name: each.count for each in engine.limits}


def is_leak(result: PushResult) -> bool:
    """Whether a push has a secret."""
    return any(rule.code == "SK001" for rule in result.rules)


def shown(finding: Finding) -> dict[str, str | None]:
    """The settings that it shows."""
    return {each.key: each.value for each in finding.settings}


def alerted(finding: Finding) -> tuple[int, str] | None:
    """How often it asked for a notification, and why the last time."""
    return finding.alert and (finding.alert.number, finding.alert.why)


def essentials(finding: Finding) -> dict[str, Any]:
    """All but how often it was written, what is worked out at the moment of writing, and who was named for less than the time between."""
    said = {name: value for name, value in asdict(finding).items() if name not in ("revision", "ended_ms", "clients")}
    connected = [client for client in finding.clients if client.disconnected_ms is None]
    if finding.kind == "fleet":  # clients are compared every ten seconds and at a start, so a restart may see it sooner
        said |= {"first_seen_ms": None, "opened_ms": None, "alert": alerted(finding)}
    return said | {"ended": finding.ended_ms is not None, "connected": connected}


def new_engine(published: Mapping[str, bytes] | None = None, kept: Kept | None = None) -> FindingsEngine:
    """One without a clock, which begins with these findings."""
    return FindingsEngine(published or {}, Policy(), Thresholds(), Conditions(), kept)


class Fleet:
    """An engine with a clock, its two topics, and the topic of findings that it writes.

    Attributes:
        published: fingerprint → the record that stands on the topic.
        writes: how often records were written.
        identities: whose each connection is, as records say it.
    """

    def __init__(self, policy: Policy | None = None, thresholds: Thresholds | None = None, most_clients: int | None = None) -> None:
        self.now = NOW
        self.published: dict[str, bytes] = {}
        self.writes = 0
        self.conditions = Conditions()
        self._policy, self._thresholds = policy or Policy(), thresholds or Thresholds()
        self._most_clients = most_clients or MOST_CLIENTS
        self.pushes: list[tuple[int, bytes | None]] = []
        self.events: list[tuple[int, bytes]] = []
        self._tombstones: list[tuple[int, int, bytes]] = []
        self._decisions: dict[str, Any] = {}
        self._connection, self._epoch = 0, 1
        self.identities: dict[int, dict[str, Any]] = {}
        self.start()

    def start(self) -> None:
        """The job starts: all that it kept is gone, and it reads the topics once more."""
        self.fact_reports = FactReports()
        self.engine = FindingsEngine(
            self.published, self._policy, self._thresholds, self.conditions, reports=self.fact_reports, most_clients=self._most_clients
        )
        self.engine.decided(self._decisions)
        self.engine.apply(connected(self.events))  # first, as the job's backlog has them
        # Compaction has removed what clients pushed before, but for their secrets, where it hasn't come so far yet.
        kept = {(each.client, each.offset if is_leak(each) else None): each for each in pushed(self.pushes)}
        self.engine.apply(kept.values())
        for offset, *tombstone in self._tombstones:
            self.engine.apply(tombstones([tombstone], offset))

    def restart(self, milliseconds: int = MINUTE) -> None:
        """The job starts again, and writes what it finds after so much time."""
        self.start()
        self.later(milliseconds)

    def connect(
        self, client: str = "orders-1", principal: str | None = "User:a", address: str = "10.0.0.1", epoch: int = 1, cluster: str = "c"
    ) -> int:
        """A connection is opened and identifies itself; returns its number."""
        self._connection += 1
        identity = {"cluster": cluster, "principal": principal, "client_id": client, "address": address}
        self.identities[self._connection] = identity
        self._happens(self._connection, Kind.OPENED, epoch, cluster=cluster)
        self._happens(self._connection, Kind.IDENTIFIED, epoch, **identity)
        return self._connection

    def close(self, connection: int, epoch: int = 1) -> None:
        """It is closed; the record says whose it was."""
        self._happens(connection, Kind.CLOSED, epoch, **self.identities.get(connection, {}))

    def are_connected(self, numbers: Iterable[int]) -> None:
        """Clients of one application have a connection each, whose number is theirs; read at once, as at the job's start."""
        begin, identity = len(self.events), {"principal": "User:a", "address": "10.0.0.1", "epoch": 1}
        for sequence, number in enumerate(numbers, begin):
            record = connection_record(sequence, kind=Kind.PRESENT, connection=number, client_id=f"app-{number}", **identity)
            self.events.append((self.now, record))
        self.engine.apply(connected(self.events[begin:], begin))

    def heartbeat(self, epoch: int = 1, interval_ms: int = 5_000, gateway: str = "g") -> None:
        """A gateway's."""
        self._happens(-1, Kind.HEARTBEAT, epoch, heartbeat_interval_ms=interval_ms, gateway=gateway)

    def push(self, client: str = "orders-1", connection: int = 0, instance: int | None = None, **changes: Any) -> None:
        """A client pushes ``settings``, a mapping; other arguments are the record's fields."""
        self.push_all([{"client": client, "connection": connection, "instance": instance, **changes}])

    def push_all(self, pushes: Iterable[dict[str, Any]]) -> None:
        """Many push at once, each with the arguments of `push`."""
        begin = len(self.pushes)
        self.pushes += [(self.now, self._record(**each)) for each in pushes]
        self.engine.apply(pushed(self.pushes[begin:], begin))

    def _record(self, client: str = "orders-1", connection: int = 0, instance: int | None = None, **changes: Any) -> bytes:
        settings: Mapping[str, str] | list[Setting] = changes.pop("settings", {"acks": "all"})
        fields = {"principal": "User:a", "client_id": client, "address": "10.0.0.1", "epoch": 1, **changes}
        return config_record(
            *(settings if isinstance(settings, list) else (setting(key, value) for key, value in settings.items())),
            connection=connection,
            instance_id=None if instance is None else UUID(int=instance),
            **fields,
        )

    def client(
        self, instance: int | None = None, settings: Mapping[str, str] | None = None, client: str = "orders-1", **changes: Any
    ) -> int:
        """A client connects and pushes; returns its connection."""
        names = {name: changes[name] for name in ("principal", "address", "cluster") if name in changes}
        connection = self.connect(client, **names)
        self.push(client, connection, instance, settings=settings or {"acks": "all"}, **changes)
        return connection

    def seen(self, settings: Mapping[str, str], connection: int = 0, instance: int = 7, **changes: Any) -> None:
        """Requests of a client show settings: a record under an id of the gateway's."""
        self.push(connection=connection, instance=instance, settings=settings, origin=Origin.OBSERVED, **changes)

    def reports(self, client: str = "orders-1", address: str = "10.0.0.1", **said: float) -> None:
        """A client pushes metrics of its own: what a `FactReport` has."""
        report = FactReport(whereabouts("c", "User:a", client, address), self.now, **said)
        self.fact_reports.take([report], self.now)

    def erase(self, key: str) -> None:
        """A person writes a tombstone for a client's record."""
        offset, tombstone = len(self.pushes), (self.now, key.encode())
        self.pushes.append((self.now, None))
        self._tombstones.append((offset, *tombstone))
        self.engine.apply(tombstones([tombstone], offset))

    def decide(self, fingerprint: str, resolution: Resolution | None, until: date | None = None) -> None:
        """A person decides, or takes a decision back."""
        decision = None
        if resolution is not None:
            decision = Decision(fingerprint=fingerprint, resolution=resolution, by="ann", why="done", at_ms=self.now, until=until)
        self._decisions[fingerprint] = decision
        self.engine.decided({fingerprint: decision})

    def later(self, milliseconds: int = MINUTE) -> None:
        """Time passes, and the job writes what has changed. Over a night the gateway's heartbeats come, the last of them at least."""
        self.now += milliseconds
        if milliseconds > 12 * HOUR:
            self.heartbeat(self._epoch)
        self.write()

    def write(self) -> None:
        """The job writes what has changed."""
        changes = self.engine.changes(self.now)
        assert not self.engine.passed_over.take(), "the engine goes on where it fails"
        for fingerprint, finding in changes.items():
            self.writes += 1
            if finding is None:
                del self.published[fingerprint]
            else:
                self.published[fingerprint] = encode_whole(finding)
        self.engine.written(changes, self.now)

    def findings(self, code: str = "") -> list[Finding]:
        """What the topic says, what to fix first first."""
        found = [decode(Finding, text) for text in self.published.values()]
        return sorted((each for each in found if not code or each.code == code), key=lambda each: each.urgency)

    def one(self, code: str) -> Finding:
        """The only one of this code."""
        (found,) = self.findings(code)
        return found

    def state(self, code: str) -> str:
        """The state of the only one of this code."""
        return self.one(code).state

    def counted(self, code: str) -> tuple[str, int]:
        """The state of the only one of this code, and of how many clients it is."""
        return self.one(code).state, self.one(code).client_count

    def results(self) -> list[PushResult]:
        """All pushes, as the engine gets them."""
        return pushed(self.pushes)

    def topics(self) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        """All pushes and tombstones, and what happened to connections, for `oracle`."""
        erased = [each for offset, *tombstone in self._tombstones for each in tombstones([tombstone], offset)]
        return as_json([*self.results(), *erased]), as_json(connected(self.events))

    def _happens(self, connection: int, kind: Kind, epoch: int, **fields: Any) -> None:
        self._epoch = max(epoch, self._epoch)
        record = connection_record(len(self.events), kind=kind, connection=connection, epoch=epoch, **fields)
        self.events.append((self.now, record))
        self.engine.apply(connected(self.events[-1:], len(self.events) - 1))


CLIENTS = range(5)
GOOD, BAD, LEAK = {"acks": "all"}, {"acks": "0"}, {"acks": "all", "sasl.password": "hunter2-canary"}
"""Configurations without a mistake, with one (AN101), and with a secret (SK001)."""
CONFIGURATIONS = (BAD, GOOD, LEAK, {"acks": "1", "linger.ms": "0"})
PASSES_MS = {"a minute passes": MINUTE, "minutes pass": 11 * MINUTE, "hours pass": 2 * HOUR}
Step = tuple[str, int, int]
"""What happens, to which of the clients, and which of the configurations it has."""


def told(history: str) -> list[Step]:
    """One as a text: ``starts 0 1, leaves 0 0``."""
    return [(what, int(client), int(which)) for what, client, which in (step.rsplit(" ", 2) for step in history.split(", "))]


def histories(*steps: str, configurations: int = len(CONFIGURATIONS), most: int = 25) -> st.SearchStrategy[list[Step]]:
    """At most so many of these steps, with so many of the configurations."""
    of_step = st.tuples(st.sampled_from(steps), st.sampled_from(CLIENTS), st.integers(0, configurations - 1))
    return st.lists(of_step, max_size=most)


class Story:
    """A fleet in which a history happens, a step a second."""

    def __init__(self) -> None:
        self.fleet = Fleet()
        self._epoch = 1
        self._open: dict[int, int] = {}
        self._instances: defaultdict[int, list[int]] = defaultdict(list)

    def play(self, history: Iterable[Step]) -> None:
        for step in history:
            self.step(*step)
            self.fleet.later(SECOND)

    def step(self, what: str, client: int, which: int) -> None:
        """One that starts is another instance from then on, and one that returns is the same."""
        fleet, identity = self.fleet, self._identity(client)
        if what in ("starts", "returns"):
            self._leaves(client)
            if what == "starts" or not self._instances[client]:
                self._instances[client].append(1_000 * client + len(self._instances[client]) + 1)
            self._open[client] = fleet.connect(*identity.values(), self._epoch)
        if what in ("starts", "returns", "pushes", "requests") and client in self._open:
            origin = {"origin": Origin.OBSERVED, "instance": 1_000 * client + 999} if what == "requests" else {}
            made = {"instance": self._instances[client][-1], "epoch": self._epoch, **identity, **origin}
            fleet.push(connection=self._open[client], settings=CONFIGURATIONS[which], **made)
        elif what == "leaves":
            self._leaves(client)
        elif what == "is erased":
            for instance in self._instances[client]:
                fleet.erase(client_key("c", identity["principal"], identity["address"], UUID(int=instance), "g", 1, 0))
        elif what in PASSES_MS:
            fleet.later(PASSES_MS[what])
        elif what == "gateway restarts":
            self._epoch += 1
            self._open.clear()
            fleet.heartbeat(self._epoch)

    def _leaves(self, client: int) -> None:
        if client in self._open:
            self.fleet.close(self._open.pop(client), self._epoch)

    @staticmethod
    def _identity(client: int) -> dict[str, str]:
        return {"client_id": f"app-{'ab'[client % 2]}-{client}", "principal": "User:a", "address": f"10.0.0.{client}"}


def as_json(inputs: Iterable[EngineInput]) -> list[dict[str, Any]]:
    """The values that the engine gets these of; of a tombstone what it says."""
    return [asdict(each) if isinstance(each, Erased) else json.loads(encode(each)) for each in inputs]


def _inputs(
    topic: str, is_tombstone: bool, log: Iterable[tuple[int, bytes | None]], begin: int = 0, partition: int = 0, key: DigestKey = KEY
) -> list[Any]:
    """What the live query makes of records of one partition, as the engines get it.

    Args:
        log: Kafka's time of each, and its value; of tombstones their keys.
        begin: the offset of the first.
    """
    times, texts = zip(*log, strict=True) if (log := list(log)) else ((), ())
    number, nothing = len(texts), pa.nulls(len(texts), pa.binary())
    made = live(
        pa.array([topic == CONFIGS] * number, pa.bool_()),
        pa.array([partition] * number, pa.int32()),
        pa.array(range(begin, begin + number), pa.int64()),
        pa.array(times, pa.int64()),
        *((nothing, binaries(*texts)) if is_tombstone else (binaries(*texts), nothing)),
        key,
    )
    found, reader = list[Any](), ResultReader()
    for (at_ms, _), offset, each in zip(log, range(begin, begin + number), made.to_pylist(), strict=True):
        if each["value"]:
            found.append(reader.read(each["value"]) if each["topic"] == RESULTS else decode(InputRecord, each["value"]))
        elif each["topic"]:
            found.append(Erased(each["key"].decode(), partition, offset, at_ms))
    return found


pushed = partial(_inputs, CONFIGS, False)
connected = partial(_inputs, CONNECTIONS, False)
tombstones = partial(_inputs, CONFIGS, True)
