"""Inputs of the engine: a client's push with its verdicts, its end, or an event of a connection (`udfs.kernels.live`)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from operator import attrgetter, itemgetter
from sys import intern
from typing import ClassVar, NamedTuple, TypeAlias

from clientscope.model.client_key import Tenant, instance_of, tenant_of
from clientscope.model.enums import rank_of
from clientscope.model.gauge import GatewayKey
from clientscope.model.input import InputRecord
from clientscope.model.principals import authenticated
from clientscope.model.result import Compared, PushResult, Verdict
from clientscope.model.topics import CONFIGS


class There(NamedTuple):
    """What all connections of one process have in common, and of its like on the same host; `whereabouts` makes it.

    Attributes:
        principal: None of a client that doesn't authenticate.
    """

    cluster: str
    principal: str | None
    client_id: str | None
    address: str


SeenAs = tuple[There, str | None]
"""Whereabouts and type of a client that others have seen."""

Settings = Mapping[str, Compared]


def whereabouts(cluster: str, principal: str | None, client_id: str | None, address: str) -> There:
    """Those of a client; without authentication they have no principal."""
    principal = authenticated(principal)
    return There(intern(cluster), principal and intern(principal), client_id, address)


class LogPosition(NamedTuple):
    """Where a record is in its topic.

    Attributes:
        appended_ms: when Kafka took it, in ms since the epoch.
    """

    appended_ms: int
    partition: int
    offset: int

    def is_after(self, other: LogPosition) -> bool:
        """Whether this record is the newer one: by offset within a partition, by time between partitions."""
        if self.partition == other.partition and self.offset != other.offset:
            return self.offset > other.offset
        return self > other

    @classmethod
    def at(cls, time_ms: int) -> LogPosition:
        """Before all records of this time: where a record was of which no more is known than when Kafka took it."""
        return cls(time_ms, -1, -1)


NEVER = LogPosition.at(0)


class JudgedPush(NamedTuple):
    """One client's newest configuration.  What many have in common is shared (`clientscope.model.result.ResultReader`).

    Attributes:
        client: which client it is: `clientscope.model.client_key.client_key`.
        appended_ms: Kafka's time of the record, in ms since the epoch.
        partition, offset: of ``clientscope.configs``; the partition is the same for all records of a client until the topic gets more.
        there: what its connections have in common with it; the same object as theirs, where they were read before it.
        application: `clientscope.findings.fingerprints.application_key`.
        unjudged: codes of the rules that couldn't judge it.
        written: keys of secrets that the record itself contains.
        tenant: whose it is, for bounds.
        rank: `clientscope.model.enums.rank_of` its origin.
        client_type: a ``ClientType``; None where it isn't known.
        member: its group.instance.id; None for none.
        transactional: whether it has a transactional.id.
        ordered_ms: `appended_ms`, or that of an earlier record of its partition if that is later (`AppendTimes`).
    """

    client: str
    appended_ms: int
    partition: int
    offset: int
    there: There
    broker: int
    gateway: str
    epoch: int
    connection: int
    principal: str | None
    software_name: str
    software_version: str
    application: str
    verdicts: tuple[Verdict, ...]
    unjudged: tuple[str, ...]
    settings: Settings
    written: tuple[str, ...]
    tenant: Tenant
    rank: int = 0
    client_type: str | None = None
    member: str | None = None
    transactional: bool = False
    ordered_ms: int = 0

    @property
    def position(self) -> LogPosition:
        """Where its record is."""
        return LogPosition(self.appended_ms, self.partition, self.offset)

    @property
    def size(self) -> int:
        """Of its settings and verdicts as text."""
        return len(f"{self.settings}{self.verdicts}")

    @property
    def gateway_key(self) -> GatewayKey:
        """The gateway that took it."""
        return self.cluster, self.broker, self.gateway

    @property
    def instance_id(self) -> str | None:
        """Its instance id, if it has one."""
        return instance_of(self.client)

    @property
    def names(self) -> SeenAs | None:
        """What records of one client have in common that several gateways have written of its requests; None for what it says itself."""
        return (self.there, self.client_type) if self.rank else None

    @property
    def cluster(self) -> str:
        """Kafka's id of the cluster."""
        return self.there.cluster

    @property
    def client_id(self) -> str | None:
        """Its client.id."""
        return self.there.client_id

    @property
    def address(self) -> str:
        """Where it comes from."""
        return self.there.address


