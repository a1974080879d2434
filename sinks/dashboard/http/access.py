"""Access to the page: read or decide, by a token, by a reverse proxy's header, or, on loopback only, without authentication.

A token is exchanged once for a cookie, which says who and until when under an HMAC whose key is made of the token: every copy of serve
that has the same tokens takes it, none keeps anything, and another token ends all sessions of the old one.
"""

from __future__ import annotations

import getpass
import hashlib
import hmac
import secrets
import time
from base64 import urlsafe_b64encode
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from fastapi import HTTPException, Request, Response
from starlette.datastructures import Headers
from starlette.types import Scope

from clientscope.api.overview import Authentication, Role
from clientscope.bounded import Recent
from clientscope.config import ServeSettings
from clientscope.config_types import Network, is_loopback, is_within, split_networks
from clientscope.errors import SettingsError
from clientscope.model.client_key import network_of
from clientscope.model.fields import clean
from clientscope.tokens import NamedToken, bearer, matching, read

COOKIE = "clientscope_session"
SESSION_SECONDS = 12 * 60 * 60

_MOST_FAILURES = 10
_FAILURE_WINDOW_S = 60.0
_ADDRESSES_KEPT = 10_000
_MOST_COOKIE = 1_024
_MOST_HOPS = 32


@dataclass(frozen=True)
class Token(NamedToken):
    """A secret, whose it is, and what it lets do."""

    role: Role

    @property
    def key(self) -> bytes:
        """The key of this token's cookies."""
        return hashlib.sha256(f"clientscope session 1\0{self.role}\0{self.name}\0{self.secret}".encode()).digest()


@dataclass(frozen=True)
class Visitor:
    """The user of a request; none if ``role`` is None."""

    name: str | None = None
    role: Role | None = None


@dataclass(frozen=True)
class Proxy:
    """A reverse proxy that names the user.

    Attributes:
        header: with the user's name; only believed where the connection itself comes from one of the trusted proxies.
        admins: names that may decide; the others may read.
    """

    header: str
    admins: frozenset[str] = frozenset()


UNKNOWN_VISITOR = Visitor()


