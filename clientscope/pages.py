"""HTTP pages for machines: probes, metrics, and JSON on loopback; WSGI applications in a few threads.

On ``metrics-listen`` of gateway, job and deliver: ``/metrics``, ``/healthz``, ``/readyz``; counts and nothing of any one client.
"""

from __future__ import annotations

import asyncio
import io
import json
import threading
from collections.abc import Awaitable, Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING, Any
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

from prometheus_client import Counter

from clientscope import tokens
from clientscope.config_types import split_address
from clientscope.errors import ClientscopeError, EnvironmentProblem, SettingsError

if TYPE_CHECKING:
    from clientscope import bounded_http

App = WSGIApplication

_THREADS = 4
_MOST_BODY_BYTES = 1024


def serve(
    setting: str, address: str, pages: Mapping[str, App], refused: Counter, bounds: bounded_http.Bounds | None = None
) -> Callable[[], None]:
    """Answers HTTP at ``HOST:PORT``, unless the port is 0; returns what stops it.

    Args:
        setting: the address' own name, for an error and the metric.
        refused: counts what is refused; see `bounded_http.refusals`.

    Raises:
        EnvironmentProblem: the port is taken.
    """
    host, port = split_address(address)
    if port == 0:
        return lambda: None
    # uvicorn takes 5 MB; a gateway forks its other processes before, so that they do without.
    from clientscope import bounded_http  # noqa: PLC0415

    try:
        listener = bounded_http.bind((host, port))
        listener.listen(bounded_http.BACKLOG)  # connections from now on wait while uvicorn starts
    except OSError as error:
        raise EnvironmentProblem(
            f"{setting}: cannot listen on {address}: {error.strerror}", "choose another address, or turn it off with port 0"
        ) from None
    pool = ThreadPoolExecutor(_THREADS, thread_name_prefix=setting)
    served = bounded_http.Listener(setting, bounds or bounded_http.Bounds(body_bytes=_MOST_BODY_BYTES), refused)
    server = bounded_http.Server(served.config(_Pages(pages, pool, bounded_http.whole_body), timeout_graceful_shutdown=1))
    thread = threading.Thread(target=server.run, args=([listener],), name=setting, daemon=True)
    thread.start()

    def stop() -> None:
        server.should_exit = True
        thread.join(5)
        listener.close()
        pool.shutdown(wait=False)

    return stop


