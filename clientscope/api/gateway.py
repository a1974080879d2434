"""API model of a gateway's connections, at ``/v1/connections`` of its admin address."""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import ConfigDict, TypeAdapter
from pydantic.alias_generators import to_pascal


@dataclass(frozen=True, slots=True, kw_only=True)
class GatewayConnection:
    """An open connection, under the names of KIP-511's draft 7 (``Connections``): ``ClientId`` and so on.

    Attributes:
        inferred: name and version that are recognised by client.id, address and principal together; None where the client says them.
        opened_ms: since the epoch.
    """

    __pydantic_config__ = ConfigDict(alias_generator=to_pascal, validate_by_name=True, validate_by_alias=True)

    client_id: str | None
    client_name: str
    client_version: str
    inferred: tuple[str, str] | None
    client_address: str
    principal: str | None
    listener: str
    security_protocol: str
    client_instance_id: str | None = None
    connection_id: int
    opened_ms: int


GATEWAY_CONNECTIONS = TypeAdapter(list[GatewayConnection])
"""The whole answer."""