class Access:
    """Judges requests.  Only `login` keeps anything, and is for one thread: the event loop's.

    Attributes:
        external_url: where the page is reached; empty if it isn't set.
        loopback_only: whether only a Host that is a loopback name, or ours, is answered.
    """

    def __init__(
        self,
        tokens: Sequence[Token] = (),
        proxy: Proxy | None = None,
        anyone: Visitor = UNKNOWN_VISITOR,
        external_url: str = "",
        clock: Callable[[], float] = time.time,
        trusted: Sequence[Network] = (),
        loopback_only: bool = False,
    ) -> None:
        """
        Args:
            trusted: proxies that are believed when they say who asks, and from which address a request came.
            anyone: the user of every request if there are neither tokens nor a proxy.
            external_url: also the cookie's path, whether it needs TLS, and an origin that is ours.
            clock: seconds since the epoch.
        """
        self.external_url = external_url
        self.loopback_only = loopback_only
        self._tokens = tuple(tokens)
        self._proxy = proxy
        self._anyone = anyone
        self._external = urlsplit(external_url)
        self._clock = clock
        self._trusted = tuple(trusted)
        self._failures: Recent[str, list[float]] = Recent(_ADDRESSES_KEPT)

    @property
    def authentication(self) -> Authentication:
        """How one signs in."""
        if self._tokens:
            return "token"
        return "proxy" if self._proxy else "none"

    @property
    def external_host(self) -> str:
        """A Host, without its port, that is ours beside loopback names; empty without authentication, which a proxy must not take away."""
        return (self._external.hostname or "") if self.authentication != "none" else ""

    def address(self, scope: Scope) -> str:
        """The address that a request came from: the connection's other end or, behind trusted proxies, the one that the first of them saw.

        That is the right-most address of X-Forwarded-For that is no trusted proxy's: any client may have written those further left.
        """
        client = scope.get("client")
        found = client[0] if client else ""
        if not is_within(found, self._trusted):
            return found
        hops = ",".join(Headers(scope=scope).getlist("x-forwarded-for")).split(",")
        for hop in reversed(hops[-_MOST_HOPS:]):
            try:
                found = str(ip_address(_without_port(hop.strip())))
            except ValueError:
                break
            if not is_within(found, self._trusted):
                break
        return found

    def visitor(self, scope: Scope) -> Visitor:
        """The user of a request."""
        headers = Headers(scope=scope)
        if self.authentication == "none":
            return self._anyone
        return self._by_proxy(scope, headers) or self._by_bearer(headers) or self._by_cookie(headers) or UNKNOWN_VISITOR

    def is_ours(self, scope: Scope) -> bool:
        """Whether a request that changes something was made by our own page, or by a program with a token."""
        headers = Headers(scope=scope)
        if headers.get("authorization", "")[:7].lower() == "bearer ":
            return True  # no browser sends one by itself
        site, origin = headers.get("sec-fetch-site"), headers.get("origin")
        if site is not None:
            return site == "same-origin"
        if origin is None:
            return False
        came_from = urlsplit(origin)
        ours = {headers.get("host", "").lower()}
        if self._external.netloc and came_from.scheme == self._external.scheme:
            ours.add(self._external.netloc.lower())
        return bool(came_from.netloc) and came_from.netloc.lower() in ours

    def login(self, secret: str, request: Request, response: Response) -> bool:
        """Sets the cookie; returns whether the token is one.

        Raises:
            HTTPException: 429, too many wrong ones from this address; 403, from another site.
        """
        require_ours(request)
        address = network_of(self.address(request.scope))
        now = self._clock()
        failures = [at for at in self._failures.get(address, ()) if at > now - _FAILURE_WINDOW_S]
        if len(failures) >= _MOST_FAILURES:
            raise HTTPException(429, "too many wrong tokens", headers={"retry-after": str(int(_FAILURE_WINDOW_S))})
        token = matching(secret.strip(), self._tokens)
        if token is None:
            self._failures[address] = [*failures, now]
            return False
        self._failures.pop(address, None)
        response.set_cookie(COOKIE, self._sealed(token), max_age=SESSION_SECONDS, **self._cookie())
        return True

    def logout(self, request: Request, response: Response) -> None:
        """Takes the cookie back.

        Raises:
            HTTPException: 403, from another site.
        """
        require_ours(request)
        response.delete_cookie(COOKIE, **self._cookie())

    def _cookie(self) -> dict[str, Any]:
        """Where it is sent: to the page's own path, over TLS where the page has it, and to no script and no other site's requests."""
        path = self._external.path.rstrip("/") + "/"
        return {"path": path, "secure": self._external.scheme == "https", "httponly": True, "samesite": "strict"}

    def _by_proxy(self, scope: Scope, headers: Headers) -> Visitor | None:
        client = scope.get("client")
        if self._proxy is None or not client or not is_within(client[0], self._trusted):
            return None
        names = headers.getlist(self._proxy.header)
        if len(names) != 1 or not names[0].strip():
            return None
        name = clean(names[0].encode("latin-1", "replace").decode("utf-8", "replace").strip())
        return Visitor(name, "admin" if name in self._proxy.admins else "reader")

    def _by_bearer(self, headers: Headers) -> Visitor | None:
        token = matching(bearer(headers.get("authorization", "")), self._tokens)
        return Visitor(token.name, token.role) if token else None

    def _by_cookie(self, headers: Headers) -> Visitor | None:
        for value in _cookies(headers):
            for token in self._tokens:
                if self._opens(value, token):
                    return Visitor(token.name, token.role)
        return None

    def _sealed(self, token: Token) -> str:
        until = int(self._clock()) + SESSION_SECONDS
        content = f"{until}.{secrets.token_urlsafe(12)}"
        return f"{content}.{_mac(token, content)}"

    def _opens(self, value: str, token: Token) -> bool:
        content, _, mac = value.rpartition(".")
        if not hmac.compare_digest(_mac(token, content), mac):
            return False
        return int(content.partition(".")[0]) > self._clock()


