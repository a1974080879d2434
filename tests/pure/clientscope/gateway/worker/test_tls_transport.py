"""TLS between a socket and a protocol: bytes, ends and failures as a socket's protocol gets them, whatever way records are cut."""

from __future__ import annotations

import asyncio
import os
import socket
import ssl
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager, suppress
from functools import wraps
from threading import Thread
from typing import Any

import pytest
import uvloop
from programs import ran

from clientscope.gateway.worker.tls_transport import TlsTransport

LOOP = asyncio.Runner(loop_factory=uvloop.new_event_loop)
"""One for all tests: with one each, closing uvloop 0.23's loop never ended in 4 of 104 runs of this file, four at a time."""


class App(asyncio.Protocol):
    """What happens to it, in order; it sends back what it gets."""

    def __init__(self) -> None:
        self.got = bytearray()
        self.said: list[str] = []
        self.began, self.ended = asyncio.Event(), asyncio.Event()
        self.transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self.said.append("made")

    def data_received(self, data: bytes) -> None:
        self.got += data
        self.began.set()
        self.transport.write(data)

    def eof_received(self) -> None:
        self.said.append("eof")

    def connection_lost(self, exc: Exception | None) -> None:
        self.said.append(type(exc).__name__)
        self.ended.set()


@pytest.fixture(scope="module", autouse=True)
def loop_is_closed() -> Iterator[None]:
    yield
    LOOP.close()


@pytest.fixture(scope="module")
def context(tmp_path_factory: pytest.TempPathFactory) -> ssl.SSLContext:
    folder = tmp_path_factory.mktemp("pem")
    command = "openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out cert.pem -days 2 -subj /CN=localhost"
    ran(*command.split(), cwd=folder)
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    made.load_cert_chain(folder / "cert.pem", folder / "key.pem")
    return made


def client_context() -> ssl.SSLContext:
    made = ssl.create_default_context()
    made.check_hostname, made.verify_mode = False, ssl.CERT_NONE
    return made


@contextmanager
def peer(theirs: socket.socket, act: Callable[[ssl.SSLSocket], None]) -> Iterator[None]:
    """A client in a thread of its own, by Python's blocking TLS."""

    def run() -> None:
        with client_context().wrap_socket(theirs) as wrapped:
            act(wrapped)

    thread = Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        thread.join()


async def accepted(context: ssl.SSLContext, app: App) -> tuple[TlsTransport, socket.socket, socket.socket]:
    """Before the handshake: our transport, and both ends of its connection."""
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    transport = TlsTransport(context, app)
    await asyncio.get_running_loop().connect_accepted_socket(lambda: transport, ours)
    return transport, ours, theirs


def on_loop(test: Callable[[ssl.SSLContext], Coroutine[Any, Any, None]]) -> Callable[[ssl.SSLContext], None]:
    return wraps(test)(lambda context: LOOP.run(test(context)))  # type: ignore[return-value]


def played(context: ssl.SSLContext, act: Callable[[ssl.SSLSocket], None]) -> App:
    """The protocol's side of a connection whose client does this, until it has ended."""

    async def main() -> App:
        app = App()
        transport, ours, theirs = await accepted(context, app)
        with peer(theirs, act):
            try:
                async with asyncio.timeout(20):
                    await transport.shake_hands()
                    await app.ended.wait()
            except TimeoutError:
                ours.shutdown(socket.SHUT_RDWR)  # or the client would wait, and this for the client
                raise
        return app

    return LOOP.run(main())


@pytest.mark.parametrize("size", [1, 16_384, 16_385, 3_000_000])
def test_bytes_come_and_go_as_they_are(context: ssl.SSLContext, size: int) -> None:
    sent, back = os.urandom(size), bytearray()

    def act(client: ssl.SSLSocket) -> None:
        # One after the other: OpenSSL lets no two threads use a connection, and Python before 3.13 doesn't see to it.
        client.sendall(sent)
        while len(back) < size and (piece := client.recv(65_536)):
            back.extend(piece)

    app = played(context, act)
    assert app.got == back == sent
    assert app.said == ["made", "NoneType"]


def test_the_peers_close_notify_is_its_end(context: ssl.SSLContext) -> None:
    def act(client: ssl.SSLSocket) -> None:
        client.sendall(b"last")
        assert client.recv(4) == b"last"
        client.unwrap()

    assert played(context, act).said == ["made", "eof", "NoneType"]


@on_loop
async def test_nothing_is_taken_off_a_socket_that_is_not_read(context: ssl.SSLContext) -> None:
    app, sent = App(), 0
    transport, _, theirs = await accepted(context, app)

    def act(client: ssl.SSLSocket) -> None:
        nonlocal sent
        client.sendall(b"x")
        assert client.recv(1) == b"x"
        client.settimeout(0.2)
        with suppress(TimeoutError):
            while sent < 20_000_000:
                sent += client.send(bytes(16_384))

    with peer(theirs, act):
        await transport.shake_hands()
        await app.began.wait()
        transport.pause_reading()
        await asyncio.sleep(0.4)
        assert app.got == b"x"
        transport.abort()
    assert sent < 1_000_000, "the rest is where the kernel stops the sender"
