"""Client quotas of a cluster (KIP-546, Kafka 2.6 and later); kafka-python 3.0.12 has the message and no method for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kafka.errors import for_code
from kafka.protocol.admin import DescribeClientQuotasRequest

from clientscope.kafka.admin import AdminClient
from clientscope.wire.codes import NONE


@dataclass(frozen=True)
class ClientQuota:
    """The quotas of one entity.

    Attributes:
        entity: ``user``, ``client-id`` or ``ip`` → its name, None for the default of all without one of their own.
        values: quota, such as ``producer_byte_rate`` → value in its own unit.
    """

    entity: Mapping[str, str | None]
    values: Mapping[str, float]


def client_quotas(admin: AdminClient) -> list[ClientQuota]:
    """All quotas, in the order of their entities.

    Raises:
        IncompatibleBrokerVersion: a broker before 2.6.
        KafkaError: the broker doesn't answer, or refuses.
    """
    response = admin._manager.run(admin._manager.send, DescribeClientQuotasRequest(components=[], strict=False))
    if response.error_code != NONE:
        raise for_code(response.error_code)(response.error_message or "")
    found = [
        ClientQuota({part.entity_type: part.entity_name for part in entry.entity}, {each.key: each.value for each in entry.values})
        for entry in response.entries or ()
    ]
    return sorted(found, key=lambda quota: sorted((kind, name or "") for kind, name in quota.entity.items()))
