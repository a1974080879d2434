"""Addresses of brokers in answers: a gateway in front of a whole cluster has each broker on a port of its own.

Behavior:
- A request whose answer has addresses goes upstream under an id of the gateway's, and its answer is read as it comes.
- A broker's port is a number from its id, so an answer never waits for anything to be rewritten. It waits for a broker that the gateway
  has just learnt of until that broker's port is open, a second at most.
- A broker whose id has no port is left out, as one that is down: never is its own address sent. So is one whose port didn't open in time,
  from the next answer on: another process may have the port.
- Only versions whose answers are known are advertised. Others are refused by the end of the connection, as a broker refuses them.
- Fetch is known up to v15: from v16 on its NodeEndpoints come after the records (KIP-951), and no client needs them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache, partial

from clientscope.errors import WireError
from clientscope.readiness.served import known_versions
from clientscope.session.handler import READ_LIMIT
from clientscope.session.ports import BrokerPorts
from clientscope.session.state import Counted, Held, OtherCluster, SessionState, ToBroker
from clientscope.wire import addresses, api_versions, metadata
from clientscope.wire.addresses import Translate
from clientscope.wire.codes import (
    API_VERSIONS,
    DESCRIBE_CLUSTER,
    FETCH,
    FIND_COORDINATOR,
    METADATA,
    PRODUCE,
    PUSH_CONFIG,
    SHARE_ACKNOWLEDGE,
    SHARE_FETCH,
)
from clientscope.wire.describe_cluster import with_software
from clientscope.wire.frames import LENGTH, REQUEST_HEAD, RESPONSE_HEAD, Passed
from clientscope.wire.metadata import MetadataWalk
from clientscope.wire.share_fetch import ShareFetchWalk

MOST_ANSWER_BYTES = 1024 * 1024
"""The longest answer that is held until it is whole."""
LAST_FETCH = 15
_LOOK_S = 0.02
_LOOKS = 50
"""How often it is looked for a broker's port before an answer that names the broker goes out."""
_MOST_REPORTED = 1_024
_NOT_TO_CLIENTS = (4, 5, 6, 7)
"""Api keys between brokers and ZooKeeper's controller, which no client sends."""

Rewrite = Callable[[bytes, int, Translate], bytes]

_WHOLE: Mapping[int, Rewrite] = {
    PRODUCE: addresses.produce,
    FIND_COORDINATOR: addresses.find_coordinator,
    SHARE_ACKNOWLEDGE: addresses.share_acknowledge,
}
"""Answers that are held until they are whole, beside DescribeCluster's."""

READ: Mapping[int, range] = {
    PRODUCE: range(10, 14),
    METADATA: range(14),
    FIND_COORDINATOR: range(7),
    DESCRIBE_CLUSTER: range(3),
    SHARE_FETCH: range(1, 3),
    SHARE_ACKNOWLEDGE: range(1, 3),
}
"""Versions whose answers have addresses, by api key."""


@cache
def known() -> Mapping[int, tuple[int, int]]:
    """The lowest and highest version of each API whose answers are known: those of Kafka's releases."""
    found: dict[int, tuple[int, int]] = {}
    for key, version in known_versions():
        found[key] = (0, max(version, found.get(key, (0, 0))[1]))
    found |= {key: (versions[0], versions[-1]) for key, versions in READ.items()}
    found |= {PRODUCE: (0, READ[PRODUCE][-1]), FETCH: (0, LAST_FETCH)}  # earlier ones have no addresses
    return {key: versions for key, versions in found.items() if key not in _NOT_TO_CLIENTS}


def limit(frame: bytes, version: int, push_config: bool) -> bytes:
    """An ApiVersions answer that advertises no version beyond those that are known.

    Raises:
        WireError: it is no such answer.
    """
    return api_versions.with_body(frame, _limited(frame[RESPONSE_HEAD.size :], version, push_config))


@lru_cache(maxsize=api_versions.REMEMBERED)
def _limited(body: bytes, version: int, push_config: bool) -> bytes:
    return api_versions.limited(body, version, {**known(), PUSH_CONFIG: (0, 0)} if push_config else known())


class BrokerAddresses:
    """What the connections of one process share.

    Args:
        found: called with id, host and port of a broker that an answer names and that isn't known so.

    Attributes:
        open: host and port of each broker whose port is open, by id; replaced as brokers come and go.
        given_up: ids of brokers whose port was awaited in vain: answers leave them out until brokers come or go.
    """

    def __init__(
        self,
        ports: BrokerPorts,
        found: Callable[[int, str, int], None] = lambda broker_id, host, port: None,
        brokers: Mapping[int, tuple[str, int]] | None = None,
    ) -> None:
        self._ports = ports
        self._found = found
        self._reported: set[tuple[int, str, int]] = set()
        self.given_up: set[int] = set()
        self.open: Mapping[int, tuple[str, int]] = brokers or {}

    def change(self, brokers: Mapping[int, tuple[str, int]]) -> None:
        """Brokers have come or gone."""
        self.open = brokers
        self._reported.clear()
        self.given_up.clear()

    def requires(self, key: int, version: int) -> bool:
        """Whether the answer to a request of this version is read.

        Raises:
            WireError: ``unknown_version``: no such request may reach the broker, since its answer may hold what isn't known.
        """
        least, most = known().get(key, (0, -1))
        if not least <= version <= most and key not in (API_VERSIONS, PUSH_CONFIG):
            raise WireError("unknown_version", f"{key} v{version}")
        return key in READ and version in READ[key]

    def address(self, broker_id: int, host: str, port: int) -> tuple[str, int] | None:
        """What clients are to see of a broker; None where its id has no port."""
        address = self._ports.of(broker_id)
        if address is not None and self.open.get(broker_id) != (host, port) and (broker_id, host, port) not in self._reported:
            if len(self._reported) >= _MOST_REPORTED:
                self._reported.clear()
            self._reported.add((broker_id, host, port))
            self._found(broker_id, host, port)
        return address


