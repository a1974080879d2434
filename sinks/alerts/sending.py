"""One HTTP request to a receiver, and the hosts that a message may go to."""

from __future__ import annotations

import socket
import ssl
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from ipaddress import ip_address, ip_network
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import urllib3
from urllib3.exceptions import HTTPError

from clientscope import __version__
from clientscope.config_types import Network

if TYPE_CHECKING:
    from sinks.alerts.receivers import HttpReceiver

_REFUSED_FOR_GOOD = (400, 405, 410, 411, 413, 414, 415, 422)
"""What says that the same message would be refused again, or that the receiver wants nothing any more (410)."""


@dataclass(frozen=True)
class SendResult:
    """The result of one attempt.

    Attributes:
        reason: why it wasn't delivered, without anything secret; empty if it was.
        is_final: whether another attempt would have the same result.
        retry_after_s: how long the receiver asks to be left alone.
    """

    reason: str = ""
    is_final: bool = False
    retry_after_s: float = 0.0

    @property
    def ok(self) -> bool:
        """Whether it was delivered."""
        return not self.reason


OK = SendResult()


@dataclass(frozen=True)
class AllowedHosts:
    """The hosts that messages may go to: names as they stand in an address, and networks, by the address that is connected to."""

    names: tuple[str, ...]
    networks: tuple[Network, ...]

    @classmethod
    def of(cls, texts: tuple[str, ...]) -> AllowedHosts:
        """What is a network, or an address, is one; all else are patterns of names, as in ``*.example.com``."""
        networks = [(text, _network(text)) for text in texts]
        names = tuple(text.lower() for text, network in networks if network is None)
        return cls(names, tuple(network for _, network in networks if network is not None))

    def has_name(self, host: str) -> bool:
        """Whether a name is allowed, whatever its addresses are."""
        return any(fnmatchcase(host.lower().rstrip("."), pattern) for pattern in self.names)

    def has_address(self, address: str) -> bool:
        """Whether an address is allowed, whatever its name is; an IPv4 address within an IPv6 one is the IPv4 address."""
        parsed = ip_address(address.partition("%")[0])
        parsed = getattr(parsed, "ipv4_mapped", None) or parsed
        return any(parsed in network for network in self.networks)


def _network(text: str) -> Network | None:
    try:
        return ip_network(text)
    except ValueError:
        return None


@dataclass
class _Guard:
    """What may be connected to; whether the name that was resolved last is allowed; and which connect was refused."""

    allowed: AllowedHosts
    is_named: bool = False
    refused: str = ""


# Not by thread: Apprise works in a thread of its own, in a copy of the caller's context.
_guard: ContextVar[_Guard | None] = ContextVar("guard", default=None)


def _audit(event: str, arguments: tuple[Any, ...]) -> None:  # pragma: no mutate block  # no hook can be removed: a mutant would end mutmut
    """Python's audit event (PEP 578) of a connect has its address, so no name is resolved between the check and the connect."""
    guard = _guard.get()
    if guard is None:
        return
    allowed = guard.allowed
    if event == "socket.getaddrinfo":
        guard.is_named = allowed.has_name(_text(arguments[0]))
    elif event in ("socket.connect", "socket.sendto", "socket.sendmsg") and arguments[1] is not None:
        connection, address = arguments[0], arguments[1]
        host = _text(address[0]) if isinstance(address, tuple) else ""
        try:
            is_allowed = connection.family != socket.AF_UNIX and (guard.is_named or allowed.has_address(host))
        except ValueError:
            is_allowed = allowed.has_name(host)  # a name, which socket.connect resolves itself
        if not is_allowed:
            guard.refused = f"{host or 'a local socket'} is not in allowed_hosts"
            raise PermissionError(guard.refused)


def _text(host: object) -> str:
    return host.decode("utf-8", "replace") if isinstance(host, bytes) else str(host or "")


@cache
def _install() -> None:
    sys.addaudithook(_audit)


@contextmanager
def only_to(allowed: AllowedHosts | None) -> Iterator[Callable[[], str]]:
    """Lets the calls within connect to these hosts only, whichever library makes the connection; None restricts nothing.

    Gives a function that says which connect was refused, since libraries wrap the exception or swallow it; empty for none.
    """
    if allowed is None:
        yield lambda: ""
        return
    _install()
    guard = _Guard(allowed)
    token = _guard.set(guard)
    try:
        yield lambda: guard.refused
    finally:
        _guard.reset(token)


def check_url(url: str, allowed: AllowedHosts | None) -> None:
    """Checks an HTTP address, as far as possible without resolving its name.

    Raises:
        ValueError: it is no HTTP address, or its host isn't allowed; doesn't quote the address, which may be a secret.
    """
    if any(ord(character) <= 32 or ord(character) >= 127 or character == "\\" for character in url):
        raise ValueError("it has a space, a backslash, a control character, or one beyond ASCII")
    try:
        parts = urlsplit(url)
        is_http = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_http = False
    if not is_http or parts.fragment:
        raise ValueError("it is no HTTP address, as in https://hooks.example.com/x")
    if "@" in parts.netloc:
        raise ValueError("it has a user or password: put that into headers, from a file or the environment")
    host = parts.hostname or ""
    if allowed is None or allowed.has_name(host):
        return
    network = _network(host)
    if not allowed.networks or (network is not None and not allowed.has_address(host)):
        raise ValueError(f"{host} is not in allowed_hosts")


def post(receiver: HttpReceiver, url: str, body: bytes, headers: Mapping[str, str]) -> SendResult:
    """Posts JSON, without redirects and proxies.  Never raises; the result quotes no error of a library, which may have the address."""
    sent = {"User-Agent": f"clientscope/{__version__}", "Content-Type": "application/json", **receiver.headers, **headers}
    timeout = urllib3.Timeout(total=receiver.timeout_s)
    with only_to(receiver.allowed_hosts) as refused:
        try:
            with urllib3.PoolManager(ca_certs=str(receiver.ca) if receiver.ca else None, retries=False, timeout=timeout) as pool:
                answer = pool.request("POST", url, body=body, headers=sent, redirect=False, preload_content=False)
                status, retry_after = answer.status, answer.headers.get("Retry-After", "0")
                answer.close()
        except (HTTPError, OSError, ValueError) as error:
            return SendResult(f"refused: {refused()}" if refused() else _reason(error))
    if 200 <= status < 300:
        return OK
    reason = f"HTTP {status}" + (": redirects are not followed, set the address itself" if 300 <= status < 400 else "")
    return SendResult(reason, status in _REFUSED_FOR_GOOD, _seconds(retry_after) if status in (429, 503) else 0.0)


def _seconds(retry_after: str) -> float:
    """What a Retry-After asks for (RFC 9110), at most an hour; 0 where it is neither seconds nor a date."""
    try:
        return float(urllib3.Retry(retry_after_max=3_600).parse_retry_after(retry_after))
    except (HTTPError, ValueError, OverflowError):
        return 0.0


def _reason(error: BaseException) -> str:
    """In our own words."""
    causes = [error, error.__cause__, error.__context__, *error.args]
    for cause in causes:
        if isinstance(cause, ssl.SSLCertVerificationError):
            return f"its certificate is not accepted: {cause.verify_message}"
        if isinstance(cause, ConnectionRefusedError):
            return "connection refused"
        if isinstance(cause, socket.gaierror):
            return "its name can't be resolved"
        if isinstance(cause, ssl.SSLError):
            return "TLS failed"
    return "no answer in time" if "Timeout" in type(error).__name__ else "the connection failed"
