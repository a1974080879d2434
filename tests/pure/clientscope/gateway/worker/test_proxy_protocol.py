"""gateway/proxy_protocol: HAProxy's specification, in any cutting; and whatever comes, an answer with bounded memory."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from ipaddress import IPv4Address, IPv6Address, ip_address

import pytest
from golden import as_bytes, cases
from hypothesis import given
from hypothesis import strategies as st

from clientscope.config_types import is_within, split_networks
from clientscope.errors import WireError
from clientscope.gateway.worker.proxy_protocol import MOST_BYTES, SIGNATURE, Header, build, header_in

ports = st.integers(0, 65535)
ends = st.one_of(
    st.tuples(st.tuples(st.ip_addresses(v=4).map(str), ports), st.tuples(st.ip_addresses(v=4).map(str), ports)),
    st.tuples(st.tuples(st.ip_addresses(v=6).map(str), ports), st.tuples(st.ip_addresses(v=6).map(str), ports)),
)


def v2(command: int, kind: int, block: bytes) -> bytes:
    return SIGNATURE + struct.pack(">BBH", command, kind, len(block)) + block


def read(data: bytes, cuts: Sequence[int] = ()) -> tuple[Header | None, bytes]:
    """The header, and what is the client's own; as the bytes up to each of ``cuts`` have come."""
    for end in (*sorted(cut % (len(data) + 1) for cut in cuts), len(data)):
        if (found := header_in(data[:end])) is not None:
            header, length = found
            return header, data[length:]
    return None, b""


@given(
    ends=ends, rest=st.binary(max_size=50), cuts=st.lists(st.integers(0, 500), max_size=6), tlvs=st.binary(max_size=300), old=st.booleans()
)
def test_any_ends_in_any_cutting_and_not_one_byte_more(
    ends: tuple[tuple[str, int], tuple[str, int]], rest: bytes, cuts: list[int], tlvs: bytes, old: bool
) -> None:
    source, destination = ends
    if old:
        family = "TCP6" if ":" in source[0] else "TCP4"
        header = f"PROXY {family} {source[0]} {destination[0]} {source[1]} {destination[1]}\r\n".encode()
    else:
        built = build(source, destination)
        (length,) = struct.unpack_from(">H", built, 14)
        header = built[:14] + struct.pack(">H", length + len(tlvs)) + built[16:] + tlvs
    assert read(header + rest, cuts) == (Header(source, destination), rest)


@given(
    st.binary(max_size=6000),
    st.lists(st.integers(0, 6000), max_size=5),
    st.sampled_from([b"", b"PROXY ", b"PROXY TCP4 ", SIGNATURE, SIGNATURE + b"\x21\x11"]),
)
def test_whatever_comes_is_a_header_or_refused_and_never_waits_beyond_its_bound(data: bytes, cuts: list[int], begins: bytes) -> None:
    try:
        header, _ = read(begins + data, cuts)
    except WireError as error:
        assert error.reason == "proxy_header_invalid"
    else:
        assert header is not None or len(begins + data) < MOST_BYTES


@pytest.mark.parametrize(("expected", "begins", "rest"), cases(__file__, "headers.txt"))
def test_what_is_behind_it_by_each_header(expected: str, begins: str, rest: str) -> None:
    """Version 2 begins with two bytes: command, and family with transport; where no other is named, the connection's own ends count."""
    data = as_bytes(rest)
    header = v2(*bytes.fromhex(begins), data) if begins else data
    if expected == "refused":
        with pytest.raises(WireError, match="proxy_header_invalid"):
            read(header)
    else:
        assert read(header + b"next") == (Header(), b"next")


def test_a_wrong_first_byte_is_refused_at_once() -> None:
    for first in set(range(256)) - {ord("P"), ord("\r")}:
        with pytest.raises(WireError):
            header_in(bytes([first]))


def test_the_specifications_own_bytes() -> None:
    assert build(("192.168.0.1", 56324), ("192.168.0.11", 443)) == (
        b"\x0d\x0a\x0d\x0a\x00\x0d\x0a\x51\x55\x49\x54\x0a\x21\x11\x00\x0c\xc0\xa8\x00\x01\xc0\xa8\x00\x0b\xdc\x04\x01\xbb"
    )
    assert read(b"PROXY TCP4 192.168.0.1 192.168.0.11 56324 443\r\nGET") == (
        Header(("192.168.0.1", 56324), ("192.168.0.11", 443)),
        b"GET",
    )


@pytest.mark.parametrize("ends", [(None, None), (("::1", 1), ("127.0.0.1", 2)), (("/run/socket", 0), ("127.0.0.1", 2))])
def test_ends_that_version_2_cannot_name_are_local(ends: tuple[tuple[str, int] | None, tuple[str, int] | None]) -> None:
    assert build(*ends) == v2(0x20, 0, b"")


def test_a_zone_is_no_part_of_an_address() -> None:
    assert read(build(("fe80::1%eth0", 1), ("fe80::2%3", 2)))[0] == Header(("fe80::1", 1), ("fe80::2", 2))


@given(st.one_of(st.ip_addresses(v=4), st.ip_addresses(v=6)))
def test_only_declared_networks_send_one(address: IPv4Address | IPv6Address) -> None:
    networks = split_networks("10.0.0.0/8, fd00::/8,192.0.2.7")
    first = address.packed[0]
    expected = str(address) == "192.0.2.7" or (first == 10 if address.version == 4 else first == 0xFD)
    mapped = getattr(address, "ipv4_mapped", None)
    assert is_within(str(address), networks) == (expected if mapped is None else is_within(str(mapped), networks))
    assert is_within("::ffff:10.1.2.3", networks) and not is_within("", networks) and ip_address("10.0.0.1") in networks[0]