@dataclass(slots=True)
class Gathered:
    """An answer that is held until it is whole."""

    rewrite: Rewrite
    version: int
    translate: Translate
    held: bytes = b""

    @property
    def held_bytes(self) -> int:
        """How many bytes are kept."""
        return len(self.held)

    def feed(self, data: bytes, last: bool) -> Iterator[bytes]:
        """What to send on.

        Raises:
            WireError: it is no such answer, or ``long_answer``: it is longer than `MOST_ANSWER_BYTES`.
        """
        self.held = self.held + data if self.held else data
        if LENGTH.unpack_from(self.held)[0] > MOST_ANSWER_BYTES:
            raise WireError("long_answer")
        if last:
            yield self.rewrite(self.held, self.version, self.translate)
            self.held = b""


class AddressedAnswer:
    """An answer with addresses, from its first byte to its last; `clientscope.session.handler.Pending` has it until then."""

    __slots__ = ("_addresses", "_awaited", "_counted", "_walk")

    def __init__(self, shared: BrokerAddresses, state: SessionState, key: int, version: int) -> None:
        self._addresses = shared
        self._awaited: set[int] | None = None
        self._counted: list[Counted] | None = None
        if key == METADATA:
            self._walk: MetadataWalk | ShareFetchWalk | Gathered = MetadataWalk(version, self._translate)
        elif key == SHARE_FETCH:
            self._walk = ShareFetchWalk(self._translate, self._left_out)
        else:
            rewrite = partial(with_software, software=state.software) if key == DESCRIBE_CLUSTER else _WHOLE[key]
            self._walk = Gathered(rewrite, version, self._translate)

    @property
    def held_bytes(self) -> int:
        """How many bytes are kept."""
        return self._walk.held_bytes

    def feed(self, data: bytes, last: bool) -> Iterator[Passed | Held | Counted]:
        """What to do about these bytes of it.

        Raises:
            WireError: this answer can't be read; the connection has to end, since it may hold addresses.
        """
        for piece in self._walk.feed(data, last):
            if self._awaited:
                yield from self._until_open(self._awaited)
                self._awaited = None
            yield Passed(piece)
        if self._counted:
            yield from self._counted
            self._counted = None

    def _until_open(self, broker_ids: set[int]) -> Iterator[Held]:
        for looked in range(_LOOKS):
            if self._addresses.open.keys() >= broker_ids:
                return
            yield Held(_LOOK_S, "" if looked else "broker_port")
        self._addresses.given_up |= broker_ids

    def _translate(self, broker_id: int, host: str, port: int) -> tuple[str, int] | None:
        address = self._addresses.address(broker_id, host, port)
        if address is None:
            self._count("no_port")
        elif broker_id not in self._addresses.open:
            if broker_id in self._addresses.given_up:
                self._count("closed_port")
                return None
            self._awaited = (self._awaited or set()) | {broker_id}
        return address

    def _left_out(self) -> None:
        self._count("no_room")

    def _count(self, reason: str) -> None:
        self._counted = [*(self._counted or ()), Counted("addresses_left_out", reason)]


# The cluster of the broker behind the gateway, by a connection's first Metadata answer: it may be another than the topics' cluster.


def is_asked(key: int, version: int) -> bool:
    """Whether the answer to a request of this version has the cluster's id."""
    return key == METADATA and version in metadata.WITH_CLUSTER_ID


def forward(state: SessionState, begun: bytes) -> ToBroker:
    """Sends the beginning of a request on, so that its answer is read as it comes; the cluster's id is looked at in the first alone."""
    _, key, version, _ = REQUEST_HEAD.unpack_from(begun)
    if state.addresses is not None:
        return state.forward(begun, None, None, AddressedAnswer(state.addresses, state, key, version))
    walk = ClusterIdWalk(version, state.cluster_id)
    state.cluster_id = ""
    return state.forward(begun, None, None, walk)


class ClusterIdWalk:
    """One Metadata answer, which passes as it comes; `clientscope.session.handler.Pending` has it until then."""

    __slots__ = ("_expected", "_held", "_version")

    def __init__(self, version: int, expected: str) -> None:
        self._version, self._expected = version, expected
        self._held: bytes | None = b""

    @property
    def held_bytes(self) -> int:
        """How many bytes are kept."""
        return len(self._held or b"")

    def feed(self, data: bytes, last: bool) -> Iterator[OtherCluster | Passed]:
        """What to do about these bytes of it."""
        yield Passed(data)
        if self._held is None:
            return
        self._held += data
        try:
            found = metadata.cluster_id(self._held, self._version)
        except WireError as error:
            if last or error.reason != "truncated" or len(self._held) > READ_LIMIT:
                self._held = None
            return
        self._held = None
        if found and found != self._expected:
            yield OtherCluster(found)