_NO_SETTINGS: Settings = {}


def judged_push(result: PushResult, ordered_ms: int = 0, known: Callable[[There], There] = lambda there: there) -> JudgedPush:
    """What the engine keeps of a push.

    Args:
        known: returns equal whereabouts that are kept already, or what it was given.
    """
    return JudgedPush(
        client=result.client,
        appended_ms=result.appended_ms,
        partition=result.partition,
        offset=result.offset,
        there=known(whereabouts(result.cluster, result.principal, result.client_id, result.address)),
        broker=result.broker,
        gateway=intern(result.gateway),
        epoch=result.epoch,
        connection=result.connection,
        principal=result.principal and intern(result.principal),
        software_name=intern(result.software_name),
        software_version=intern(result.software_version),
        application=intern(result.application),
        verdicts=result.rules,
        unjudged=result.not_evaluable,
        settings=_NO_SETTINGS if result.configuration is None else result.configuration,
        written=result.written,
        tenant=intern(tenant_of(result.principal, result.address)),
        rank=rank_of(result.origin),
        client_type=result.client_type,
        member=result.member,
        transactional=result.transactional,
        ordered_ms=max(ordered_ms, result.appended_ms),
    )


@dataclass(frozen=True, slots=True)
class Erased:
    """A tombstone of ``clientscope.configs``; its attributes are those of a `PushResult`."""

    client: str
    partition: int
    offset: int
    appended_ms: int
    topic: ClassVar[str] = CONFIGS


EngineInput: TypeAlias = PushResult | InputRecord | Erased

_Partition = tuple[bool, int]
"""Whether it is one of ``clientscope.configs``, and its number."""


# LogAppendTime is the clock of a partition's leader. The next leader's clock may be behind it, and the same leader's may be set back:
# then a record has an earlier time than those before it. Within a partition the offset decides which record is newer, and between
# partitions the time (`LogPosition.is_after`, as in `clientscope.kafka.compacted`). Lists need one order of all pushes. So each record
# has an ordering time beside its own: the newest time of its partition up to there. Durations are those of Kafka's own times: a clock
# that was ahead for a moment must not hold up a whole partition until true time has caught up.
class AppendTimes:
    """The newest time so far of each partition of both topics, and the offset up to which that was read.

    Results of one partition of pushes come by offset only where their own topic has one partition. A record that is read behind a later one
    of its partition has its own time alone.
    """

    def __init__(self) -> None:
        self._newest: defaultdict[_Partition, tuple[int, int]] = defaultdict(lambda: (-1, 0))

    def in_order(self, inputs: Iterable[EngineInput]) -> list[tuple[int, EngineInput]]:
        """Ordering time of each of a batch, and itself: by offset within a partition, between partitions the earlier ones first."""
        partitions: defaultdict[_Partition, list[EngineInput]] = defaultdict(list)
        for each in inputs:
            partitions[each.topic == CONFIGS, each.partition].append(each)
        ordered = (self._ordered(which, of) for which, of in partitions.items())
        return sorted(chain.from_iterable(ordered), key=itemgetter(0))  # merges what is in order already

    def meet(self, ahead: AppendTimes) -> None:
        """What was read ahead of these records is followed by them no longer."""
        for which, newest in ahead._newest.items():
            offset, newest_ms = map(max, newest, self._newest[which])
            self._newest[which] = offset, newest_ms

    def _ordered(self, which: _Partition, inputs: Iterable[EngineInput]) -> Iterator[tuple[int, EngineInput]]:
        offset, newest_ms = self._newest[which]
        for each in sorted(inputs, key=attrgetter("offset")):
            if each.offset < offset:
                yield each.appended_ms, each
            else:
                offset, newest_ms = each.offset, max(newest_ms, each.appended_ms)
                yield newest_ms, each
        self._newest[which] = offset, newest_ms
