"""Probe of an address: whether its name resolves, whether it accepts connections, and whether a gateway answers there (api key 1324)."""

from __future__ import annotations

import socket
import ssl
import struct
import threading
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar

from cryptography import x509

from clientscope.wire.codes import API_VERSIONS, PUSH_CONFIG

T = TypeVar("T")

_MOST_BYTES = 256 * 1024
_REQUEST = struct.Struct(">ihhih")
_ENTRY = struct.Struct(">hhh")


@dataclass(frozen=True)
class Probed:
    """What is known about an address.

    Attributes:
        failure: why it can't be used: its name doesn't resolve, or there is no connection; empty if there is one.
        keys: api keys that it supports; None if it doesn't answer ApiVersions.
        expires: end of its certificate; None without TLS.
    """

    failure: str = ""
    keys: frozenset[int] | None = None
    expires: datetime | None = None

    @property
    def is_gateway(self) -> bool:
        """Whether it accepts PushConfig, as gateways do."""
        return self.keys is not None and PUSH_CONFIG in self.keys


def limited(seconds: float, function: Callable[[], T]) -> T:
    """A function's result, if it comes in time; a thread that is late ends with the process.

    Raises:
        TimeoutError: it is not over.
    """
    results: list[T] = []
    errors: list[BaseException] = []

    def work() -> None:
        try:
            results.append(function())
        except BaseException as error:  # raised again below, in the thread that waits
            errors.append(error)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(seconds)
    if errors:
        raise errors[0]
    if not results:
        raise TimeoutError(f"no answer within {seconds:.0f} s")
    return results[0]


def probe(host: str, port: int, *, tls: bool, timeout_s: float) -> Probed:
    """Connects, and asks for ApiVersions, which needs no login. Sends nothing else, and trusts no answer."""
    try:
        addresses = limited(timeout_s, lambda: socket.getaddrinfo(host, port, type=socket.SOCK_STREAM))
    except (OSError, UnicodeError):
        return Probed(f"{host} doesn't resolve to an address here")
    failure = "no connection"
    for family, kind, protocol, _, address in addresses[:4]:
        with socket.socket(family, kind, protocol) as connection:
            connection.settimeout(timeout_s)
            try:
                connection.connect(address)
            except OSError as error:
                failure = f"no connection ({error.strerror or error})"
                continue
            return limited(3 * timeout_s, lambda used=connection: _ask(used, tls))  # type: ignore[misc]
    return Probed(failure)


def _ask(connection: socket.socket, tls: bool) -> Probed:
    expires = None
    try:
        if tls:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE  # an expired certificate is to be named, and nothing secret is sent
            connection = context.wrap_socket(connection)
            if encoded := connection.getpeercert(binary_form=True):
                expires = x509.load_der_x509_certificate(encoded).not_valid_after_utc
        client_id = b"clientscope-doctor"
        body = _REQUEST.pack(_REQUEST.size - 4 + len(client_id), API_VERSIONS, 0, 1, len(client_id)) + client_id
        connection.sendall(body)
        (length,) = struct.unpack(">i", _exactly(connection, 4))
        if not 10 <= length <= _MOST_BYTES:
            return Probed(expires=expires)
        return Probed(keys=_keys(_exactly(connection, length)), expires=expires)
    except (OSError, ValueError, struct.error):  # ssl.SSLError is an OSError
        return Probed(expires=expires)
    finally:
        if tls:
            connection.close()


def _exactly(connection: Any, length: int) -> bytes:
    received = b""
    while len(received) < length:
        chunk = connection.recv(length - len(received))
        if not chunk:
            raise OSError("closed")
        received += chunk
    return received


def _keys(answer: bytes) -> frozenset[int]:
    _, error, count = struct.unpack_from(">ihi", answer)
    if error or not 0 <= count <= (len(answer) - 10) // _ENTRY.size:
        raise ValueError("not an answer to ApiVersions v0")
    return frozenset(_ENTRY.unpack_from(answer, 10 + number * _ENTRY.size)[0] for number in range(count))
