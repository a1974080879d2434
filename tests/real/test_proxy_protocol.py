"""The PROXY protocol: who is behind a load balancer, as our records and limits have it; and who must not say so."""

from __future__ import annotations

import socket
import struct
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from conftest import RunningBroker, RunningGateway
from frame_bytes import request_frame
from observe import await_count, by_librdkafka, connection_records, count, is_closed, make_topic, push_one
from patience import until

from clientscope.client.raw import RawClient
from clientscope.gateway.worker.proxy_protocol import build
from clientscope.local.process import free_port

BALANCER = "127.0.0.9"
V1 = b"PROXY TCP4 203.0.113.7 198.51.100.1 40000 9092\r\n"
FLAGS = ("--proxy-protocol-from", f"{BALANCER},fd00::/8", "--unauthenticated-timeout-ms", "2000", "--max-connections-per-ip", "3")


@pytest.fixture(scope="module")
def behind(broker: Any, folder: Path) -> Iterator[RunningGateway]:
    """A gateway with a load balancer at `BALANCER` in front."""
    with broker.gateway(folder / "behind", *FLAGS, listen=f"0.0.0.0:{free_port()}") as running:
        yield running


def connect(gateway: RunningGateway, source: str, header: bytes = b"") -> RawClient:
    connected = socket.create_connection(("127.0.0.1", int(gateway.address.split(":")[1])), 10, (source, 0))
    connected.sendall(header)
    return RawClient(connected, "behind")


def addresses(broker: Any, gateway_id: str, name: str) -> set[str]:
    return {record.address for record in connection_records(broker.internal, gateway_id, software_name=name)}


@pytest.mark.parametrize(
    ("name", "header", "address"),
    [
        ("v1", V1, "203.0.113.7"),
        ("v2", build(("203.0.113.8", 1), ("198.51.100.1", 2)), "203.0.113.8"),
        ("v2-local", build(None, None), BALANCER),
    ],
)
def test_the_clients_own_address_is_on_record(broker: Any, behind: RunningGateway, name: str, header: bytes, address: str) -> None:
    with connect(behind, BALANCER, header) as client:
        assert client.api_versions(name, "1").error_code == 0
        until(lambda: addresses(broker, behind.address, name), {address})
        assert push_one(client) == 0


def test_header_and_requests_in_one_segment_or_byte_by_byte(behind: RunningGateway) -> None:
    request = request_frame(18, 0, 77)
    with connect(behind, BALANCER, V1 + request + request) as client:
        assert [client.receive_frame()[:4] for _ in range(2)] == [struct.pack(">i", 77)] * 2
    with connect(behind, BALANCER) as client:
        client.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for byte in V1 + request:
            client.socket.sendall(bytes([byte]))
            time.sleep(0.005)
        assert client.receive_frame()[:4] == struct.pack(">i", 77)


@pytest.mark.parametrize(
    ("sent", "reason"),
    [
        (request_frame(18, 0, 77), "proxy_header_invalid"),
        (V1[:20], "proxy_header_invalid"),
        (b"", "proxy_header_missing"),
    ],
    ids=["kafka", "half", "nothing"],
)
def test_without_a_whole_header_there_is_no_connection(behind: RunningGateway, sent: bytes, reason: str) -> None:
    before, opened = count(behind, "connections_refused", reason), count(behind, "connections_opened", "CLIENT")
    with connect(behind, BALANCER, sent) as client:
        if sent in {b"", V1[:20]}:
            client.socket.shutdown(socket.SHUT_WR)
        assert is_closed(client.socket)
    await_count(behind, "connections_refused", reason, before + 1)
    await_count(behind, "connections_opened", "CLIENT", opened)


def test_a_header_that_drips_is_closed_at_the_timeout(behind: RunningGateway) -> None:
    before, dripped = count(behind, "connections_refused", "proxy_header_timeout"), 0
    with connect(behind, BALANCER) as client:
        for byte in V1:
            try:
                client.socket.sendall(bytes([byte]))
            except OSError:
                break
            dripped += 1
            time.sleep(0.2)
        assert dripped < len(V1)
    await_count(behind, "connections_refused", "proxy_header_timeout", before + 1)


def test_from_elsewhere_none_is_taken_and_none_is_needed(broker: Any, behind: RunningGateway) -> None:
    with connect(behind, "127.0.0.1") as client:
        assert client.api_versions("direct", "1").error_code == 0
        until(lambda: addresses(broker, behind.address, "direct"), {"127.0.0.1"})
    for header in (V1, build(("203.0.113.8", 1), ("198.51.100.1", 2))):
        with connect(behind, "127.0.0.1", header) as liar:
            assert is_closed(liar.socket)


def test_limits_per_address_count_the_client_not_the_balancer(behind: RunningGateway) -> None:
    until(lambda: behind.connections, {})
    with ExitStack() as stack:

        def one(number: int) -> RawClient:
            return stack.enter_context(connect(behind, BALANCER, build((f"203.0.113.{number}", 1), ("198.51.100.1", 2))))

        for number in (20, 20, 20, 21, 22, 23):
            assert one(number).api_versions("limited", "1").error_code == 0
        before = count(behind, "connections_refused", "max_connections_per_ip")
        assert is_closed(one(20).socket)
        await_count(behind, "connections_refused", "max_connections_per_ip", before + 1)
        assert one(24).api_versions("limited", "1").error_code == 0


def test_an_upstream_that_takes_it_gets_the_clients_address(spare: RunningBroker, tmp_path: Any) -> None:
    """Two gateways, one behind the other: the outer one's client is the inner one's too."""
    inner_flags = ("--proxy-protocol-from", "127.0.0.1", "--gateway-id", "inner")
    with (
        spare.gateway(tmp_path / "inner", *inner_flags) as inner,
        spare.gateway(tmp_path / "outer", "--upstream-proxy-protocol", advertised=True, upstream=inner.address) as outer,
    ):
        connected = socket.create_connection(("127.0.0.1", int(outer.address.split(":")[1])), 10, ("127.0.0.77", 0))
        with RawClient(connected, "far") as client:
            assert client.api_versions("far", "1").error_code == 0
            until(lambda: addresses(spare, "inner", "far"), {"127.0.0.77"})
        make_topic(outer.address, "test.proxied")
        by_librdkafka(outer.address, "test.proxied", b"x" * 500_000)


def test_a_broker_takes_none(broker: Any, tmp_path: Any) -> None:
    with (
        broker.gateway(tmp_path, "--upstream-proxy-protocol") as wrong,
        wrong.connect("x") as client,
        pytest.raises((ConnectionError, OSError)),
    ):
        client.api_versions("x", "1")
