"""Key of a client: of records in ``clientscope.configs``, and wherever else a client is identified.

A client chooses its instance id (KIP-1324), so the id alone identifies no client: a client that sends another's id would take its place.
So the key also has the principal, which is who the broker says the client is, as a digest: a principal is text of any length that may
contain any separator. Where the principal distinguishes no clients (``User:ANONYMOUS``) or the protocol shows none (GSSAPI, a delegation
token), the key has the address instead: with ``User:ANONYMOUS`` in it, any client could take the place of any other that doesn't
authenticate.

An anonymous client can therefore take the place of another anonymous one only from the same address, and only under its instance id and in
the same cluster; never of one with a principal.
"""

from __future__ import annotations

import ipaddress
import re
from functools import lru_cache
from uuid import UUID

from clientscope.digest import identifier
from clientscope.model.principals import authenticated

_KEY = re.compile(r"([0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12})/[0-9a-f]{32}")

Tenant = str
"""Whose a client is, for bounds and quotas: see `tenant_of`."""


def client_key(
    cluster: str, principal: str | None, address: str, instance_id: UUID | str | None, gateway: str, epoch: int, connection: int
) -> str:
    """One client: its instance id and the digest of whose it is; of a client without an id, its connection.

    An instance id has no ``/``, and a connection's key has at least two, so the one is never taken for the other.
    """
    if instance_id is None:
        return f"{gateway}/{epoch}/{connection}"
    return f"{instance_id}/{scope(cluster, principal, address)}"


@lru_cache(maxsize=20_000)
def scope(cluster: str, principal: str | None, address: str) -> str:
    """Within what an instance id is one client: 32 hexadecimal digits of the cluster and the principal, or, without one, the address."""
    principal = authenticated(principal)
    parts = (cluster, "address", address) if principal is None else (cluster, "principal", principal)
    return identifier("client", *parts)


def instance_of(key: str) -> str | None:
    """The instance id in a client's key; None where the client has none."""
    found = _KEY.fullmatch(key)
    return None if found is None else found[1]


@lru_cache(maxsize=20_000)
def tenant_of(principal: str | None, address: str) -> Tenant:
    """Whose resources a client uses: its principal's (``=User:orders``), or, where it doesn't authenticate, its address's (``@10.0.0.1``).

    Of an IPv6 address the first 64 bits count, since a single host has all addresses below them.
    """
    principal = authenticated(principal)
    return "@" + network_of(address) if principal is None else "=" + principal


def is_anonymous(tenant: Tenant) -> bool:
    """Whether nothing but an address is known of a tenant."""
    return not tenant.startswith("=")


def name_of(tenant: Tenant) -> str:
    """A tenant in a sentence, cut to 80 characters."""
    return ("address " if is_anonymous(tenant) else "principal ") + tenant[1:81]


@lru_cache(maxsize=20_000)
def network_of(address: str) -> str:
    """What of an address one host can't choose: an IPv4 address whole, of IPv6 the network of 64 bits."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address
    if parsed.version == 4:
        return address
    if parsed.ipv4_mapped is not None:
        return str(parsed.ipv4_mapped)
    return str(ipaddress.ip_network((parsed.packed[:8] + bytes(8), 64)))
