"""Settings that a Java client logs with another value than it uses, up to the release that corrects it.

Read from KafkaProducer, KafkaConsumer, ProducerConfig, ConsumerConfig and KafkaAdminClient of Kafka 0.10.2 to 4.3. What a client uses
instead, its dialect's `settle` says; of an empty client.id only that the library chooses one.
"""

from __future__ import annotations

from typing import NamedTuple

from clientscope.catalog.configs import ClientType
from clientscope.catalog.settings import Release


class WronglyLogged(NamedTuple):
    """Settings that one type of client logs before it has changed them.

    Attributes:
        source: Kafka's issue, or the method.
        corrected_in: the first release that logs them as they are; None where none does.
    """

    source: str
    client_type: ClientType
    corrected_in: Release | None
    keys: frozenset[str]


WRONGLY_LOGGED = (
    WronglyLogged("KAFKA-8928", ClientType.PRODUCER, (2, 5), frozenset({"acks", "client.id", "enable.idempotence", "retries"})),
    WronglyLogged("KAFKA-9344", ClientType.CONSUMER, (2, 6), frozenset({"client.id"})),
    # The issue names it too; its correction reached the log only with ConsumerConfig.maybeOverrideEnableAutoCommit(Map).
    WronglyLogged("KAFKA-9344", ClientType.CONSUMER, (3, 7), frozenset({"enable.auto.commit"})),
    WronglyLogged("KafkaAdminClient.generateClientId", ClientType.ADMIN, None, frozenset({"client.id"})),
)


def wrongly_logged(client_type: ClientType, release: Release) -> frozenset[str]:
    """Settings of which a log of this client doesn't say what is used.

    Args:
        release: empty for one that isn't known, which counts as the newest.
    """
    rows = (each for each in WRONGLY_LOGGED if each.client_type is client_type)
    return frozenset().union(*(each.keys for each in rows if each.corrected_in is None or () < release < each.corrected_in))
