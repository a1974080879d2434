"""What every response carries, and which Host a loopback server answers to."""

from __future__ import annotations

import ipaddress

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

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


def is_loopback(host: str) -> bool:
    """Whether a host, without its port, names this machine only."""
    host = host.strip("[]").rstrip(".").lower()
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class SecurityMiddleware:
    """Adds those of `HEADERS` that a response doesn't set itself; with ``loopback_only``, refuses a Host that isn't a loopback name.

    Without that check any web page could read a server on loopback, by having its own name resolve to 127.0.0.1 (DNS rebinding).
    """

    def __init__(self, app: ASGIApp, loopback_only: bool) -> None:
        self._app = app
        self._loopback_only = loopback_only

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in {**HEADERS, "cache-control": "no-store"}.items():
                    headers.setdefault(name, value)
            await send(message)

        if self._loopback_only and not is_loopback(_host(Headers(scope=scope).getlist("host"))):
            refusal = PlainTextResponse("This server answers to loopback names only.\n", status_code=421)
            await refusal(scope, receive, send_with_headers)
            return
        await self._app(scope, receive, send_with_headers)


def _host(values: list[str]) -> str:
    """The one Host header without its port; empty, which is nobody's name, where there is none or several."""
    if len(values) != 1:
        return ""
    host, colon, port = values[0].rpartition(":")
    return host if colon and port.isdigit() else values[0]
