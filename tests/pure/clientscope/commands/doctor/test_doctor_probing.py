"""The probe of an address: gateways, brokers, TLS, and answers that are wrong on purpose."""

from __future__ import annotations

import socket
import ssl
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from certificates import Authority
from scripted_broker import ScriptedBroker

from clientscope.commands.doctor.listeners import probe
from clientscope.local.process import free_port


@contextmanager
def answering(answer: bytes, tls: ssl.SSLContext | None = None) -> Iterator[int]:
    """A port where each connection gets these bytes for its first ones, then silence."""
    kept = []

    def serve() -> None:
        with suppress(OSError):
            while True:
                connection, _ = server.accept()
                if tls is not None:
                    connection = tls.wrap_socket(connection, server_side=True)
                kept.append(connection)
                connection.recv(1024)
                connection.sendall(answer)

    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=serve, daemon=True).start()
        yield server.getsockname()[1]
        server.shutdown(socket.SHUT_RDWR)
    for connection in kept:
        connection.close()


@pytest.mark.parametrize("advertises", [True, False])
def test_a_gateway_and_a_broker(advertises: bool) -> None:
    broker = ScriptedBroker(advertises=advertises)
    try:
        found = probe("127.0.0.1", broker.port, tls=False, timeout_s=5)
    finally:
        broker.close()
    assert (found.failure, found.is_gateway, found.keys is not None) == ("", advertises, True)


def test_nobody_and_no_such_name() -> None:
    assert probe("127.0.0.1", free_port(), tls=False, timeout_s=2).failure.startswith("no connection")
    for name in ("no-such-host.invalid", "x" * 80 + ".invalid", "\udcff"):
        assert "doesn't resolve" in probe(name, 9092, tls=False, timeout_s=5).failure


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"HTTP/1.1 400 Bad Request\r\n\r\n",
        struct.pack(">i", 2**31 - 1),
        struct.pack(">i", -1),
        struct.pack(">iihi", 10, 1, 0, 2**31 - 1),
        struct.pack(">iihi", 10, 1, 0, -1),
        struct.pack(">iihi", 10, 1, 35, 0),
        struct.pack(">ii", 200_000, 1),
    ],
)
def test_hostile_answers_are_no_answer(answer: bytes) -> None:
    with answering(answer) as port:
        found = probe("127.0.0.1", port, tls=False, timeout_s=0.3)
    assert (found.failure, found.keys, found.is_gateway) == ("", None, False)


def test_a_certificate_is_read_though_it_has_expired(tmp_path: Path) -> None:
    pair = Authority(tmp_path).sign("old", days=-1)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pair.certificate, pair.key)
    with answering(struct.pack(">iihihhh", 16, 1, 0, 1, 1324, 0, 0), context) as port:
        found = probe("127.0.0.1", port, tls=True, timeout_s=5)
    assert found.is_gateway and found.expires is not None and found.expires.timestamp() < time.time()
