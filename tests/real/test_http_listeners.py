"""F45: half requests, wrong lengths and held event streams, on HTTP listeners of a running installation.

Each bound by itself: test_bounded_http.py.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest
from conftest import Installation
from http_attacks import connected, ends, get, half_requests, is_open, pours, refused
from patience import until

pytestmark = pytest.mark.faults

HALF_REQUESTS = 700


@dataclass(frozen=True)
class Attacked:
    """A listener, and how others fare meanwhile.

    Attributes:
        listener: its setting.
        address: HOST:PORT.
        path: what others ask for.
        metrics: where the process counts what it refuses.
        connections: its bound.
    """

    listener: str
    address: str
    path: str
    metrics: str
    connections: int = 64

    def serves(self) -> bool:
        return get(f"http://{self.address}{self.path}")[0] == 200

    def refused(self) -> dict[str, float]:
        return refused(get(self.metrics)[1], self.listener)


def survives(target: Attacked) -> None:
    """More half requests than it has connections for, a byte a second, and a body without end: others are served then and afterwards."""
    before = target.refused()
    post = f"POST {target.path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 209715200\r\n\r\n".encode()
    with half_requests(target.address, HALF_REQUESTS) as held:
        until(lambda: sum(is_open(each) for each in held) <= target.connections * 1.1)
        assert target.serves()
        assert ends(held[-1], b"x", every_s=1.0), "one deadline for all of it"
    assert pours(target.address, post, 200 * 2**20) < 20 * 2**20, "beside what the kernels hold"
    assert target.refused()["connections"] - before.get("connections", 0) >= HALF_REQUESTS - target.connections * 1.1
    assert target.serves()


def test_f45_the_gateways_metrics(installation: Installation, folder: Path) -> None:
    with installation.broker.gateway(folder / "gateway", "--gateway-id", "attacked") as gateway:
        survives(Attacked("metrics-listen", gateway.metrics_url.split("/")[2], "/readyz", gateway.metrics_url))


def page(installation: Installation) -> Attacked:
    address = installation.page_url.split("/")[2]
    return Attacked("listen", address, "/api/v1/overview", f"http://{address}/metrics", 512)


def test_f45_the_page(installation: Installation) -> None:
    target = page(installation)
    survives(target)
    for length in (b"209715200", b"00000000000209715200"):
        head = b"POST /api/v1/login HTTP/1.1\r\nHost: localhost\r\nSec-Fetch-Site: same-origin\r\n"
        with connected(target.address) as held:
            held.sendall(head + b"Content-Length: " + length + b"\r\n\r\n")
            assert held.recv(65_536).startswith(b"HTTP/1.1 413 ")


def test_f45_event_streams_that_are_held(installation: Installation) -> None:
    target = page(installation)
    asked = b"GET /api/v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with ExitStack() as stack:
        streams = [stack.enter_context(connected(target.address)) for _ in range(300)]
        for each in streams:
            each.sendall(asked)
        answers = [each.recv(15) for each in streams]
        assert answers.count(b"HTTP/1.1 200 OK") == 50, "of one user at one address"
        assert answers.count(b"HTTP/1.1 503 Se") == 250
        assert target.refused()["event_streams"] >= 250
        assert target.serves()

    def another() -> bool:
        with connected(target.address) as one:
            one.sendall(asked)
            return one.recv(15) == b"HTTP/1.1 200 OK"

    until(another, why="those that ended make room")


def test_f45_half_requests_of_one_address_end_no_stream_of_another(installation: Installation) -> None:
    target = page(installation)
    with connected(target.address) as stream:
        stream.sendall(b"GET /api/v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert stream.recv(15) == b"HTTP/1.1 200 OK"
        with half_requests(target.address, HALF_REQUESTS):
            assert target.serves()
        assert is_open(stream)
