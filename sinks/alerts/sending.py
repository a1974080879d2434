"""One HTTP request to a receiver: to the checked address, without redirects, proxies or cookies, within a deadline."""

from __future__ import annotations

import os
import socket
import ssl
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Literal

from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.exceptions import HTTPError

from clientscope import __version__
from sinks.alerts.addresses import AddressRefused, Network, Resolve, Target, resolved, system_resolve
from sinks.alerts.receivers import Receiver

USER_AGENT = f"clientscope/{__version__}"


@dataclass(frozen=True)
class SendResult:
    """The result of one attempt.

    Attributes:
        outcome: ``gone`` is the receiver's word that it wants nothing any more (410).
        reason: why not, without anything secret; empty for ``ok``.
        retry_after_s: how long the receiver asks to be left alone.
    """

    outcome: Literal["ok", "failed", "gone"]
    reason: str = ""
    retry_after_s: float | None = None


OK = SendResult("ok")


@dataclass(frozen=True)
class Route:
    """How a receiver is reached, whatever the address."""

    allow_networks: tuple[Network, ...] = ()
    ca: Path | None = None
    timeout_s: float = 10.0
    resolve: Resolve = system_resolve

    @classmethod
    def of(cls, receiver: Receiver) -> Route:
        """How one receiver is reached."""
        return cls(receiver.allow_networks, receiver.ca, receiver.timeout_s)


def post(url: str, body: bytes, headers: Mapping[str, str], route: Route) -> SendResult:
    """Posts JSON.  Never raises; the result quotes no error of a library, which may have the address, and with it a secret.

    A third of the time is for each of connecting and TLS; name servers have their own limits.
    """
    deadline = time.monotonic() + route.timeout_s
    try:
        target = Target.of(url, route.allow_networks)
        address = resolved(target, route.allow_networks, route.resolve)
    except AddressRefused as error:
        return SendResult("failed", f"refused: {error}")
    except OSError:
        return SendResult("failed", "its name can't be resolved")
    connection = _connection(target, address, route)
    try:
        connection.connect()
        with _ended_at(connection, deadline):
            sent = {"Host": target.authority, "User-Agent": USER_AGENT, "Content-Type": "application/json", **headers}
            connection.request("POST", target.path, body, sent, preload_content=False, decode_content=False)
            answer = connection.getresponse()
            if time.monotonic() >= deadline:  # headers that were cut off look complete
                raise TimeoutError
            return _result(answer.status, answer.headers.get("Retry-After"), datetime.now(UTC))
    except ssl.SSLCertVerificationError as error:
        return SendResult("failed", f"its certificate is not accepted: {error.verify_message}")
    except (HTTPError, OSError, ValueError) as error:
        return SendResult("failed", _reason(error, late=time.monotonic() >= deadline))
    finally:
        connection.close()


def _connection(target: Target, address: str, route: Route) -> HTTPConnection:
    if target.scheme == "http":
        return HTTPConnection(address, target.port, timeout=route.timeout_s / 3)
    context = ssl.create_default_context(cafile=str(route.ca) if route.ca else None)
    return HTTPSConnection(
        address, target.port, timeout=route.timeout_s / 3, ssl_context=context, server_hostname=target.host, assert_hostname=target.host
    )


@contextmanager
def _ended_at(connection: HTTPConnection, deadline: float) -> Iterator[None]:
    """Ends the connection at a time, however it is kept busy: a socket's own timeout begins anew with each byte.

    Through a second descriptor, since a TLS socket is no other thread's to touch.
    """
    assert connection.sock is not None
    remaining = max(0.05, deadline - time.monotonic())
    connection.timeout = remaining  # which it sets its socket to with each call
    with socket.socket(fileno=os.dup(connection.sock.fileno())) as second:

        def end() -> None:
            with suppress(OSError):
                second.shutdown(socket.SHUT_RDWR)

        timer = threading.Timer(remaining, end)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()
            timer.join()


def _result(status: int, retry_after: str | None, now: datetime) -> SendResult:
    if 200 <= status < 300:
        return OK
    if status == 410:
        return SendResult("gone", "HTTP 410: it wants no more messages")
    reason = f"HTTP {status}" + (": redirects are not followed, set the address itself" if 300 <= status < 400 else "")
    return SendResult("failed", reason, _seconds(retry_after, now) if status in (429, 503) else None)


def _seconds(text: str | None, now: datetime) -> float | None:
    """A Retry-After (RFC 9110): seconds, or a date; None where it is neither."""
    if text is None:
        return None
    text = text.strip()
    if text.isascii() and text.isdigit():
        return float(text[:9])
    try:
        moment = parsedate_to_datetime(text)
    except ValueError:
        return None
    return max(0.0, (moment.replace(tzinfo=moment.tzinfo or UTC) - now).total_seconds())


def _reason(error: Exception, late: bool) -> str:
    """In our own words."""
    if isinstance(error, ConnectionRefusedError) or isinstance(error.__cause__, ConnectionRefusedError):
        return "connection refused"
    if isinstance(error, TimeoutError) or "Timeout" in type(error).__name__ or late:
        return "no answer in time"
    if isinstance(error, ssl.SSLError):
        return "TLS failed"
    return "the connection failed"
