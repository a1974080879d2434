"""Attacks of a hostile client on an HTTP listener, over plain sockets, since a client library would prevent them."""

from __future__ import annotations

import socket
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress

from prometheus_client.parser import text_string_to_metric_families

HALF_A_REQUEST = b"GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Half: "


def connected(address: str) -> socket.socket:
    """A connection to HOST:PORT."""
    host, _, port = address.rpartition(":")
    return socket.create_connection((host, int(port)), timeout=20)


@contextmanager
def half_requests(address: str, number: int, sent: bytes = HALF_A_REQUEST) -> Iterator[list[socket.socket]]:
    """So many connections that begin a request and leave it."""
    with ExitStack() as stack:
        held = []
        for _ in range(number):
            held.append(stack.enter_context(connected(address)))
            with suppress(OSError):  # it was displaced already
                held[-1].sendall(sent)
        yield held


def is_open(held: socket.socket) -> bool:
    """Whether the server has left a connection open; from which nothing was read."""
    held.settimeout(0.001)
    try:
        return held.recv(1, socket.MSG_PEEK) != b""
    except TimeoutError:
        return True
    except OSError:
        return False


def ends(held: socket.socket, drip: bytes = b"", every_s: float = 0.1) -> bool:
    """Whether the server ends a connection, to which a byte of ``drip`` is sent now and then; what it says is thrown away."""
    deadline, sent = time.monotonic() + 60.0, 0
    held.settimeout(every_s)
    while time.monotonic() < deadline:
        try:
            if drip:
                held.sendall(drip[sent % len(drip) :][:1])
                sent += 1
            if held.recv(65_536) == b"":
                return True
        except TimeoutError:
            continue
        except OSError:
            return True
    return False


def takes_little(address: str, head: bytes, chunk: bytes = b"x" * 65_536) -> bool:
    """Whether a server takes a head and then less than 20 MiB of a body that never ends, beside what the kernels hold."""
    sent, most = 0, 20 * 2**20
    with connected(address) as held, suppress(OSError):
        held.sendall(head)
        while sent < most:
            sent += held.send(chunk)
    return sent < most


def get(url: str, timeout: float = 10.0, token: str = "") -> tuple[int, str]:
    """Status and text, as any other client gets them."""
    request = urllib.request.Request(url, headers={"Authorization": f"Bearer {token}"} if token else {})
    try:
        with urllib.request.urlopen(request, timeout=timeout) as response:
            return response.status, response.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def refused(metrics_text: str, listener: str) -> dict[str, float]:
    """What a listener has refused, by reason."""
    return {
        sample.labels["reason"]: sample.value
        for family in text_string_to_metric_families(metrics_text)
        for sample in family.samples
        if sample.name == "clientscope_http_refused_total" and sample.labels["listener"] == listener
    }