def visitor(request: Request) -> Visitor:
    """The user of a request, as the middleware found it."""
    found = request.scope.get("clientscope.visitor", UNKNOWN_VISITOR)
    assert isinstance(found, Visitor)
    return found


def require_admin(request: Request) -> str:
    """The name of an admin whose own page, or program, asks.

    Raises:
        HTTPException: 403.
    """
    found = visitor(request)
    if found.role != "admin":
        raise HTTPException(403, "this needs the role admin")
    require_ours(request)
    return found.name or "admin"


def require_ours(request: Request) -> None:
    """Raises HTTPException 403 for a request that neither our own page nor a program with a token has made."""
    if not request.scope.get("clientscope.ours", False):
        raise HTTPException(403, "this request comes from another site")


def _mac(token: Token, content: str) -> str:
    return urlsafe_b64encode(hmac.digest(token.key, content.encode("utf-8", "replace"), "sha256")).rstrip(b"=").decode()


def _cookies(headers: Headers) -> list[str]:
    """Values of our cookie; there may be several, of several paths."""
    found = []
    for header in headers.getlist("cookie"):
        for part in header.split(";"):
            name, _, value = part.strip().partition("=")
            if name == COOKIE and value.isascii() and len(value) <= _MOST_COOKIE:
                found.append(value)
    return found[:4]


def _without_port(hop: str) -> str:
    """An address as some proxies write it: ``192.0.2.1:5000``, ``[2001:db8::1]:5000``, ``[2001:db8::1]``."""
    if hop.startswith("["):
        return hop[1:].partition("]")[0]
    host, colon, port = hop.partition(":")
    return host if colon and port.isdecimal() and "." in host else hop


def access_of(settings: ServeSettings, host: str) -> Access:
    """The access rules of the page.

    Args:
        host: what the page listens on.

    Raises:
        SettingsError: others could reach the page without authentication; or a file or a setting is invalid.
    """
    found = [*_tokens(settings.reader_token_file, "reader"), *_tokens(settings.admin_token_file, "admin")]
    if len({token.secret for token in found}) < len(found):
        raise SettingsError("a token is in the token files twice", "each lets one person, or one program, in")
    trusted = _trusted(settings, bool(found))
    proxy = _proxy(settings)
    if not found and proxy is None and not is_loopback(host):
        raise SettingsError(
            f"{host} can be reached from other machines, and the page would have no authentication",
            "set --reader-token-file or --admin-token-file, or --proxy-user-header with --trusted-proxies, or listen on 127.0.0.1",
        )
    local = Visitor(_local_user(), settings.loopback_role)
    return Access(found, proxy, local, settings.external_url, trusted=trusted, loopback_only=is_loopback(host))


def _trusted(settings: ServeSettings, tokens_given: bool) -> list[Network]:
    trusted = split_networks(settings.trusted_proxies)
    if settings.proxy_user_header and not trusted:
        raise SettingsError("--proxy-user-header needs --trusted-proxies", "a header that anybody may send says nothing about who asks")
    if trusted and not settings.proxy_user_header and not tokens_given:
        raise SettingsError("--trusted-proxies needs --proxy-user-header, or tokens", "without either, the page has no authentication")
    if any(network.prefixlen == 0 for network in trusted):
        raise SettingsError("--trusted-proxies: this trusts every address", "name the proxy's own")
    return list(trusted)


def _proxy(settings: ServeSettings) -> Proxy | None:
    if not settings.proxy_user_header:
        return None
    admins = frozenset(name.strip() for name in settings.admins.split(",") if name.strip())
    return Proxy(settings.proxy_user_header, admins)


def _tokens(path: Path | None, role: Role) -> list[Token]:
    found = read(path, f"--{role}-token-file") if path else []
    return [Token(clean(one.name) if one.name else role, one.secret, role) for one in found]


def _local_user() -> str:
    try:
        return clean(getpass.getuser())
    except (OSError, KeyError):
        return "local"
