"""HTTP pages for machines: probes, metrics, and JSON on loopback; functions that are called in a few threads.

On ``metrics-listen`` of gateway, job and deliver: ``/metrics``, ``/healthz``, ``/readyz``; counts and nothing of any one client.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from prometheus_client import CollectorRegistry, Counter
from prometheus_client.exposition import choose_encoder

from clientscope import tokens
from clientscope.config_types import is_loopback, split_address
from clientscope.errors import ClientscopeError, SettingsError

if TYPE_CHECKING:
    from clientscope import bounded_http

NO_HEADERS: Mapping[str, str] = MappingProxyType({})


class Request(NamedTuple):
    """What a page is asked, as far as these pages look at it; names of headers are in lower case."""

    method: str
    headers: Mapping[str, str]
    body: bytes = b""

    @property
    def names_loopback(self) -> bool:
        """Whether it names this machine itself."""
        return is_loopback(self.headers.get("host", "").rpartition(":")[0])


class Page(NamedTuple):
    """What a page answers."""

    content: bytes
    media_type: str
    status: int = 200
    headers: Mapping[str, str] = NO_HEADERS


App = Callable[[Request], Page]
"""A page: called in a thread, and may block."""

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
    if split_address(address)[1] == 0:
        return lambda: None
    # uvicorn takes 5 MB; a gateway forks its other processes before, so that they do without.
    from clientscope import bounded_http  # noqa: PLC0415

    listener = bounded_http.listening(address, setting, "choose another address, or turn it off with port 0")
    pool = ThreadPoolExecutor(_THREADS, thread_name_prefix=setting)
    served = bounded_http.Listener(setting, bounds or bounded_http.Bounds(body_bytes=_MOST_BODY_BYTES), refused)
    server = bounded_http.Server(served.config(_application(pages, pool), timeout_graceful_shutdown=1))
    thread = threading.Thread(target=server.run, args=([listener],), name=setting, daemon=True)
    thread.start()

    def stop() -> None:
        server.should_exit = True
        thread.join(5)
        listener.close()
        pool.shutdown(wait=False)

    return stop


def _application(pages: Mapping[str, App], pool: ThreadPoolExecutor) -> Any:
    """An ASGI application of pages, by path."""

    def nothing(request: Request) -> Page:
        return _text(404, f"there is {', '.join(pages)}")

    async def application(scope: Mapping[str, Any], receive: Callable[[], Any], send: Callable[[Any], Any]) -> None:
        try:
            body = await _whole_body(receive)
        except ConnectionAbortedError:
            return
        app = pages.get(scope["path"], nothing) if body is not None else _too_much
        headers: dict[str, str] = {}
        for name, value in ((name.decode("latin-1"), value.decode("latin-1")) for name, value in scope["headers"]):
            headers[name] = f"{headers[name]},{value}" if name in headers else value  # several are none that names us, nor a token
        page = await asyncio.get_running_loop().run_in_executor(pool, app, Request(scope["method"], headers, body or b""))
        sent = {"content-type": page.media_type, "content-length": str(len(page.content)), **page.headers}
        encoded = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in sent.items()]
        await send({"type": "http.response.start", "status": page.status, "headers": encoded})
        await send({"type": "http.response.body", "body": page.content})

    return application


async def _whole_body(receive: Callable[[], Any]) -> bytes | None:
    """A request's body, whatever its headers say of its length; None where it is too long.

    Raises:
        ConnectionAbortedError: the client has gone, or took too long.
    """
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ConnectionAbortedError
        body += message.get("body", b"")
        if len(body) > _MOST_BODY_BYTES:
            return None
        if not message.get("more_body", False):
            return bytes(body)


def _too_much(request: Request) -> Page:
    return _text(413, f"at most {_MOST_BODY_BYTES} bytes", {"connection": "close"})


def metrics(registry: CollectorRegistry) -> App:
    """What Prometheus reads, in the form that it asks for."""

    def answer(request: Request) -> Page:
        encode, media_type = choose_encoder(request.headers.get("accept", ""))
        return Page(encode(registry), media_type)

    return answer


def probe(problem: Callable[[], str], state: Callable[[], str] = lambda: "ok") -> App:
    """200 and the ``state`` where ``problem`` has nothing to say, else 503 and what it says."""

    def answer(request: Request) -> Page:
        text = problem()
        return _text(503 if text else 200, text or state())

    return answer


def listing(content: Callable[[], Any]) -> App:
    """JSON, or 503 where it can't be had.

    Only for requests that name this machine itself, or a page in a browser could have its own name point here.
    """

    def answer(request: Request) -> Page:
        if not request.names_loopback:
            return _text(403, "ask under 127.0.0.1, [::1] or localhost")
        try:
            return Page(json.dumps(content()).encode(), "application/json", headers={"cache-control": "no-store"})
        except ClientscopeError as error:
            return _text(503, str(error))

    return answer


def switch(state: Callable[[], bool], turn: Callable[[bool], object], token_file: Path | None, refused: Counter) -> App:
    """Something that is on or off: GET shows it, PUT with ``true`` or ``false`` and a token turns it.

    PUT, not POST: a browser sends no other page's PUT without asking first, and is never answered (CORS).

    Args:
        token_file: read at each PUT, so that a new token needs no restart; without it, PUT is refused.
    """
    shown = listing(state)

    def refusal(request: Request) -> Page | None:
        if token_file is None:
            return _text(403, "no token may do this: set admin_token_file, or send a signal")
        try:
            known = tokens.read(token_file, "admin_token_file")
        except SettingsError as error:
            return _text(503, str(error))
        if tokens.matching(tokens.bearer(request.headers.get("authorization", "")), known):
            return None
        refused.labels("admin-listen", "token").inc()
        return _text(401, "this needs Authorization: Bearer TOKEN", {"www-authenticate": "Bearer"})

    def answer(request: Request) -> Page:
        if request.method == "GET" or not request.names_loopback:
            return shown(request)
        if request.method == "PUT" and (denied := refusal(request)) is not None:
            return denied
        body = request.body.strip()
        if request.method != "PUT" or body not in (b"true", b"false"):
            return _text(400, "PUT true, or PUT false")
        turn(body == b"true")
        return Page(body, "application/json", 202)

    return answer


def require_loopback(setting: str, address: str) -> None:
    """Raises SettingsError for an address that others than this machine could reach."""
    if not is_loopback(split_address(address)[0]):
        raise SettingsError(
            f"{setting}: {address} is not loopback, and these pages have no authentication", "use 127.0.0.1:PORT or [::1]:PORT"
        )


def _text(status: int, text: str, headers: Mapping[str, str] = NO_HEADERS) -> Page:
    return Page(f"{text}\n".encode(), "text/plain; charset=utf-8", status, headers)
