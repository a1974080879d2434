"""What each broker of a cluster says to ApiVersions (KIP-35), each time on a fresh connection: it may have been upgraded since the last.

kafka-python's own connections ask, so whatever TLS and SASL its keyword settings name is used. They begin with the newest version they
know and take what the broker offers instead (UNSUPPORTED_VERSION); a broker that closes at that is asked for v0 once more.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import partial
from typing import Any, NamedTuple, TypeVar

from kafka.admin import KafkaAdminClient
from kafka.errors import IncompatibleBrokerVersion, KafkaConnectionError, KafkaError, RetriableError
from kafka.net.connection import KafkaConnection
from kafka.protocol.metadata import ApiVersionsRequest

from clientscope.catalog.releases import Range
from clientscope.cluster.describe import Broker, Described, describe, quorum_leader
from clientscope.topics import no_broker
from clientscope.wire.codes import NONE

CLIENT_ID = "clientscope-api-versions"
_AT_ONCE = 16


class State(StrEnum):
    """What became of asking a broker."""

    ANSWERED = "answered"
    CLOSED = "unknown (closed)"
    """It took the connection and closed it without an answer, at v0 too."""
    UNREACHABLE = "unreachable"
    """It took no connection, or no TLS, gave no answer in time, or an error."""


@dataclass(frozen=True)
class Answer:
    """What one broker said, on one connection.

    Attributes:
        reason: why there is no answer; empty where there is one.
        version: of the ApiVersions request that was answered; None where none was.
        ranges: api key → lowest and highest version, unknown keys among them.
        supported: feature → highest level that the broker's software has (KIP-584).
        finalized: feature → level that the cluster has.
        finalized_epoch: of those levels; None where the broker doesn't say.
    """

    broker: Broker
    state: State
    reason: str = ""
    version: int | None = None
    ranges: Mapping[int, Range] = field(default_factory=dict)
    supported: Mapping[str, int] = field(default_factory=dict)
    finalized: Mapping[str, int] = field(default_factory=dict)
    finalized_epoch: int | None = None


@dataclass(frozen=True)
class Cluster:
    """A cluster's brokers by id, and what each said."""

    cluster_id: str
    answers: Sequence[Answer]


def ask(clients: Mapping[str, Any], only: int | None = None) -> Cluster:
    """Finds a cluster's brokers, and asks each of them, many at a time.

    Args:
        clients: kafka-python's keyword settings, ``bootstrap_servers`` among them; ``request_timeout_ms`` is how long a broker has for its
            connection and its answer, ten seconds where it isn't given.
        only: ask this broker alone; None asks all.

    Raises:
        EnvironmentProblem: none of the bootstrap servers can be used.
    """
    try:
        admin = KafkaAdminClient(**{"client_id": CLIENT_ID, "bootstrap_timeout_ms": 10_000, "request_timeout_ms": 10_000, **clients})
    except (KafkaError, OSError, ValueError) as error:
        raise no_broker(str(clients.get("bootstrap_servers")), error) from None
    with closing(admin):
        described = _described(admin)
        controller_id = _controller_id(admin, described)
        found = (each for each in described.brokers if only in (None, each.id))
        brokers = [replace(each, controller=None if controller_id is None else each.id == controller_id) for each in found]
        with ThreadPoolExecutor(max_workers=_AT_ONCE) as pool:  # all wait for kafka-python's one thread
            return Cluster(described.cluster_id, list(pool.map(partial(_ask_one, admin), brokers)))


Asked = TypeVar("Asked")


def _from_any(admin: KafkaAdminClient, question: Callable[[], Asked]) -> Asked:
    """An answer from whichever broker gives one: kafka-python picks any, and one that failed is not picked again at once.

    Raises:
        KafkaError: none gives one, or one refuses.
    """
    for _ in range(len(admin._manager.cluster.brokers()) - 1):
        try:
            return question()
        except (KafkaConnectionError, RetriableError):
            continue
    return question()


