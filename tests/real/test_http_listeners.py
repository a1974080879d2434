"""F45: half requests, slow headers, wrong lengths and held event streams, on each HTTP listener of a running installation."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from conftest import Installation
from every import every
from http_attacks import HALF_A_REQUEST, Peaks, connected, ends, get, half_requests, is_open, pours, refused
from patience import meanwhile, until

pytestmark = pytest.mark.faults

HALF_REQUESTS = 700
POURED = 200 * 2**20
KERNELS = 20 * 2**20
"""What the two ends of a connection hold without anybody reading it."""

MOST_THREADS = 45
"""A request's own: 4 for pages, 40 for the page."""

MOST_MIB = 64


@dataclass(frozen=True)
class Attacked:
    """A listener, and how others fare meanwhile.

    Attributes:
        pid: of the process that listens.
        listener: its setting.
        address: HOST:PORT.
        path: what others ask for.
        metrics: where the process counts what it refuses.
        connections: its bound.
    """

    pid: int
    listener: str
    address: str
    path: str
    metrics: str
    connections: int = 64

    def serves(self) -> bool:
        return get(f"http://{self.address}{self.path}")[0] == 200

    def refused(self) -> dict[str, float]:
        return refused(get(self.metrics)[1], self.listener)


@pytest.fixture(scope="module")
def gateway(installation: Installation, folder: Path) -> Iterator[Callable[[str], Attacked]]:
    """One whose pages for operators are on."""
    broker = installation.broker
    with broker.gateway(folder / "gateway", "--gateway-id", "attacked") as running:
        metrics = running.metrics_url.split("/")[2]
        places = {"metrics-listen": (metrics, "/readyz"), "admin-listen": (running.admin, "/v1/connections")}
        yield lambda name: Attacked(running.pid, name, *places[name], metrics=running.metrics_url)


@contextmanager
def attacked(target: Attacked) -> Iterator[None]:
    """Whatever is done in the context: threads, descriptors and memory stay bounded, and others are served then and afterwards."""
    assert target.serves()
    peaks = Peaks(target.pid)
    with meanwhile(peaks.look, 0.05):
        yield
    threads, descriptors, mib = peaks.grown
    assert threads <= MOST_THREADS
    assert descriptors <= target.connections * 1.1 + 150, "the bound, what one turn accepts, and what the process does besides"
    assert mib <= MOST_MIB
    assert target.serves()


def survives(target: Attacked) -> None:
    """All that needs no more than a socket."""
    before = target.refused()
    post = f"POST {target.path} HTTP/1.1\r\nHost: localhost\r\n".encode()
    with attacked(target):
        with half_requests(target.address, HALF_REQUESTS) as held:
            until(lambda: sum(is_open(each) for each in held) <= target.connections * 1.1)
            assert target.serves()
            assert ends(held[-1], b"x", every_s=1.0), "a byte a second, and one deadline for all of it"
        with half_requests(target.address, 20, post + b"Content-Length: 1000\r\n\r\n") as held:
            assert all(ends(each, b"x") for each in every(held[-1:]))
            assert target.serves()
        for length in (b"Content-Length: 209715200", b"Content-Length: 00000000000209715200", b"Transfer-Encoding: chunked"):
            assert pours(target.address, post + length + b"\r\n\r\n" + b"10000\r\n", POURED) < KERNELS
            assert target.serves()
    after = target.refused()
    assert after["connections"] - before.get("connections", 0) >= HALF_REQUESTS - target.connections * 1.1
    assert after["request_time"] > before.get("request_time", 0)


def test_f45_the_gateways_metrics(gateway: Callable[[str], Attacked]) -> None:
    survives(gateway("metrics-listen"))


def page(installation: Installation) -> Attacked:
    address = installation.page_url.split("/")[2]
    return Attacked(installation.processes.pid("serve"), "listen", address, "/api/v1/overview", f"http://{address}/metrics", 512)


def test_f45_the_page(installation: Installation) -> None:
    target = page(installation)
    survives(target)
    with attacked(target):
        for length in (b"209715200", b"00000000000209715200"):
            head = b"POST /api/v1/login HTTP/1.1\r\nHost: localhost\r\nSec-Fetch-Site: same-origin\r\n"
            head += b"Content-Length: " + length + b"\r\n\r\n"
            assert pours(target.address, head, POURED) < KERNELS
            with connected(target.address) as held:
                held.sendall(head)
                assert held.recv(65_536).startswith(b"HTTP/1.1 413 ")


def test_f45_event_streams_that_are_held(installation: Installation) -> None:
    target = page(installation)
    asked = b"GET /api/v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with attacked(target), ExitStack() as stack:
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
        with half_requests(target.address, HALF_REQUESTS, HALF_A_REQUEST):
            assert target.serves()
        assert is_open(stream)
