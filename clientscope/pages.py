"""Pages for machines, by the standard library's WSGI server in threads of its own: probes, metrics, and JSON on loopback.

On ``metrics-listen`` of gateway and job: ``/metrics``, ``/healthz``, ``/readyz``; counts and nothing of any one client.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterable, Mapping
from ipaddress import ip_address
from socketserver import ThreadingMixIn
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

from clientscope.config_types import split_address
from clientscope.errors import ClientscopeError, EnvironmentProblem, SettingsError

App = Callable[[dict[str, Any], Any], Iterable[bytes]]


def serve(setting: str, address: str, pages: Mapping[str, App]) -> Callable[[], None]:
    """Answers HTTP at ``HOST:PORT``, unless the port is 0; returns what stops it.

    Args:
        setting: the address' own name, for an error.

    Raises:
        EnvironmentProblem: the port is taken.
    """
    host, port = split_address(address)
    if port == 0:
        return lambda: None

    def answer(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        page = pages.get(environ["PATH_INFO"])
        if page is not None:
            return page(environ, start_response)
        start_response("404 Not Found", [("Content-Type", "text/plain; charset=utf-8")])
        return [f"there is {', '.join(pages)}\n".encode()]

    try:
        server = make_server(host, port, answer, _Server, _SilentHandler)
    except OSError as error:
        raise EnvironmentProblem(f"{setting}: cannot listen on {address}: {error.strerror}", "choose another, or port 0") from None
    thread = threading.Thread(target=server.serve_forever, name=setting, daemon=True)
    thread.start()

    def stop() -> None:
        server.shutdown()
        server.server_close()
        thread.join(5)

    return stop


def probe(problem: Callable[[], str], state: Callable[[], str] = lambda: "ok") -> App:
    """200 and the ``state`` where ``problem`` has nothing to say, else 503 and what it says."""

    def answer(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        text = problem()
        start_response("503 Service Unavailable" if text else "200 OK", [("Content-Type", "text/plain; charset=utf-8")])
        return [f"{text or state()}\n".encode()]

    return answer


def listing(content: Callable[[], Any]) -> App:
    """JSON, or 503 where it can't be had.

    Only for requests that name this machine itself, or a page in a browser could have its own name point here.
    """

    def answer(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        if not _names_loopback(environ):
            return _refusal(start_response, "403 Forbidden", "ask under 127.0.0.1, [::1] or localhost")
        try:
            body = json.dumps(content()).encode()
        except ClientscopeError as error:
            return _refusal(start_response, "503 Service Unavailable", str(error))
        start_response("200 OK", [("Content-Type", "application/json"), ("Cache-Control", "no-store")])
        return [body]

    return answer


def switch(state: Callable[[], bool], turn: Callable[[bool], object]) -> App:
    """Something that is on or off: GET tells, PUT with ``true`` or ``false`` turns it.

    PUT, not POST: a browser sends no other page's PUT without asking first, and is never answered (CORS).
    """
    shown = listing(state)

    def answer(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        if environ["REQUEST_METHOD"] == "GET" or not _names_loopback(environ):
            return shown(environ, start_response)
        body = environ["wsgi.input"].read(min(int(environ.get("CONTENT_LENGTH") or 0), 16)).strip()
        if environ["REQUEST_METHOD"] != "PUT" or body not in (b"true", b"false"):
            return _refusal(start_response, "400 Bad Request", "PUT true, or PUT false")
        turn(body == b"true")
        start_response("202 Accepted", [("Content-Type", "application/json")])
        return [body]

    return answer


def require_loopback(setting: str, address: str) -> None:
    """Raises SettingsError for an address that others than this machine could reach."""
    if not _is_loopback(split_address(address)[0]):
        raise SettingsError(f"{setting}: {address} isn't loopback, and these pages ask nobody who he is", "127.0.0.1:PORT, or [::1]:PORT")


def _names_loopback(environ: Mapping[str, Any]) -> bool:
    return _is_loopback(environ.get("HTTP_HOST", "").rpartition(":")[0])


def _refusal(start_response: Any, status: str, text: str) -> Iterable[bytes]:
    start_response(status, [("Content-Type", "text/plain; charset=utf-8")])
    return [f"{text}\n".encode()]


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


class _Server(ThreadingMixIn, WSGIServer):
    daemon_threads = True


class _SilentHandler(WSGIRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        """A scrape is no news."""
