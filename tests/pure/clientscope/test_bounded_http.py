"""F45, each bound of a listener by itself: real sockets, with bounds that are small enough for a test."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest
from every import every
from http_attacks import HALF_A_REQUEST, connected, ends, get, half_requests, is_open, refused, takes_little
from patience import until
from prometheus_client import CollectorRegistry

from clientscope import bounded_http, pages
from clientscope.bounded_http import Bounds, Listener, Server, refusals
from clientscope.local.process import free_port

LARGE = 32 * 1024 * 1024


class Listening:
    """A listener with pages, and its metric."""

    def __init__(self, bounds: Bounds) -> None:
        self.registry = CollectorRegistry()
        self.held = threading.Event()
        self.address = f"127.0.0.1:{free_port()}"
        self.url = f"http://{self.address}"
        served: dict[str, pages.App] = {
            "/metrics": pages.metrics(self.registry),
            "/healthz": pages.probe(lambda: ""),
            "/large": self._large,
            "/held": self._held,
        }
        self.stop = pages.serve("metrics-listen", self.address, served, refusals(self.registry), bounds)

    def refused(self) -> dict[str, float]:
        return refused(get(f"{self.url}/metrics")[1], "metrics-listen")

    def _large(self, request: pages.Request) -> pages.Page:
        return pages.Page(b"x" * LARGE, "text/plain")

    def _held(self, request: pages.Request) -> pages.Page:
        self.held.wait(30)
        return pages.Page(b"held", "text/plain")


@contextmanager
def listening(**bounds: Any) -> Iterator[Listening]:
    listener = Listening(Bounds(**{"connections": 8, "body_bytes": 1024, "request_s": 60.0, **bounds}))
    until(lambda: get(f"{listener.url}/healthz"), (200, "ok\n"))
    try:
        yield listener
    finally:
        listener.held.set()
        listener.stop()


def test_f45_half_requests_displace_each_other_and_others_are_served() -> None:
    with listening() as listener:
        before = threading.active_count()
        with half_requests(listener.address, 100) as held:
            for _ in range(20):
                assert get(f"{listener.url}/healthz")[0] == 200
            until(lambda: sum(is_open(each) for each in held) <= 8)
            assert threading.active_count() <= before + 4
            assert listener.refused()["connections"] >= 100 - 8


def test_f45_a_flood_from_one_address_displaces_nobody_else() -> None:
    with listening() as listener, socket.socket() as other:
        other.bind(("127.0.0.2", 0))
        other.connect(connected(listener.address).getpeername())
        other.sendall(HALF_A_REQUEST)
        with half_requests(listener.address, 100):
            other.sendall(b"x\r\nConnection: close\r\n\r\n")
            answer = b""
            while part := other.recv(65_536):
                answer += part
        assert answer.startswith(b"HTTP/1.1 200 ")


def test_f45_a_request_that_is_never_whole_ends_whatever_is_dripped() -> None:
    """By one deadline for all of it: a limit between two bytes would never be reached."""
    posted, asked = b"PUT /healthz HTTP/1.1\r\nHost: localhost\r\n", b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
    dripped = {
        b"": b"",
        HALF_A_REQUEST: b"x",
        b"X": b"-Header: y\r\n",
        posted + b"Content-Length: 1000\r\n\r\n": b"x",
        posted + b"Transfer-Encoding: chunked\r\n\r\n": b"1\r\nx\r\n",
        asked + HALF_A_REQUEST: b"x",  # the next one of a connection
    }
    with listening(request_s=2.0) as listener, ThreadPoolExecutor(len(dripped)) as threads:

        def attack(sent: bytes, drip: bytes) -> bool:
            with connected(listener.address) as held:
                held.sendall(sent)
                return ends(held, drip, every_s=0.05)

        assert all(every(threads.map(attack, dripped, dripped.values())))
        assert listener.refused()["request_time"] >= len(dripped)


@pytest.mark.parametrize("length", [b"209715200", b"00000000000209715200"])
@pytest.mark.parametrize("method", [b"PUT", b"GET"])
def test_f45_no_more_of_a_body_is_taken_than_may_be(method: bytes, length: bytes) -> None:
    with listening() as listener:
        head = method + b" /healthz HTTP/1.1\r\nHost: localhost\r\nContent-Length: " + length + b"\r\n\r\n"
        assert takes_little(listener.address, head)
        assert get(f"{listener.url}/healthz")[0] == 200


def test_f45_chunks_are_counted_as_they_arrive() -> None:
    with listening() as listener:
        head = b"PUT /healthz HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
        chunk = b"400\r\n" + b"x" * 1024 + b"\r\n"
        assert takes_little(listener.address, head, chunk * 64)
        with connected(listener.address) as held:
            held.sendall(head + chunk + chunk)
            assert held.recv(65_536).startswith(b"HTTP/1.1 413 ")
            assert ends(held)


async def answers_at_once(scope: Any, receive: Any, send: Any) -> None:
    """An application that reads no body."""
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"0")]})
    await send({"type": "http.response.body"})


def test_f45_what_follows_an_answer_is_bounded_too() -> None:
    """Whatever the application does: the rest of a body that it has answered before is thrown away, and not for ever."""
    registry, port = CollectorRegistry(), free_port()
    listener = bounded_http.listening(f"127.0.0.1:{port}", "listen", "")
    server = Server(Listener("listen", Bounds(body_bytes=1024, request_s=60.0), refusals(registry)).config(answers_at_once))
    thread = threading.Thread(target=server.run, args=([listener],))
    thread.start()
    try:
        head = b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 999999999\r\n\r\n"
        assert takes_little(f"127.0.0.1:{port}", head)
        assert registry.get_sample_value("clientscope_http_refused_total", {"listener": "listen", "reason": "request_bytes"}) == 1
    finally:
        server.should_exit = True
        thread.join()
        listener.close()


def test_f45_headers_have_a_bound() -> None:
    with listening() as listener:
        assert takes_little(listener.address, b"GET / HTTP/1.1\r\nX-Long: ")
        assert listener.refused()["malformed"] >= 1


def test_f45_whoever_reads_no_answer_is_let_go() -> None:
    with listening(unread_s=0.3, unread_bytes=LARGE * 2) as listener, connected(listener.address) as held:
        held.sendall(b"GET /large HTTP/1.1\r\nHost: localhost\r\n\r\n")
        until(lambda: listener.refused().get("unread_time"), 1)


def test_f45_all_answers_that_wait_to_be_read_have_one_bound() -> None:
    with (
        listening(unread_bytes=LARGE * 2) as listener,
        half_requests(listener.address, 6, b"GET /large HTTP/1.1\r\nHost: localhost\r\n\r\n"),
    ):
        until(lambda: listener.refused().get("unread_bytes", 0) >= 4)
        assert get(f"{listener.url}/healthz")[0] == 200


def test_f45_a_listener_whose_requests_are_all_being_answered_says_so() -> None:
    with listening(connections=2) as listener, half_requests(listener.address, 2, b"GET /held HTTP/1.1\r\nHost: localhost\r\n\r\n"):
        until(lambda: get(f"{listener.url}/healthz")[0], 503)
        listener.held.set()
        until(lambda: get(f"{listener.url}/healthz")[0], 200)
        assert listener.refused()["connections"] >= 1
