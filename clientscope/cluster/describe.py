"""Which brokers a cluster has: DescribeCluster (KIP-700), and Metadata of brokers before 2.8, which lack it.

kafka-python 3.0.12's own ``describe_cluster()`` fails with a KeyError on DescribeCluster v0, which is what brokers from 2.8 to 3.6 have.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kafka.admin import KafkaAdminClient
from kafka.errors import IncompatibleBrokerVersion, for_code
from kafka.protocol.admin import DescribeClusterRequest
from kafka.protocol.metadata import MetadataRequest

from clientscope.wire.codes import NONE


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
    """

    cluster_id: str
    controller_id: int | None
    brokers: Sequence[Broker]


def describe(admin: KafkaAdminClient) -> Described:
    """Asks any broker.

    Raises:
        KafkaError: it doesn't answer, or refuses.
    """
    try:
        response = admin._manager.run(admin._manager.send, DescribeClusterRequest(include_fenced_brokers=True))
    except IncompatibleBrokerVersion:
        response = admin._manager.run(admin._manager.send, MetadataRequest(topics=[], allow_auto_topic_creation=False))
    if response.error_code not in (None, NONE):  # Metadata has one since v13
        raise for_code(response.error_code)(getattr(response, "error_message", None))
    said = response.to_dict()
    found = [
        Broker(each.get("broker_id", each.get("node_id")), each["host"], each["port"], each["rack"], bool(each.get("is_fenced")))
        for each in said["brokers"]
    ]
    return Described(said["cluster_id"], said["controller_id"], sorted(found, key=lambda broker: broker.id))
