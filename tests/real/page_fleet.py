"""A fleet as the page would see it, made up: the records of every topic, for tests and screenshots that need no broker."""

from __future__ import annotations

import math
import random
import tomllib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from uuid import UUID

from made_findings import leak, made, recorded
from page_state import broker, gauge, of_gateway, process, result
from record_bytes import config_record, connection_record, setting

from clientscope.catalog.value_states import ValueState
from clientscope.model.client import Application
from clientscope.model.enums import Kind
from clientscope.model.finding import AffectedClient, Finding, LeakPlace, Owner
from clientscope.model.topics import CONFIGS, CONNECTIONS
from clientscope.profiles import owners
from sinks.dashboard.state.known import TopicRecord

HOSTILE = "<img src=x onerror=alert(1)>"
MINUTE_MS = 60_000
HOUR_MS = 60 * MINUTE_MS
HISTORY_MINUTES = 75
SILENT_MINUTES = range(31, 36)
"""Minutes in which no gateway reported anything, so that nothing is known of them."""

_MADE = tomllib.loads(Path(__file__).with_suffix(".toml").read_text())
SOFTWARE = {(name, version): share for name, version, share in _MADE["software"]}
OWNERS = owners.read(Path(__file__).with_name("page_owners.toml"))
CLUSTER = "prod-eu-1"
GATEWAYS = ("gw-1", "gw-2", "gw-3")


@dataclass(frozen=True)
class Member:
    """One client of the fleet; ``start`` counts when it started, ``push`` what it has in its push, None of those that push nothing."""

    number: int
    client_id: str | None
    application: str
    principal: str | None
    address: str
    software: tuple[str, str]
    gateway: int
    connections: int
    since_ms: int
    push: str | None
    problem: int | None

    @property
    def instance(self) -> UUID:
        return UUID(int=(0x6F1C0C3E << 96) + self.number + 1)

    @property
    def names(self) -> dict[str, Any]:
        """Who it is, as records have it."""
        return {
            "client_id": self.client_id, "principal": self.principal, "address": self.address,
            "software_name": self.software[0], "software_version": self.software[1],
        }  # fmt: skip

    @property
    def said(self) -> dict[str, Any]:
        """The same, and where, as results have it."""
        return {
            **self.names, "instance_id": str(self.instance), "cluster": CLUSTER, "broker": self.gateway + 1,
            "gateway": GATEWAYS[self.gateway],
        }  # fmt: skip


