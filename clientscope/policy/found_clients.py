"""Clients that request logs show, as records of ``clientscope.configs``: redacted as the gateway redacts a push.

Each client has an instance id that is derived from its names, so a later run replaces its record. The gateway id is the name of the
command, the epoch the start of the run, and the connection id a number within it. No gateway reports such a connection, so a client counts
as connected for 30 s, or while a gateway has a connection with the same principal, client.id and address.
"""

from __future__ import annotations

import ipaddress
import uuid
from collections.abc import Mapping
from dataclasses import dataclass

from clientscope.catalog.configs import ClientType
from clientscope.digest import DigestKey, identifier
from clientscope.policy.interface import ClientConfig, ClientConfigData, RequestContext
from clientscope.policy.publishing import config_record, redacted_settings
from clientscope.policy.redaction import ClientNames
from clientscope.records.codec import encode
from clientscope.records.enums import Origin, PrincipalSource
from clientscope.records.principals import ANONYMOUS

GATEWAY_ID = "clientscope xray"
"""``GatewayId`` of records that no gateway wrote."""

MOST_RECORDS = 20_000
"""Of one run; so many clients an inventory has at most, and so many records the job keeps of one principal or address."""
MOST_BYTES = 256 * 1024 * 1024
"""Of the records of one run together."""
MOST_RECORD_BYTES = 1_000_000
"""Of one record; the topic takes 1,048,588 bytes of key, value and framing."""

_LONGEST_NAME = 256
_PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
_NAMESPACE = uuid.UUID("5f0f3d2c-6a0e-5c52-9d53-0d7f5b1a4e11")


@dataclass(frozen=True)
class FoundClient:
    """One client; names are as it chose them, bounded and judged when a record is made.

    Attributes:
        broker_id: None where that isn't known.
        address: IP address; empty where that isn't known.
        security_protocol: another text than Kafka's four counts as PLAINTEXT.
    """

    client_type: ClientType | None
    software_name: str
    software_version: str
    client_id: str | None
    principal: str | None
    settings: tuple[ClientConfig, ...]
    broker_id: int | None = None
    address: str = ""
    listener: str = ""
    security_protocol: str = "PLAINTEXT"


class FoundClients:
    """The records of one run, by key. Without I/O; for one thread.

    Attributes:
        left_out: clients beyond `MOST_RECORDS` or `MOST_BYTES`.
        too_large: clients whose record is larger than `MOST_RECORD_BYTES`.
    """

    def __init__(self, cluster_id: str, broker_id: int, now_ms: int, key: DigestKey | None) -> None:
        """
        Args:
            broker_id: of clients whose broker isn't known.
            now_ms: when the run started, in ms since the epoch.
            key: makes the digests of redacted values; None makes none.
        """
        self.left_out = self.too_large = 0
        self._cluster_id, self._broker_id, self._now_ms, self._key = cluster_id, broker_id, now_ms, key
        self._names = ClientNames(key)
        self._records: dict[str, bytes] = {}
        self._bytes = self._added = 0

    @property
    def records(self) -> Mapping[str, bytes]:
        """Key → value, for ``clientscope.configs``."""
        return self._records

    def add(self, client: FoundClient) -> None:
        """Takes a client; one of the same identity is replaced."""
        context = self._context(client)
        before = self._records.get(context.client_key, b"")
        data = ClientConfigData(client.settings, self._now_ms)
        settings = redacted_settings(data, self._key)
        value = encode(config_record(context, self._now_ms, settings, self._key, self._names, Origin.REQUEST_LOG))
        if len(value) > MOST_RECORD_BYTES:
            self.too_large += 1
        elif self._bytes + len(value) - len(before) > MOST_BYTES or (not before and len(self._records) >= MOST_RECORDS):
            self.left_out += 1
        else:
            self._bytes += len(value) - len(before)
            self._records[context.client_key] = value
            self._added += 1

    def _context(self, client: FoundClient) -> RequestContext:
        protocol = client.security_protocol.upper()
        protocol = protocol if protocol in _PROTOCOLS else _PROTOCOLS[0]
        unsaid = ANONYMOUS if protocol == "PLAINTEXT" else None
        principal = self._names("principal", _cut(client.principal) or unsaid)
        client_id = self._names("client_id", _cut(client.client_id))
        software = self._names("client_software_name", _cut(client.software_name) or "unknown")
        client_type = client.client_type.value if client.client_type else ""
        address = _address(client.address)
        identity = (Origin.REQUEST_LOG.name, client_type, software, client_id or "", principal or "", address)
        return RequestContext(
            cluster_id=self._cluster_id,
            broker_id=self._broker_id if client.broker_id is None else client.broker_id,
            gateway_id=GATEWAY_ID,
            gateway_epoch=self._now_ms,
            connection_id=self._added,
            listener_name=self._names("listener_name", _cut(client.listener) or ""),
            security_protocol=protocol,
            client_address=address,
            principal=principal,
            principal_source=PrincipalSource.NONE,
            client_id=client_id,
            software_name=software,
            software_version=_cut(client.software_version) or "unknown",
            client_instance_id=found_instance_id(self._cluster_id, *identity),
        )


def found_instance_id(cluster_id: str, *identity: str) -> uuid.UUID:
    """The instance id of a client that was found, made of names that are judged: a hash of a secret could be guessed."""
    return uuid.uuid5(_NAMESPACE, identifier("found client", cluster_id, *identity))


def _address(text: str) -> str:
    """An IP address as Kafka writes it; empty for anything else that a log has in its place."""
    try:
        return str(ipaddress.ip_address(text.partition("%")[0]))
    except ValueError:
        return ""


def _cut(name: str | None) -> str | None:
    """A name as records have it: at most 256 characters, and valid UTF-8."""
    return None if name is None else name[:_LONGEST_NAME].encode("utf-8", "replace").decode()
