"""Admin client: requests to a cluster, and errors for when no broker can be used.

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
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Literal, TypeAlias

from kafka import KafkaAdminClient, TopicPartition
from kafka.admin import ConfigResource, ConfigResourceType, OffsetSpec
from kafka.errors import (
    ClusterAuthorizationFailedError,
    KafkaError,
    KafkaTimeoutError,
    SaslAuthenticationFailedError,
    UnknownTopicOrPartitionError,
)
from kafka.protocol.producer import InitProducerIdRequest

from clientscope.errors import EnvironmentProblem
from clientscope.kafka.access import Kafka, access
from clientscope.kafka.bootstrap import bootstrapped

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
    admin: AdminClient, places: Iterable[tuple[str, int]], at: Literal["earliest", "latest"] | int
) -> dict[tuple[str, int], int]:
    """The offset of each partition, by topic and number; -1 where there is none.

    Args:
        at: ms since the epoch, by Kafka's clock: the first record that was appended then or later.

    Raises:
        KafkaError: a partition's leader doesn't answer.
    """
    spec = _SPECIFIED[at] if isinstance(at, str) else at
    found = admin.list_partition_offsets({TopicPartition(*place): spec for place in places})
    return {(place.topic, place.partition): answer.offset for place, answer in found.items()}


def may_be_idempotent(admin: AdminClient) -> bool:
    """Whether our producers get the ids that they need: before Kafka 2.8 that took a right on the cluster (KIP-679)."""
    if admin._manager.broker_version >= (2, 8):
        return True
    response = admin._manager.run(admin._manager.send, InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=60_000))
    return bool(response.error_code != ClusterAuthorizationFailedError.errno)
