"""API versions of each broker of a cluster (KIP-35), asked on a fresh connection each time, since a broker may have been upgraded.

kafka-python's own connections ask, so whatever TLS and SASL its keyword settings name is used. They begin with the newest version they
know and take what the broker offers instead (UNSUPPORTED_VERSION); a broker that closes at that is asked for v0 once more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import partial
from typing import Any

from kafka.errors import IncompatibleBrokerVersion, KafkaError

from clientscope.catalog.releases import Range
from clientscope.kafka.admin import (
    AdminClient,
    Broker,
    Described,
    ask_broker,
    describe,
    from_any,
    known_brokers,
    new_admin,
    no_broker,
    quorum_leader,
)
from clientscope.wire.describe_cluster import NO_SOFTWARE, BrokerSoftware, software_of

CLIENT_ID = "clientscope-api-versions"
_AT_ONCE = 16


class AnswerState(StrEnum):
    """The outcome of asking a broker."""

    ANSWERED = "answered"
    CLOSED = "unknown (closed)"
    """The broker took the connection and closed it without an answer, also at v0."""
    UNREACHABLE = "unreachable"
    """The broker took no connection or no TLS, gave no answer in time, or answered with an error."""


@dataclass(frozen=True)
class BrokerAnswer:
    """What one broker said, on one connection.

    Attributes:
        reason: why there is no answer; empty where there is one.
        version: of the ApiVersions request that was answered; None where none was.
        ranges: api key → lowest and highest version, unknown keys among them.
        supported: feature → highest level that the broker's software has (KIP-584).
        finalized: feature → level that the cluster has.
        finalized_epoch: of those levels; None where the broker doesn't say.
        software: what the gateway in front of the broker says that it runs (KIP-885); nothing where `ask` didn't ask for it, or where
            no gateway says it.
    """

    broker: Broker
    state: AnswerState
    reason: str = ""
    version: int | None = None
    ranges: Mapping[int, Range] = field(default_factory=dict)
    supported: Mapping[str, int] = field(default_factory=dict)
    finalized: Mapping[str, int] = field(default_factory=dict)
    finalized_epoch: int | None = None
    software: BrokerSoftware = NO_SOFTWARE


@dataclass(frozen=True)
class Cluster:
    """A cluster's brokers by id, and what each said."""

    cluster_id: str
    answers: Sequence[BrokerAnswer]


def ask(clients: Mapping[str, Any], only: int | None = None, *, with_software: bool = False) -> Cluster:
    """Finds a cluster's brokers, and asks each of them, many at a time.

    Args:
        clients: kafka-python's keyword settings, ``bootstrap_servers`` among them; ``request_timeout_ms`` is how long a broker has for its
            connection and its answer, ten seconds where it isn't given.
        only: ask this broker alone; None asks all.
        with_software: ask each for DescribeCluster too, on which a gateway says what software its broker is.

    Raises:
        EnvironmentProblem: none of the bootstrap servers can be used.
    """
    try:
        admin = new_admin({"client_id": CLIENT_ID, "bootstrap_timeout_ms": 10_000, "request_timeout_ms": 10_000, **clients})
    except (KafkaError, OSError, ValueError) as error:
        raise no_broker(str(clients.get("bootstrap_servers")), error) from None
    with closing(admin):
        described = _described(admin)
        controller_id = _controller_id(admin, described)
        found = (each for each in described.brokers if only in (None, each.id))
        brokers = [replace(each, controller=None if controller_id is None else each.id == controller_id) for each in found]
        with ThreadPoolExecutor(max_workers=_AT_ONCE) as pool:  # all wait for kafka-python's one thread
            return Cluster(described.cluster_id, list(pool.map(partial(_ask_one, admin, with_software), brokers)))


def _described(admin: AdminClient) -> Described:
    """The cluster, or where no broker describes it, what bootstrap's Metadata said."""
    try:
        return from_any(admin, partial(describe, admin))
    except KafkaError:
        return known_brokers(admin)


def _controller_id(admin: AdminClient, described: Described) -> int | None:
    """The active controller: the quorum's leader. With KRaft, DescribeCluster names any broker, which would forward (KIP-590)."""
    if described.controller_id is None:
        return None
    try:
        leader_id = from_any(admin, partial(quorum_leader, admin))
    except IncompatibleBrokerVersion:  # ZooKeeper
        leader_id = described.controller_id
    except (KafkaError, ValueError):  # no right to describe the cluster
        return None
    return leader_id if leader_id >= 0 else None


def _ask_one(admin: AdminClient, with_software: bool, broker: Broker) -> BrokerAnswer:
    fresh = ask_broker(admin, broker, describe=with_software)
    if fresh.closed:
        fresh = ask_broker(admin, broker, version=0, describe=with_software)
    if fresh.versions is not None:  # refused credentials come later, and take nothing from it
        software = NO_SOFTWARE if fresh.described is None else software_of(fresh.described)
        return replace(_answer(broker, fresh.versions), software=software)
    if fresh.closed:
        return BrokerAnswer(broker, AnswerState.CLOSED, "it takes connections, and closes them at ApiVersions")
    return BrokerAnswer(broker, AnswerState.UNREACHABLE, fresh.reason or "no answer")


def _answer(broker: Broker, said: Any) -> BrokerAnswer:
    epoch = getattr(said, "finalized_features_epoch", None)
    return BrokerAnswer(
        broker,
        AnswerState.ANSWERED,
        version=said.API_VERSION,
        ranges={each.api_key: (each.min_version, each.max_version) for each in said.api_keys},
        supported={each.name: each.max_version for each in getattr(said, "supported_features", None) or ()},
        finalized={each.name: each.max_version_level for each in getattr(said, "finalized_features", None) or ()},
        finalized_epoch=None if epoch is None or epoch < 0 else epoch,
    )