class _Pages:
    """An ASGI application of WSGI ones, by path."""

    def __init__(self, pages: Mapping[str, App], pool: ThreadPoolExecutor, whole_body: Callable[..., Awaitable[bytes | None]]) -> None:
        self._pages = pages
        self._pool = pool
        self._whole_body = whole_body

    async def __call__(self, scope: Mapping[str, Any], receive: Callable[[], Any], send: Callable[[Any], Any]) -> None:
        try:
            body = await self._whole_body(receive, _MOST_BODY_BYTES)
        except ConnectionAbortedError:
            return
        page = self._pages.get(scope["path"], self._nothing) if body is not None else _too_much
        environ = _environ(scope, body or b"")
        status, headers, content = await asyncio.get_running_loop().run_in_executor(self._pool, _run, page, environ)
        if body is None:
            headers.append((b"connection", b"close"))
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": content})

    def _nothing(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        return _refusal(start_response, "404 Not Found", f"there is {', '.join(self._pages)}")


def _too_much(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
    return _refusal(start_response, "413 Content Too Large", f"at most {_MOST_BODY_BYTES} bytes")


def _environ(scope: Mapping[str, Any], body: bytes) -> WSGIEnvironment:
    """A request as WSGI has it (PEP 3333), as far as these pages ask for it."""
    environ = {
        "REQUEST_METHOD": scope["method"],
        "PATH_INFO": scope["path"],
        "QUERY_STRING": scope["query_string"].decode("latin-1"),
        "CONTENT_LENGTH": str(len(body)),
        "wsgi.input": io.BytesIO(body),
    }
    for name, value in scope["headers"]:
        key = "HTTP_" + name.decode("latin-1").upper().replace("-", "_")
        environ[key] = f"{environ[key]},{value.decode('latin-1')}" if key in environ else value.decode("latin-1")
    return environ


def _run(page: App, environ: WSGIEnvironment) -> tuple[int, list[tuple[bytes, bytes]], bytes]:
    """A page's status, headers and content, with its length."""
    started: list[tuple[str, list[tuple[str, str]]]] = []

    def start_response(status: str, headers: list[tuple[str, str]], _: object = None, /) -> Callable[[bytes], object]:
        started.append((status, headers))
        return lambda _: None  # PEP 3333's write, which none of these pages uses

    content = b"".join(page(environ, start_response))
    ((status, headers),) = started
    sent = [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in headers]
    return int(status[:3]), [*sent, (b"content-length", str(len(content)).encode())], content


def probe(problem: Callable[[], str], state: Callable[[], str] = lambda: "ok") -> App:
    """200 and the ``state`` where ``problem`` has nothing to say, else 503 and what it says."""

    def answer(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        text = problem()
        start_response("503 Service Unavailable" if text else "200 OK", [("Content-Type", "text/plain; charset=utf-8")])
        return [f"{text or state()}\n".encode()]

    return answer


def listing(content: Callable[[], Any]) -> App:
    """JSON, or 503 where it can't be had.

    Only for requests that name this machine itself, or a page in a browser could have its own name point here.
    """

    def answer(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        if not _names_loopback(environ):
            return _refusal(start_response, "403 Forbidden", "ask under 127.0.0.1, [::1] or localhost")
        try:
            body = json.dumps(content()).encode()
        except ClientscopeError as error:
            return _refusal(start_response, "503 Service Unavailable", str(error))
        start_response("200 OK", [("Content-Type", "application/json"), ("Cache-Control", "no-store")])
        return [body]

    return answer


def switch(state: Callable[[], bool], turn: Callable[[bool], object], token_file: Path | None, refused: Counter) -> App:
    """Something that is on or off: GET shows it, PUT with ``true`` or ``false`` and a token turns it.

    PUT, not POST: a browser sends no other page's PUT without asking first, and is never answered (CORS).

    Args:
        token_file: read at each PUT, so that a new token needs no restart; without it, PUT is refused.
    """
    shown = listing(state)

    def refusal(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes] | None:
        if token_file is None:
            return _refusal(start_response, "403 Forbidden", "no token may do this: set admin_token_file, or send a signal")
        try:
            known = tokens.read(token_file, "admin_token_file")
        except SettingsError as error:
            return _refusal(start_response, "503 Service Unavailable", str(error))
        if tokens.is_one_of(tokens.bearer(environ.get("HTTP_AUTHORIZATION", "")), known):
            return None
        refused.labels("admin-listen", "token").inc()
        return _refusal(start_response, "401 Unauthorized", "this needs Authorization: Bearer TOKEN", ("WWW-Authenticate", "Bearer"))

    def answer(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        if environ["REQUEST_METHOD"] == "GET" or not _names_loopback(environ):
            return shown(environ, start_response)
        if environ["REQUEST_METHOD"] != "PUT":
            return _refusal(start_response, "400 Bad Request", "PUT true, or PUT false")
        if (denied := refusal(environ, start_response)) is not None:
            return denied
        body = environ["wsgi.input"].read().strip()
        if body not in (b"true", b"false"):
            return _refusal(start_response, "400 Bad Request", "PUT true, or PUT false")
        turn(body == b"true")
        start_response("202 Accepted", [("Content-Type", "application/json")])
        return [body]

    return answer


def require_loopback(setting: str, address: str) -> None:
    """Raises SettingsError for an address that others than this machine could reach."""
    if not _is_loopback(split_address(address)[0]):
        raise SettingsError(
            f"{setting}: {address} is not loopback, and these pages have no authentication", "use 127.0.0.1:PORT or [::1]:PORT"
        )


def _names_loopback(environ: Mapping[str, Any]) -> bool:
    return _is_loopback(environ.get("HTTP_HOST", "").rpartition(":")[0])


def _refusal(start_response: Any, status: str, text: str, *headers: tuple[str, str]) -> Iterable[bytes]:
    start_response(status, [("Content-Type", "text/plain; charset=utf-8"), *headers])
    return [f"{text}\n".encode()]


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
