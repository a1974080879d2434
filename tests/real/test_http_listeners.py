"""F45: half requests, bodies without end and held event streams, on the page of a running installation.

Each bound by itself, and the listeners of other processes, which are made by the same function: test_bounded_http.py.
"""

from __future__ import annotations

from contextlib import ExitStack

import pytest
from conftest import Installation
from http_attacks import connected, ends, get, half_requests, is_open, refused, takes_little
from patience import until

pytestmark = pytest.mark.faults

HALF_REQUESTS = 700
CONNECTIONS = 512
"""The page's bound."""

ASKED = b"GET /api/v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n"


@pytest.fixture
def address(installation: Installation) -> str:
    return installation.page_url.split("/")[2]


def serves(address: str) -> bool:
    return get(f"http://{address}/api/v1/overview")[0] == 200


def counted(address: str, reason: str) -> float:
    return refused(get(f"http://{address}/metrics")[1], "listen").get(reason, 0)


def test_f45_the_page(address: str) -> None:
    """More half requests than it has connections for, a byte a second, and a body without end: others are served then and afterwards."""
    before = counted(address, "connections")
    with half_requests(address, HALF_REQUESTS) as held:
        until(lambda: sum(is_open(each) for each in held) <= CONNECTIONS * 1.1)
        assert serves(address)
        assert ends(held[-1], b"x", every_s=1.0), "one deadline for all of it"
    post = b"POST /api/v1/overview HTTP/1.1\r\nHost: localhost\r\nContent-Length: 209715200\r\n\r\n"
    assert takes_little(address, post)
    assert counted(address, "connections") - before >= HALF_REQUESTS - CONNECTIONS * 1.1
    assert serves(address)


def test_f45_event_streams_that_are_held(address: str) -> None:
    with ExitStack() as stack:
        streams = [stack.enter_context(connected(address)) for _ in range(300)]
        for each in streams:
            each.sendall(ASKED)
        answers = [each.recv(15) for each in streams]
        assert answers.count(b"HTTP/1.1 200 OK") == 50, "of one user at one address"
        assert answers.count(b"HTTP/1.1 503 Se") == 250
        assert counted(address, "event_streams") >= 250
        assert serves(address)

    def another() -> bool:
        with connected(address) as one:
            one.sendall(ASKED)
            return one.recv(15) == b"HTTP/1.1 200 OK"

    until(another, why="those that ended make room")


def test_f45_half_requests_of_one_address_end_no_stream_of_another(address: str) -> None:
    with connected(address) as stream:
        stream.sendall(ASKED)
        assert stream.recv(15) == b"HTTP/1.1 200 OK"
        with half_requests(address, HALF_REQUESTS):
            assert serves(address)
        assert is_open(stream)
