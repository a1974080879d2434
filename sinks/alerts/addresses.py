"""Addresses that a message may be sent to: loopback and private networks only if a receiver names them, metadata services never."""

from __future__ import annotations

import re
import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from urllib.parse import urlsplit

Network = IPv4Network | IPv6Network
IpAddress = IPv4Address | IPv6Address
Resolve = Callable[[str, int], Sequence[str]]
"""Host and port → its addresses, as text."""

NEVER: tuple[Network, ...] = tuple(
    ip_network(network)
    for network in (
        "0.0.0.0/8", "169.254.0.0/16", "224.0.0.0/4", "240.0.0.0/4",
        "100.100.100.200/32",  # metadata of Alibaba Cloud
        "168.63.129.16/32",  # of Azure
        "192.0.0.192/32",  # of Oracle Cloud
        "::/128", "fe80::/10", "fec0::/10", "ff00::/8",
        "fd00:ec2::/32",  # of AWS
        "fd20:ce::/32",  # of Google Cloud
        "64:ff9b:1::/48",  # local NAT64 (RFC 8215): each network chooses the position of the IPv4 address in it
    )
)  # fmt: skip
"""Link-local, metadata services, multicast, networks that may contain any of these, and unassigned addresses."""

PRIVATE: tuple[Network, ...] = tuple(
    ip_network(network)
    for network in (
        "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "172.16.0.0/12", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16",
        "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24",
        "2001::/23",  # protocol assignments, Teredo (2001::/32) among them
        "2001:db8::/32", "2002::/16", "3fff::/20",
    )
)  # fmt: skip
"""What IANA's registries of special-purpose addresses don't call globally reachable (RFC 6890), beside `NEVER`.

A table of our own: what `ipaddress` calls private or global differs from one release of Python to the next.
"""

_GLOBAL_UNICAST = ip_network("2000::/3")
_CARRYING = tuple(
    ip_network(network)
    for network in (
        "64:ff9b::/96",  # NAT64 (RFC 6052)
        "::/96",  # IPv4-compatible (RFC 4291)
        "::ffff:0:0:0/96",  # IPv4-translated (RFC 2765)
    )
)
"""Networks whose last 32 bits are an IPv4 address."""

_ISATAP = (0x00005EFE, 0x02005EFE)
"""First halves of an interface identifier whose other half is an IPv4 address (RFC 5214)."""

# What inet_aton(3) takes for an IPv4 address although it isn't written as one: 0x7f000001, 2130706433, 127.1, 0177.0.0.1.
_ODD_IPV4 = re.compile(r"(?:0[xX][0-9a-fA-F]*|\d+)(?:\.(?:0[xX][0-9a-fA-F]*|\d+)){0,3}\.?")
_HOST_NAME = re.compile(r"(?!-)[A-Za-z0-9_-]{1,63}(?<!-)(?:\.(?!-)[A-Za-z0-9_-]{1,63}(?<!-))*\.?")


class AddressRefused(Exception):
    """An address that must not be connected to; the text says which kind, and no more than a person configured."""


@dataclass(frozen=True)
class Target:
    """An HTTP address, taken apart.  ``path`` has the query too, and may be a secret."""

    scheme: str
    host: str
    port: int
    path: str

    @property
    def authority(self) -> str:
        """For the Host header."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == (443 if self.scheme == "https" else 80) else f"{host}:{self.port}"

    @classmethod
    def of(cls, url: str, allowed: Sequence[Network]) -> Target:
        """An address as configured; what can be known without asking a name server is checked here.

        Raises:
            AddressRefused: it is no HTTP address, or one that is not permitted.
        """
        if any(ord(character) <= 32 or ord(character) == 127 or character == "\\" for character in url):
            raise AddressRefused("it has a space, a backslash or a control character")
        try:
            parts = urlsplit(url)
            port = parts.port
        except ValueError:
            raise AddressRefused("it is no HTTP address, as in https://hooks.example.com/x") from None
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise AddressRefused("it is no HTTP address, as in https://hooks.example.com/x")
        if "@" in parts.netloc:
            raise AddressRefused("it has a user or password: put that into headers, from a file or the environment")
        if parts.fragment or port == 0:
            raise AddressRefused("it has a fragment (#), or port 0")
        check_host(parts.hostname, allowed)
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        if not path.isascii():
            raise AddressRefused("its path is not ASCII: write it percent-encoded")
        return cls(parts.scheme, parts.hostname, port or (443 if parts.scheme == "https" else 80), path)


def check_host(host: str, allowed: Sequence[Network]) -> None:
    """A host as configured: a name, or an address that is permitted and written as one.

    Raises:
        AddressRefused: it is neither.
    """
    try:
        address = ip_address(host)
    except ValueError:
        if _ODD_IPV4.fullmatch(host):
            raise AddressRefused(f"{host} is a number that some programs take for an address: write it as 192.0.2.7") from None
        if not _HOST_NAME.fullmatch(host):
            raise AddressRefused("its host is no name: write one beyond ASCII as xn--…") from None
        return
    check(address, allowed)


def check(address: IpAddress, allowed: Sequence[Network]) -> None:
    """Whether an address may be connected to.

    Raises:
        AddressRefused: it may not.
    """
    meant = _meant(address)
    if any(one in network for one in meant for network in NEVER):
        raise AddressRefused(f"{address} is link-local, a metadata service or reserved: never permitted")
    for one in meant:
        if not _is_global(one) and not any(one in network for network in allowed):
            raise AddressRefused(f"{address} is loopback or private: permitted only where the receiver's allow_networks names it")


def resolved(target: Target, allowed: Sequence[Network], resolve: Resolve) -> str:
    """The address to connect to now: a name's first.

    Raises:
        AddressRefused: one of its addresses is not permitted, or it has none.
    """
    found = resolve(target.host, target.port)
    if not found:
        raise AddressRefused("its name has no address")
    for text in found:
        check(ip_address(text.partition("%")[0]), allowed)
    return found[0]


def system_resolve(host: str, port: int) -> list[str]:
    """By the system's own resolver.

    Raises:
        OSError: it has no answer.
    """
    return [str(entry[4][0]) for entry in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]


def _meant(address: IpAddress) -> list[IpAddress]:
    """The address, or for an IPv6 address that carries an IPv4 one, that too."""
    if isinstance(address, IPv4Address):
        return [address]
    if address.ipv4_mapped is not None:  # the kernel itself takes this one for the IPv4 address
        return [address.ipv4_mapped]
    carried: list[IpAddress] = []
    if address.sixtofour is not None:
        carried.append(address.sixtofour)
    if address.teredo is not None:
        carried += address.teredo
    if (int(address) > 1 and any(address in network for network in _CARRYING)) or (int(address) >> 32) & 0xFFFFFFFF in _ISATAP:
        carried.append(IPv4Address(int(address) & 0xFFFFFFFF))
    return [address, *carried]


def _is_global(address: IpAddress) -> bool:
    if any(address in network for network in PRIVATE):
        return False
    return isinstance(address, IPv4Address) or address in _GLOBAL_UNICAST or address in _CARRYING[0]
