"""A request that a broker logged, whatever format the broker's release has."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from clientscope.wire.request_fields import MOST_CHARACTERS


class LoggedRequest(NamedTuple):
    """One line of ``kafka.request.logger``, as far as it is used.

    Attributes:
        logged_at: the line's date and time as written, without a zone and with a space between them; empty where the line has none.
        connection: Kafka's connection id, unique within a broker.
        address: the client's IP address.
        principal: as the broker names it, such as ``User:alice``.
        software_name: KIP-511's name; empty where the line doesn't have it.
        software_version: KIP-511's version; empty where the line doesn't have it.
        fields: allow-listed fields of the request's body, by Kafka's names in JSON.  Nothing else of the body is kept.
    """

    api_key: int
    api_version: int
    logged_at: str
    client_id: str
    connection: str
    address: str
    principal: str
    listener: str
    security_protocol: str
    software_name: str
    software_version: str
    fields: Mapping[str, str]


FIELDS: Mapping[int, tuple[str, ...]] = {
    0: ("transactionalId", "acks", "timeoutMs"),
    1: ("replicaId", "maxWaitMs", "minBytes", "maxBytes", "isolationLevel", "rackId", "partitionMaxBytes"),
    3: ("allowAutoTopicCreation",),
    8: ("groupId", "memberId"),
    11: ("groupId", "sessionTimeoutMs", "rebalanceTimeoutMs", "groupInstanceId", "protocolType", "protocols"),
    12: ("groupId",),
    14: ("groupId",),
    18: ("clientSoftwareName", "clientSoftwareVersion"),
    22: ("transactionalId", "transactionTimeoutMs"),
    68: ("groupId", "instanceId", "rackId", "rebalanceTimeoutMs", "serverAssignor"),
}
"""Api key → the fields that are read.  A request log can have passwords, salts and tokens of others (SASL, SCRAM, delegation tokens)."""


def address_of(connection: str) -> str:
    """The client's address in a connection id ``LOCAL:PORT-REMOTE:PORT-INDEX``, or empty; an IPv6 address has no brackets there."""
    remote = connection.partition("-")[2]
    return remote.partition("-")[0].rpartition(":")[0]


def cut(text: object) -> str:
    """A value as text, at most `MOST_CHARACTERS` long."""
    return text[:MOST_CHARACTERS] if isinstance(text, str) else str(text)[:MOST_CHARACTERS]