def _described(admin: KafkaAdminClient) -> Described:
    """The cluster, or where no broker describes it, what bootstrap's Metadata said."""
    try:
        return _from_any(admin, partial(describe, admin))
    except KafkaError:
        known = admin._manager.cluster
        brokers = [Broker(each.node_id, each.host, each.port, each.rack) for each in known.brokers()]
        return Described(known.cluster_id, None, sorted(brokers, key=lambda broker: broker.id))


def _controller_id(admin: KafkaAdminClient, described: Described) -> int | None:
    """The active controller: the quorum's leader. With KRaft, DescribeCluster names any broker, which would forward (KIP-590)."""
    if described.controller_id is None:
        return None
    try:
        leader_id = _from_any(admin, partial(quorum_leader, admin))
    except IncompatibleBrokerVersion:  # ZooKeeper
        leader_id = described.controller_id
    except (KafkaError, ValueError):  # no right to describe the cluster
        return None
    return leader_id if leader_id >= 0 else None


def _ask_one(admin: KafkaAdminClient, broker: Broker) -> Answer:
    answer = admin._manager.run(_connect_and_ask, admin._manager, broker, None)
    if answer.state is State.CLOSED:
        answer = admin._manager.run(_connect_and_ask, admin._manager, broker, 0)
    assert isinstance(answer, Answer)
    return answer


async def _connect_and_ask(manager: Any, broker: Broker, version: int | None) -> Answer:
    # Not manager.get_connection(): its connections are shared, and take the bootstrap node's ranges for their own.
    connection = _Connection(manager._net, node_id=broker.id, **manager.config)
    if version is not None:
        connection._api_versions_idx = version
    reason, lost = "no answer", False
    try:
        await manager._connect(
            _Node(broker.id, broker.host, broker.port),
            connection,
            timeout_at=time.monotonic() + manager.config["request_timeout_ms"] / 1000,
        )
        await connection
    except (KafkaError, OSError) as error:
        reason = str(error).removeprefix(f"{type(error).__name__}: ") or type(error).__name__
        lost = isinstance(error, KafkaConnectionError)
    finally:
        connection.close()
    if connection.said is not None:  # refused credentials come later, and take nothing from it
        return _answer(broker, connection.said)
    if lost and connection.asked and not connection.timed_out:
        return Answer(broker, State.CLOSED, "it takes connections, and closes them at ApiVersions")
    return Answer(broker, State.UNREACHABLE, reason)


class _Node(NamedTuple):
    """What `KafkaConnectionManager._connect` wants to know."""

    node_id: int
    host: str
    port: int


class _Connection(KafkaConnection):
    """Keeps the answer to its own ApiVersions request."""

    said: Any = None
    asked = False
    timed_out = False

    def _send_request(self, request: Any, future: Any = None, timeout_at: float | None = None) -> Any:
        sent = super()._send_request(request, future=future, timeout_at=timeout_at)
        if isinstance(request, ApiVersionsRequest):
            self.asked = True
            sent.add_callback(self._see)
        return sent

    def _see(self, response: Any) -> None:
        if response.error_code == NONE:
            self.said = response

    def _request_timed_out(self, future: Any, sent_at: float, timeout_at: float) -> None:
        self.timed_out = True
        super()._request_timed_out(future, sent_at, timeout_at)


def _answer(broker: Broker, said: Any) -> Answer:
    epoch = getattr(said, "finalized_features_epoch", None)
    return Answer(
        broker,
        State.ANSWERED,
        version=said.API_VERSION,
        ranges={each.api_key: (each.min_version, each.max_version) for each in said.api_keys},
        supported={each.name: each.max_version for each in getattr(said, "supported_features", None) or ()},
        finalized={each.name: each.max_version_level for each in getattr(said, "finalized_features", None) or ()},
        finalized_epoch=None if epoch is None or epoch < 0 else epoch,
    )
