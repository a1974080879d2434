"""Brokers of a cluster: DescribeCluster (KIP-700), or Metadata for brokers before 2.8, which lack it.

What of kafka-python 3.0.12 is worked around:

- ``describe_cluster()`` and ``describe_metadata_quorum()`` raise KeyError where an answer lacks a field of newer versions: on
  DescribeCluster v0, of brokers from 2.8 to 3.6 (admin/_cluster.py:73, ``endpoint_type``), and on DescribeQuorum v0 and v1, of those before
  3.9. So this module sends the requests itself. To be removed once both take such answers.
- ``api_versions()`` fails on any api key that it doesn't know (admin/_cluster.py:228, ``ApiKey(k)``), ours among them: nothing uses it.
- It asks any broker that it knows, in a rolling restart perhaps the one that is down: `from_any` asks another one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from kafka.errors import IncompatibleBrokerVersion, KafkaConnectionError, RetriableError, for_code
from kafka.protocol.admin import DescribeClusterRequest, DescribeQuorumRequest
from kafka.protocol.metadata import MetadataRequest

from clientscope.kafka.admin import AdminClient
from clientscope.wire.codes import NONE

Asked = TypeVar("Asked")


@dataclass(frozen=True)
class Broker:
    """A broker as the cluster names it.

    Attributes:
        fenced: whether KRaft has fenced it: it is registered, and sends no heartbeats (KIP-1073). Brokers before 4.0 don't list such.
        controller: whether it is the active controller; None where that couldn't be found out.
    """

    id: int
    host: str
    port: int
    rack: str | None = None
    fenced: bool = False
    controller: bool | None = None


@dataclass(frozen=True)
class Described:
    """A cluster, as one of its brokers describes it.

    Attributes:
        controller_id: as the broker says: with ZooKeeper the controller, with KRaft any broker (KIP-590); None where it isn't known.
        brokers: by id.
        by_metadata: whether it was Metadata that said so, for want of DescribeCluster.
    """

    cluster_id: str
    controller_id: int | None
    brokers: Sequence[Broker]
    by_metadata: bool = False


def describe(admin: AdminClient) -> Described:
    """Asks any broker.

    Raises:
        KafkaError: it doesn't answer, or refuses.
    """
    by_metadata = False
    try:
        response = admin._manager.run(admin._manager.send, DescribeClusterRequest(include_fenced_brokers=True))
    except IncompatibleBrokerVersion:
        by_metadata = True
        response = admin._manager.run(admin._manager.send, MetadataRequest(topics=[], allow_auto_topic_creation=False))
    _require_none(response.error_code)
    said = response.to_dict()
    found = [
        Broker(each.get("broker_id", each.get("node_id")), each["host"], each["port"], each["rack"], bool(each.get("is_fenced")))
        for each in said["brokers"]
    ]
    return Described(said["cluster_id"], said["controller_id"], sorted(found, key=lambda broker: broker.id), by_metadata)


def quorum_leader(admin: AdminClient) -> int:
    """Which node leads KRaft's quorum (KIP-836), and so is the active controller; -1 while none does.

    Raises:
        IncompatibleBrokerVersion: there is no quorum, but ZooKeeper.
        KafkaError: it doesn't answer, or refuses.
    """
    topic = DescribeQuorumRequest.TopicData
    partitions = [topic.PartitionData(partition_index=0)]
    request = DescribeQuorumRequest(topics=[topic(topic_name="__cluster_metadata", partitions=partitions)])
    response = admin._manager.run(admin._manager.send, request)
    _require_none(response.error_code)
    (partition,) = (one for each in response.topics for one in each.partitions)
    _require_none(partition.error_code)
    return int(partition.leader_id)


def known_brokers(admin: AdminClient) -> Described:
    """The cluster as bootstrap's Metadata described it."""
    known = admin._manager.cluster
    brokers = [Broker(each.node_id, each.host, each.port, each.rack) for each in known.brokers()]
    return Described(known.cluster_id, None, sorted(brokers, key=lambda broker: broker.id))


def from_any(admin: AdminClient, question: Callable[[], Asked]) -> Asked:
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


def _require_none(error_code: int | None) -> None:
    if error_code not in (None, NONE):  # None where this version of the answer has none
        raise for_code(error_code)
