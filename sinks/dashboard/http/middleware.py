"""What every request passes: the user and refusals without signing in, headers, compression by gzip, and HEAD.

There are requests of HTTP alone: `clientscope.bounded_http` serves neither web sockets nor ASGI's lifespan.
"""

from __future__ import annotations

from starlette.datastructures import Headers, MutableHeaders
from starlette.middleware.gzip import GZipMiddleware
from starlette.responses import JSONResponse, PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from clientscope.config_types import is_loopback
from sinks.dashboard.http.access import Access

CONTENT_SECURITY_POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
    )
)

HEADERS = {
    "content-security-policy": CONTENT_SECURITY_POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}


_OF_DOCUMENTS = frozenset({"content-security-policy", "cross-origin-opener-policy"})
_PARTS = frozenset({"text/javascript", "text/css"})
"""Types of a page's parts: the policies `_OF_DOCUMENTS` are those of the page that loads them, and would be most of their bytes."""


_OPEN = frozenset({"/", "/healthz", "/readyz", "/api/v1/me", "/api/v1/login", "/api/v1/logout"})
"""Paths without authentication, besides the page's own files; anything else needs a role."""

_OPEN_FOLDER = "/static/"
MOST_BODY_BYTES = 64 * 1024
"""Bytes of a request's body: the largest is a decision with its reason."""


def guarded(app: ASGIApp, access: Access) -> ASGIApp:
    """Determines the user of a request, refuses what the user may not see, and adds those of `HEADERS` that a response doesn't set itself.

    Where ``access`` is for loopback only, refuses a Host that isn't a loopback name, nor ours.  Without that check any web page could read
    a server on loopback, by having its own name resolve to 127.0.0.1 (DNS rebinding).
    """

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                is_part = headers.get("content-type", "").partition(";")[0] in _PARTS
                for name, value in {**HEADERS, "cache-control": "no-store"}.items():
                    if not (is_part and name in _OF_DOCUMENTS):
                        headers.setdefault(name, value)
            await send(message)

        await (_refusal(scope, access) or app)(scope, receive, send_with_headers)

    return answer


def _refusal(scope: Scope, access: Access) -> ASGIApp | None:
    headers = Headers(scope=scope)
    if access.loopback_only:
        host = _host(headers.getlist("host"))
        if not is_loopback(host) and (not host or host.lower() != access.external_host):
            return PlainTextResponse("This server answers to loopback names only.\n", status_code=421)
    if "transfer-encoding" in headers or any(_is_too_long(length) for length in headers.getlist("content-length")):
        return _TOO_MUCH
    visitor = access.visitor(scope)
    scope["clientscope.visitor"] = visitor
    scope["clientscope.ours"] = access.is_ours(scope)
    path = scope["path"]
    if visitor.role is None and path not in _OPEN and not path.startswith(_OPEN_FOLDER):
        return JSONResponse({"detail": "sign in first"}, status_code=401)
    return None


_TOO_MUCH = JSONResponse({"detail": "this is too much"}, status_code=413, headers={"connection": "close"})


def _is_too_long(length: str) -> bool:
    """By the whole number, however many zeros it begins with; h11 lets no longer body pass than this says."""
    digits = length.strip().lstrip("0")
    return bool(digits) and (not digits.isdecimal() or len(digits) > 9 or int(digits) > MOST_BODY_BYTES)


def _host(values: list[str]) -> str:
    """The one Host header without its port; empty, which is no valid name, if there is none or several."""
    if len(values) != 1:
        return ""
    host, colon, port = values[0].rpartition(":")
    return host if colon and port.isdigit() else values[0]


_LEAST_BYTES = 1_000
"""A smaller answer fits into one packet as it is."""


def compressed(app: ASGIApp) -> ASGIApp:
    """Starlette's compression, for the page's own files alone.

    Others' lengths would tell whether text that somebody chose repeats what stands beside it (BREACH).
    """

    smaller = GZipMiddleware(app, _LEAST_BYTES)

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        is_file = scope["path"] == "/" or scope["path"].startswith(_OPEN_FOLDER)
        await (smaller if is_file else app)(scope, receive, send)

    return answer


def without_bodies(app: ASGIApp) -> ASGIApp:
    """Answers HEAD as GET without its body."""

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] == "HEAD":
            scope = {**scope, "method": "GET", "clientscope.head": True}
        # uvicorn, which knows that it is HEAD, sends no body.
        await app(scope, receive, send)

    return answer
