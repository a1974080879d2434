"""Admin client of Kafka, and what it asks for beyond kafka-python: descriptions and loggers.

What of kafka-python 3.0.12 is worked around:

- Where it can't connect, its error says no more than that time was up (net/manager.py, ``bootstrap``): the cause is taken from its log.
  To be removed once the error has a cause.
- ``describe_configs`` ignores the error code of each resource (admin/_configs.py): a topic that a broker hasn't heard of yet, or that we
  may not describe, has no settings. A topic always has some, so `configs` raises. To be removed once kafka-python raises.
- Before Kafka 2.8 an idempotent producer without IdempotentWrite on the cluster (KIP-679) fails with a bare KafkaError:
  `may_be_idempotent` asks for a producer id itself. To be removed with the support of such brokers.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias, TypeVar

from kafka import KafkaAdminClient, TopicPartition
from kafka.admin import ConfigResource, ConfigResourceType, OffsetSpec
from kafka.errors import (
    ClusterAuthorizationFailedError,
    IncompatibleBrokerVersion,
    InvalidConfigurationError,
    InvalidRequestError,
    KafkaConnectionError,
    KafkaError,
    KafkaTimeoutError,
    RetriableError,
    SaslAuthenticationFailedError,
    UnknownTopicOrPartitionError,
    UnsupportedVersionError,
    for_code,
)
from kafka.net.connection import KafkaConnection
from kafka.protocol.admin import DescribeClusterRequest, DescribeQuorumRequest
from kafka.protocol.consumer import ListOffsetsRequest
from kafka.protocol.metadata import ApiVersionsRequest, MetadataRequest
from kafka.protocol.producer import InitProducerIdRequest

from clientscope.errors import EnvironmentProblem
from clientscope.kafka.access import Kafka, access, bootstrapped
from clientscope.wire.codes import NONE

AdminClient: TypeAlias = KafkaAdminClient

_CONNECT_MS = 10_000

_SPECIFIED = {"earliest": OffsetSpec.EARLIEST, "latest": OffsetSpec.LATEST}


class _LastFailure(logging.Handler):
    """Why kafka-python could not connect, from its log."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.cause: BaseException | None = None

    def emit(self, record: logging.LogRecord) -> None:
        arguments = record.args if isinstance(record.args, tuple) else ()
        causes = [one for one in arguments if isinstance(one, BaseException) and not isinstance(one, KafkaTimeoutError)]
        # A broker that doesn't accept the password says so before it disconnects, but that isn't always read.
        if causes and not isinstance(self.cause, SaslAuthenticationFailedError):
            self.cause = causes[0]

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Keeps kafka-python's messages out of clientscope's own log meanwhile."""
        logger = logging.getLogger("kafka.net.manager")
        before = logger.level, logger.propagate
        logger.setLevel(logging.WARNING)
        logger.propagate = False
        logger.addHandler(self)
        try:
            yield
        finally:
            logger.removeHandler(self)
            logger.setLevel(before[0])
            logger.propagate = before[1]


def new_admin(arguments: Mapping[str, Any]) -> AdminClient:
    """A client by kafka-python's arguments; the caller closes it.

    Raises:
        KafkaError, OSError, ValueError: no broker answers, or an argument is wrong.
    """
    return bootstrapped(KafkaAdminClient, **arguments)


def connected(kafka: Kafka, client_id: str = "clientscope-topics", timeout_ms: int | None = None) -> AdminClient:
    """A client of our own; the caller closes it.

    Args:
        timeout_ms: how long brokers have for the connection, and for each answer; by default 10 s and kafka-python's 30 s.

    Raises:
        EnvironmentProblem: no broker answers, or it doesn't let us in; says why.
    """
    failure = _LastFailure()
    arguments = {**access(kafka).client_arguments(), "client_id": client_id, "bootstrap_timeout_ms": timeout_ms or _CONNECT_MS}
    if timeout_ms is not None:
        arguments["request_timeout_ms"] = timeout_ms
    try:
        with failure.listening():
            return new_admin(arguments)
    except (KafkaError, OSError, ValueError) as error:
        cause = failure.cause or error
        if isinstance(cause, SaslAuthenticationFailedError):
            raise EnvironmentProblem(
                f"Kafka at {access(kafka).bootstrap_servers} doesn't accept {access(kafka).principal} with this password",
                "check [kafka] sasl.mechanism, sasl.username and the password",
            ) from None
        raise no_broker(kafka, cause) from None


@contextmanager
def broker_errors(kafka: Kafka) -> Iterator[None]:
    """Raises `no_broker` for whatever a client of Kafka raises within."""
    try:
        yield
    except (KafkaError, TimeoutError) as error:
        raise no_broker(kafka, error) from None


def no_broker(kafka: Kafka, error: BaseException) -> EnvironmentProblem:
    """What to say when none of the bootstrap servers can be used."""
    used = access(kafka)
    hint = "is the broker up, and is that its INTERNAL listener? set --bootstrap-servers, and [kafka] security.protocol to what it speaks"
    if used.security_protocol.startswith("SASL") and "disconnected" in str(error):  # with SCRAM a wrong password may end so
        hint = f"perhaps it doesn't accept {used.principal} with this password, and ends the connection without saying so; if not: {hint}"
    name = type(error).__name__  # which kafka-python's errors begin with
    reason = str(error).removeprefix(f"{name}: ")[:200] or name
    problem = f"no broker answers at {used.bootstrap_servers} by {used.security_protocol} ({reason})"
    return EnvironmentProblem(problem, hint)


def configs(admin: AdminClient, of: Literal["topic", "broker"], names: Iterable[str]) -> dict[str, dict[str, str | None]]:
    """The values of all settings of topics or brokers: by its name, then by the setting's. Of a broker that we may not ask there are none.

    Raises:
        UnknownTopicOrPartitionError: the broker that answers knows no such topic, perhaps not yet.
        KafkaError: no broker answers.
    """
    resources = [ConfigResource(ConfigResourceType[of.upper()], name) for name in names]
    described = admin.describe_configs(resources, config_filter="all")[of]
    if of == "topic" and not all(described.values()):
        raise UnknownTopicOrPartitionError
    return {name: {key: entry["value"] for key, entry in entries.items()} for name, entries in described.items()}


def partition_offsets(
    admin: AdminClient, places: Iterable[TopicPartition], at: Literal["earliest", "latest"] | int
) -> dict[TopicPartition, int]:
    """The offset of each partition; -1 where there is none.

    Args:
        at: ms since the epoch, by Kafka's clock: the first record that was appended then or later.

    Raises:
        KafkaError: a partition's leader doesn't answer.
    """
    spec = _SPECIFIED[at] if isinstance(at, str) else at
    return {place: answer.offset for place, answer in admin.list_partition_offsets(dict.fromkeys(places, spec)).items()}


def may_be_idempotent(admin: AdminClient) -> bool:
    """Whether our producers get the ids that they need: before Kafka 2.8 that took a right on the cluster (KIP-679)."""
    if admin._manager.broker_version >= (2, 8):
        return True
    response = admin._manager.run(admin._manager.send, InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=60_000))
    return bool(response.error_code != ClusterAuthorizationFailedError.errno)


# What of kafka-python 3.0.12 is worked around:
#
# - ``describe_cluster()`` and ``describe_metadata_quorum()`` raise KeyError where an answer lacks a field of newer versions: on
# DescribeCluster v0, of brokers from 2.8 to 3.6 (admin/_cluster.py:73, ``endpoint_type``), and on DescribeQuorum v0 and v1, of those
# before 3.9. So this module sends the requests itself. To be removed once both take such answers. - ``api_versions()`` fails on any api
# key that it doesn't know (admin/_cluster.py:228, ``ApiKey(k)``), ours among them: nothing uses it. - It asks any broker that it knows,
# in a rolling restart perhaps the one that is down: `from_any` asks another one.
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


# What of kafka-python 3.0.12 is worked around:
#
# - Connections of its manager are shared, and take the bootstrap node's ranges for their own (net/connection.py:382): this one is made
# beside the manager, and keeps the answer to its own request. To be removed once ``get_broker_version_data`` asks on a fresh
# connection. - It keeps nothing of an ApiVersions answer but the ranges of keys, so the answer itself is kept, with features and
# unknown keys. - A connection refused leaves its socket to the garbage collector, so each is closed.
@dataclass(frozen=True)
class FreshAnswer:
    """What came of a connection.

    Attributes:
        versions: the answer to ApiVersions; None where there was none.
        described: the answer to DescribeCluster; None where it wasn't asked for, the broker is older than 2.8, or it refuses.
        reason: the error that ended it; empty for none.
        closed: whether the broker took the connection, and closed it at ApiVersions.
    """

    versions: Any = None
    described: Any = None
    reason: str = ""
    closed: bool = False


def ask_broker(admin: AdminClient, broker: Broker, version: int | None = None, *, describe: bool = False) -> FreshAnswer:
    """Connects to one broker with the admin client's settings, and asks.  From any thread.

    Args:
        version: of the ApiVersions request that is tried first; None for the newest that kafka-python knows.
        describe: ask for DescribeCluster, too.
    """
    answer = admin._manager.run(_connect_and_ask, admin._manager, broker, version, describe)
    assert isinstance(answer, FreshAnswer)
    return answer


async def _connect_and_ask(manager: Any, broker: Broker, version: int | None, describe: bool) -> FreshAnswer:
    connection = _Connection(manager._net, node_id=broker.id, **manager.config)
    if version is not None:
        connection._api_versions_idx = version
    reason, lost, described = "", False, None
    try:
        await manager._connect(
            _Node(broker.id, broker.host, broker.port),
            connection,
            timeout_at=time.monotonic() + manager.config["request_timeout_ms"] / 1000,
        )
        await connection
        if describe:
            described = await _described(connection)
    except (KafkaError, OSError) as error:
        reason = str(error).removeprefix(f"{type(error).__name__}: ") or type(error).__name__
        lost = isinstance(error, KafkaConnectionError)
    finally:
        connection.close()
    closed = connection.said is None and lost and connection.asked and not connection.timed_out
    return FreshAnswer(connection.said, described, reason, closed)


async def _described(connection: KafkaConnection) -> Any:
    try:
        return await connection.send_request(DescribeClusterRequest())
    except IncompatibleBrokerVersion:
        return None


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


REQUEST_LOGGER = "kafka.request.logger"

_REFUSED = (
    ClusterAuthorizationFailedError,
    IncompatibleBrokerVersion,
    InvalidConfigurationError,
    InvalidRequestError,
    UnsupportedVersionError,
)

_RIGHTS = "this principal needs DescribeConfigs and AlterConfigs on the cluster"

_HINT = "without it: have your operators log requests for some seconds, and give the log: clientscope xray PATH (docs/xray.md)"


def logger_level(admin: AdminClient, broker: int) -> str:
    """The level of its request logger in effect, such as ``WARN``.

    Raises:
        EnvironmentProblem: the broker has no such logger, or doesn't let us ask; says why and what else can be done.
        KafkaError: it doesn't answer.
    """
    try:
        described = admin.describe_configs([ConfigResource(ConfigResourceType.BROKER_LOGGER, str(broker))], config_filter="all")
    except (*_REFUSED, ValueError) as error:
        raise _refused(broker, error) from None
    levels = described.get("broker_logger", {}).get(str(broker), {})
    if REQUEST_LOGGER not in levels:  # kafka-python 3.0.12 gives an empty answer for a refusal, too
        raise EnvironmentProblem(
            f"broker {broker} shows no level of {REQUEST_LOGGER}: {_RIGHTS}, or its logging can't be set this way", _HINT
        )
    return str(levels[REQUEST_LOGGER]["value"])


def set_logger_level(admin: AdminClient, broker: int, level: str) -> None:
    """Sets a level until the broker's next start.

    Raises:
        EnvironmentProblem: the broker refuses; says why and what else can be done.
        KafkaError: it doesn't answer.
    """
    resource = ConfigResource(ConfigResourceType.BROKER_LOGGER, str(broker), {REQUEST_LOGGER: ("SET", level)})
    try:
        altered = admin.alter_configs([resource], raise_on_unknown=False)
    except (*_REFUSED, ValueError) as error:
        raise _refused(broker, error) from None
    if (answer := altered["broker_logger"][str(broker)]) != "OK":  # kafka-python gives an error's text as the result
        raise _refused(broker, ValueError(answer))


def send_deprecated(admin: AdminClient, broker: int) -> None:
    """Asks for nothing (ListOffsets of no topic), in a version that Kafka 4.0 removed: brokers of 3.9.1 and later 3.9 log it at INFO.

    Raises:
        KafkaError: the broker doesn't serve that version, or doesn't answer.
    """
    admin._manager.run(admin._manager.send, ListOffsetsRequest(version=0, replica_id=-1, topics=[]), broker)


def _refused(broker: int, error: Exception) -> EnvironmentProblem:
    authorization = "ClusterAuthorizationFailed" in f"{type(error).__name__} {error}"
    reason = _RIGHTS if authorization else str(error)[:200]
    return EnvironmentProblem(f"broker {broker} doesn't allow its log levels to be read and set: {reason or type(error).__name__}", _HINT)