class Fleet:
    """Clients, connections and what is said of them, as of ``now_ms``; the same for the same ``seed``."""

    def __init__(self, now_ms: int, clients: int = 180, seed: int = 7) -> None:
        self.now_ms = now_ms
        self.values: dict[tuple[int, int], bytes] = {}
        """Of ``clientscope.configs``, by partition and offset."""
        self._dice = random.Random(seed)  # noqa: S311 - no secret
        self._sequences: Counter[str] = Counter()
        self._connection = 0
        self.members = [self._member(number) for number in range(clients)]

    def records(self) -> Iterator[TopicRecord]:
        """All topics, each in its order."""
        yield from self._history()
        for member in self.members:
            yield from self.opened(member, member.connections)
            yield self._used(member)
        yield from self._gauges()
        yield from self.heartbeats(self.now_ms)
        yield from self._pushes()
        for finding in self.findings():
            yield self.finding(finding)
        yield from self.statuses()

    def opened(self, member: Member, connections: int, at_ms: int | None = None) -> Iterator[TopicRecord]:
        """The member opens connections."""
        for number in range(connections):
            self._connection += 1
            at = at_ms if at_ms is not None else member.since_ms + 700 * number
            yield self._connection_record(GATEWAYS[member.gateway], at, Kind.OPENED, connection=self._connection, **self._identity(member))

    @property
    def newest(self) -> int:
        """The connection that opened last."""
        return self._connection

    def closed(self, member: Member, at_ms: int, connection: int | None = None) -> TopicRecord:
        """The newest connection of all closes, or a given one; it is the member's."""
        return self._connection_record(
            GATEWAYS[member.gateway], at_ms, Kind.CLOSED, connection=connection or self._connection, **self._identity(member)
        )

    def heartbeats(self, at_ms: int, share: float = 1.0) -> Iterator[TopicRecord]:
        """Of every gateway, with some share of what is open now."""
        for index, gateway in enumerate(GATEWAYS):
            counts = Counter[tuple[str, str]]()
            for member in self.members:
                if member.gateway == index:
                    counts[member.software] += member.connections
            rounded = [
                (name, version, round(count * share * self._sway(name, version, at_ms)), 0, 0) for (name, version), count in counts.items()
            ]
            exact = [(name, version, count, count, 0) for (name, version), count in counts.items()]
            yield self._connection_record(
                gateway, at_ms, Kind.HEARTBEAT, exact if at_ms >= self.now_ms else rounded,
                connection=-1, heartbeat_parts=1, heartbeat_interval_ms=MINUTE_MS, instances=60,
            )  # fmt: skip

    def findings(self) -> list[Finding]:
        """Of those clients that have a problem, and one secret."""
        found = [
            made(number + 1, code=code, name=name, severity=severity, message=message, use_instead=instead, **self._about(group))
            for number, (code, name, severity, message, instead, group) in enumerate(self._problems())
        ]
        whose = self.members[0]
        places = [LeakPlace(application=self._application(whose), key="sasl.jaas.config", clients=2, last_seen_ms=self.now_ms - 40_000)]
        times = {"first_seen_ms": self.now_ms - 30 * HOUR_MS, "last_seen_ms": self.now_ms - 40_000, "opened_ms": self.now_ms - 30 * HOUR_MS}
        named = {"application": self._application(whose), "clients": [self._client(whose)], "client_count": 1}
        found.append(leak(900, places=places, place_count=1, **named, **times))
        low = {"code": "SK004", "name": "random_value", "severity": "medium", "confidence": "low"}
        message = "client.rack holds what looks like a key"
        found.append(leak(901, places=places, place_count=1, message=message, **low, **named, **times))
        return found

    def finding(self, finding: Finding) -> TopicRecord:
        """As the job writes it."""
        return recorded(finding, self.now_ms)

    def statuses(self, stale: bool = False) -> Iterator[TopicRecord]:
        """Of every process and broker; with ``stale``, the second gateway fell silent."""
        common = {"release": "0.1.0", "condition": "ok", "started_ms": self.now_ms - 26 * HOUR_MS, "interval_ms": 30_000}
        for each in _MADE["process"]:
            at_ms = self.now_ms - (5 * MINUTE_MS if stale and each["id"] == "gw-2" else 0)
            yield process(at_ms=at_ms, told_ms=self.now_ms, last_record_ms=self.now_ms - each["ago_ms"], **common, **each)
        for each in _MADE["broker"]:
            place = {"cluster": CLUSTER, "port": 9092, "software_name": "Kafka"}
            yield broker(each["broker"], at_ms=self.now_ms, told_ms=self.now_ms, interval_ms=MINUTE_MS, **each, **place)

    def hostile(self, text: str = HOSTILE, number: int = 0) -> Iterator[TopicRecord]:
        """Whatever a client, or who writes to a topic, may choose is chosen to do harm.

        Args:
            number: tells several of them apart.
        """
        name = text[:1_024]  # a record with a longer one is none
        names = dict.fromkeys(("client_id", "software_name", "software_version", "principal", "address"), name)
        member = replace(self.members[0], number=9_999 + number, client_id=name, principal=name, address=name, software=(name, name))
        self._connection += 1
        yield self._connection_record(GATEWAYS[0], self.now_ms, Kind.OPENED, connection=self._connection, **names)
        yield self._gauge(0, (text, text), 1)
        yield from self._push(member, 9_000 + number, {text: text}, [(text, "critical")])
        whose = Application(principal=text, client_id=text)
        texts = dict.fromkeys(("message", "use_instead", "code", "name"), text)
        places = [LeakPlace(application=whose, key=text)]
        bad = leak(
            7_000 + number,
            application=whose,
            places=places,
            place_count=1,
            evidence=[text],
            link="javascript:alert(1)",
            clients=[self._client(member)],
            **texts,
        )
        yield self.finding(bad)
        of = {"condition": "failed", "started_ms": 1, "told_ms": 1, "interval_ms": MINUTE_MS}
        yield process("deliver", text, at_ms=self.now_ms, reason=text, release=text, figures={text: 1}, **of)
        names = dict.fromkeys(("cluster", "host", "rack", "software_name", "software_version", "source", "gateway"), text)
        yield broker(9, at_ms=self.now_ms, apis={"0": (0, 1)}, **names, **of)

    def _member(self, number: int) -> Member:
        dice = self._dice
        application = dice.choice(list(_MADE["applications"]))
        software = dice.choices(list(SOFTWARE), list(SOFTWARE.values()))[0]
        pushes = dice.random() < 0.8
        return Member(
            number=number,
            client_id=f"{application}-{number}",
            application=application,
            principal=_MADE["applications"][application] or None,
            address=f"10.{20 + number % 4}.{dice.randrange(256)}.{dice.randrange(1, 255)}",
            software=software,
            gateway=number % len(GATEWAYS),
            connections=dice.choice((1, 1, 2, 3, 3, 5, 8, 24)),
            since_ms=self.now_ms - dice.randrange(2 * MINUTE_MS, dice.choice((HOUR_MS, 18 * HOUR_MS))),
            push="java" if pushes else None,
            problem=dice.choices((None, *range(len(_MADE["problems"]))), (60, 5, 4, 8, 5, 8, 6))[0] if pushes else None,
        )

    def _identity(self, member: Member) -> dict[str, Any]:
        return {**member.names, "instance_id": member.instance if member.push else None}

    def _connection_record(self, gateway: str, at_ms: int, kind: Kind, counts: Any = (), **fields: Any) -> TopicRecord:
        sequence = self._sequences[gateway]
        self._sequences[gateway] += 1
        where = {"cluster": CLUSTER, "gateway": gateway, "broker": 1 + GATEWAYS.index(gateway), "security_protocol": "SASL_SSL"}
        value = connection_record(sequence, counts, kind=kind, timestamp_ms=at_ms, **where, **fields)
        return TopicRecord(CONNECTIONS, at_ms, gateway.encode(), value)

    def _used(self, member: Member) -> TopicRecord:
        """What the member's last connection has requested."""
        versions = _MADE["requested"].get(member.software[0], _MADE["requested"]["usual"])
        requested = {"connection": self._connection, "requested_versions": tuple(map(tuple, versions))}
        return self._connection_record(GATEWAYS[member.gateway], member.since_ms, Kind.PRESENT, **self._identity(member), **requested)

    def _history(self) -> Iterator[TopicRecord]:
        for back in range(HISTORY_MINUTES, 0, -1):
            at = self.now_ms - back * MINUTE_MS
            if back not in SILENT_MINUTES and self.members:
                yield from self._short_lived(at)
                yield from self.heartbeats(at, 0.75 + 0.25 * (HISTORY_MINUTES - back) / HISTORY_MINUTES)

    def _short_lived(self, at_ms: int) -> Iterator[TopicRecord]:
        for _ in range(self._dice.randrange(3, 12)):
            member = self._dice.choice(self.members)
            yield from self.opened(member, 1, at_ms)
            yield self.closed(member, at_ms)

    def _sway(self, name: str, version: str, at_ms: int) -> float:
        minute = at_ms / MINUTE_MS
        wave = 1 + 0.1 * math.sin(minute / 7 + len(name)) + 0.03 * self._dice.random()
        upgraded = (self.now_ms - at_ms) < 18 * MINUTE_MS
        return wave * {"2.5.3": 1.0 if upgraded else 0.7, "2.3.0": 1.0 if upgraded else 1.9}.get(version, 1.0)

    def _gauges(self) -> Iterator[TopicRecord]:
        counts = Counter[tuple[int, tuple[str, str]]]()
        for member in self.members:
            counts[member.gateway, member.software] += member.connections
        for (gateway, software), count in sorted(counts.items()):
            yield self._gauge(gateway, software, count)
        for number, gateway in enumerate(GATEWAYS):
            figures = {"instances": 60, "opened_per_minute": 14, "closed_per_minute": 12}
            yield of_gateway(number + 1, cluster=CLUSTER, gateway=gateway, at_ms=self.now_ms, **figures)

    def _gauge(self, gateway: int, software: tuple[str, str], count: int) -> TopicRecord:
        return gauge(count, *software, cluster=CLUSTER, broker=gateway + 1, gateway=GATEWAYS[gateway], at_ms=self.now_ms)

    def _pushes(self) -> Iterator[TopicRecord]:
        for member in sorted(self.members, key=lambda each: each.since_ms):
            if member.push is None:
                continue
            code = [] if member.problem is None else [_MADE["problems"][member.problem][:3:2]]
            if member.number % 9 == 0:  # an earlier start of it
                yield from self._push(
                    replace(member, number=member.number + 5_000, since_ms=member.since_ms - HOUR_MS),
                    None,
                    {"acks": "all", "linger.ms": None},
                    [],
                )
            yield from self._push(member, None, {}, code)

    def _push(
        self, member: Member, offset: int | None, changes: dict[str, str | None], rules: list[tuple[str, str]]
    ) -> Iterator[TopicRecord]:
        offset = len(self.values) if offset is None else offset
        at = member.since_ms + 400
        chosen = {key: value for key, value in {**_MADE["pushed"], "client.id": member.client_id, **changes}.items() if value is not None}
        secret = setting("sasl.jaas.config", None, state=ValueState.KEY_INFIX, length=90, digest=b"\xab" * 32)
        value = config_record(
            *(setting(key, text) for key, text in chosen.items()),
            secret,
            setting("request.timeout.ms", "30000", default=True),
            received_ms=at,
            cluster=CLUSTER,
            broker=member.gateway + 1,
            gateway=GATEWAYS[member.gateway],
            epoch=1,
            connection=member.number,
            security_protocol="SASL_SSL",
            **self._identity(member),
        )
        self.values[0, offset] = value
        key = str(member.instance).encode()
        yield TopicRecord(CONFIGS, at, key, value, partition=0, offset=offset)
        yield result(
            offset, at_ms=at, connection=member.number, security_protocol="SASL_SSL", application="",
            setting_count=len(chosen) + 2, redacted_count=1,
            rules=rules, not_evaluable=["AN115"] if member.number % 7 == 0 else [], **member.said,
        )  # fmt: skip

    def _problems(self) -> Iterator[tuple[str, str, str, str, str, list[Member]]]:
        groups: dict[tuple[str, int], list[Member]] = {}
        for member in self.members:
            if member.problem is not None:
                groups.setdefault((member.application, member.problem), []).append(member)
        for (application, problem), group in groups.items():
            code, name, severity, message, instead = _MADE["problems"][problem]
            yield code, name, severity, f"{application} {message}" if code == "FL002" else f"{application}: {message}", instead, group

    def _about(self, group: list[Member]) -> dict[str, Any]:
        first = min(member.since_ms for member in group)
        owner = Owner(team="Payments", contact="#team-payments") if group[0].principal == "User:payments" else None
        return {
            "application": self._application(group[0]),
            "clients": [self._client(member) for member in group[:9]]
            + [replace(self._client(self.members[0]), disconnected_ms=self.now_ms - 3 * HOUR_MS)],
            "client_count": len(group),
            "owner": owner,
            "first_seen_ms": first,
            "last_seen_ms": max(member.since_ms for member in group),
            "opened_ms": first,
        }

    def _application(self, member: Member) -> Application:
        return Application(principal=member.principal, client_id=member.application)

    def _client(self, member: Member) -> AffectedClient:
        return AffectedClient(**member.said, pushed_ms=member.since_ms)
