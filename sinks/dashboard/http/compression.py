"""Compression of answers by gzip, and answers to HEAD.

An answer that is compressed tells by its length whether text that somebody chose repeats what stands beside it (BREACH). So none is
compressed that has a setting's value or a digest of one: one client, findings, results, starts and events. What is compressed has names,
addresses, versions and numbers, which every reader of the page may see. No answer has a token, a cookie or a secret; and an answer
that another site asks for is never compressed.
"""

from __future__ import annotations

import re

from starlette.datastructures import Headers
from starlette.middleware.gzip import GZipMiddleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send

COMPRESSED = re.compile(
    r"/|/static/.*|/api/v1/(openapi\.json|overview|gauges|series|brokers|readiness|rules/\w+|connections|clients(/groups|/facets)?|history(/series|/clients)?)"
)
"""Paths of answers without a setting's value or digest."""

_LEAST_BYTES = 1_000
"""A smaller answer fits into one packet as it is."""

_LEVEL = 6
_OURS = ("same-origin", "none", "")
_REFUSED = re.compile(r"gzip\s*;\s*q=0(\.0*)?\s*$")


def is_wanted(headers: Headers) -> bool:
    """Whether the one who asks takes gzip, and doesn't ask for another site."""
    codings = [each.strip().lower() for each in headers.get("accept-encoding", "").split(",")]
    takes = any(each.split(";")[0].strip() == "gzip" and not _REFUSED.fullmatch(each) for each in codings)
    return takes and headers.get("sec-fetch-site", "") in _OURS


class CompressionMiddleware:
    """Starlette's compression, for answers of `COMPRESSED` paths alone."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._compressed = GZipMiddleware(app, _LEAST_BYTES, _LEVEL)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "GET" or not COMPRESSED.fullmatch(scope["path"]):
            await self._app(scope, receive, send)
            return
        if not is_wanted(Headers(scope=scope)):  # yet caches must know that another caller may get another answer
            scope = {**scope, "headers": [each for each in scope["headers"] if each[0] != b"accept-encoding"]}
        await self._compressed(scope, receive, send)


class HeadMiddleware:
    """Answers HEAD as GET without its body."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "HEAD":
            await self._app(scope, receive, send)
            return

        async def send_without_body(message: Message) -> None:
            await send({**message, "body": b""} if message["type"] == "http.response.body" else message)

        await self._app({**scope, "method": "GET", "clientscope.head": True}, receive, send_without_body)
