"""Parser of the PROXY protocol, versions 1 and 2: a load balancer's description of a connection, before the client's own bytes.

Source: HAProxy's doc/proxy-protocol.txt. Bytes in, values out; no I/O. A receiver must not guess: whether a header comes is declared,
and anything but a whole, well-formed header ends the connection.
"""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address

from clientscope.errors import WireError

SIGNATURE = b"\r\n\r\n\0\r\nQUIT\n"
MOST_BYTES = 4096
"""The longest header taken, TLVs included. The protocol allows 64 KiB of them; what load balancers send is a few hundred bytes."""

_LONGEST_LINE = 107  # the specification's own, CRLF included
_HEAD = struct.Struct(">12sBBH")
_LOCAL, _PROXY = 0x20, 0x21
_TCP4, _TCP6 = 0x11, 0x21
_FAMILIES, _TRANSPORTS = 3, 2  # the greatest that are assigned
_LAYOUT = {_TCP4: (struct.Struct(">4s4sHH"), IPv4Address), _TCP6: (struct.Struct(">16s16sHH"), IPv6Address)}
_LINE = re.compile(rb"PROXY TCP([46]) ([0-9a-fA-F.:]+) ([0-9a-fA-F.:]+) (0|[1-9][0-9]{0,4}) (0|[1-9][0-9]{0,4})\r\n")

Endpoint = tuple[str, int]
"""Address and port."""


@dataclass(frozen=True)
class Header:
    """A load balancer's description of a connection.

    Attributes:
        source: the client's own address and port; None where the connection is the load balancer's own (a health check), or it
            doesn't know: then the connection's real ends count.
        destination: where the client connected to; None likewise.
    """

    source: Endpoint | None = None
    destination: Endpoint | None = None


def header_in(begun: bytes) -> tuple[Header, int] | None:
    """The header that a connection's first bytes begin with, and its length; None while it isn't whole.

    Raises:
        WireError: ``proxy_header_invalid``, as soon as the bytes can be no header any more: `MOST_BYTES` without a whole one never can.
    """
    if begun[: len(SIGNATURE)] == SIGNATURE[: len(begun)]:
        return _binary(begun)
    if begun[:6] == b"PROXY "[: len(begun)]:
        return _line(begun)
    raise _invalid("neither version's first bytes")


def _line(begun: bytes) -> tuple[Header, int] | None:
    end = begun.find(b"\r\n", 0, _LONGEST_LINE)
    if end < 0:
        if len(begun) >= _LONGEST_LINE:
            raise _invalid("a line without its end")
        return None
    line = begun[: end + 2]
    if re.fullmatch(rb"PROXY UNKNOWN( [^\r\n]*)?\r\n", line):
        return Header(), len(line)
    found = _LINE.fullmatch(line)
    if found is None:
        raise _invalid("not a line of version 1")
    make = IPv4Address if found[1] == b"4" else IPv6Address
    try:
        source, destination = str(make(found[2].decode())), str(make(found[3].decode()))
    except ValueError:
        raise _invalid("no address") from None
    ports = int(found[4]), int(found[5])
    if max(ports) > 65535:
        raise _invalid("no port")
    return Header((source, ports[0]), (destination, ports[1])), len(line)


def _binary(begun: bytes) -> tuple[Header, int] | None:
    if len(begun) < _HEAD.size:
        return None
    _, command, kind, length = _HEAD.unpack_from(begun)
    if command not in (_LOCAL, _PROXY) or kind >> 4 > _FAMILIES or kind & 15 > _TRANSPORTS:
        raise _invalid("unassigned numbers")
    end = _HEAD.size + length
    if end > MOST_BYTES:
        raise _invalid("too long")
    if len(begun) < end:
        return None
    block = begun[_HEAD.size : end]
    if command == _LOCAL or kind not in _LAYOUT:
        return Header(), end  # UNSPEC, UDP and UNIX sockets: the specification's fallback; we speak TCP alone
    layout, make = _LAYOUT[kind]
    if len(block) < layout.size:
        raise _invalid("shorter than its addresses")
    source, destination, source_port, destination_port = layout.unpack_from(block)
    return Header((str(make(source)), source_port), (str(make(destination)), destination_port)), end


def build(source: Endpoint | None, destination: Endpoint | None) -> bytes:
    """A header of version 2: for these ends, of one IP version; LOCAL where one isn't known, or they differ in it."""
    try:
        ends = [(IPv6Address(host.partition("%")[0]) if ":" in host else IPv4Address(host), port) for host, port in (source, destination)]  # type: ignore[misc]
    except (TypeError, ValueError):
        ends = []
    if not ends or ends[0][0].version != ends[1][0].version:
        return _HEAD.pack(SIGNATURE, _LOCAL, 0, 0)
    kind = _TCP4 if ends[0][0].version == 4 else _TCP6
    layout, _ = _LAYOUT[kind]
    block = layout.pack(ends[0][0].packed, ends[1][0].packed, ends[0][1], ends[1][1])
    return _HEAD.pack(SIGNATURE, _PROXY, kind, len(block)) + block


def _invalid(detail: str) -> WireError:
    return WireError("proxy_header_invalid", detail)
