"""F38: rights on the page, its API and all metrics; other sites; listening addresses; and that nothing is for debugging."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from http_attacks import get
from page_state import found, live
from patience import until
from prometheus_client import CollectorRegistry, make_wsgi_app

from clientscope import config, pages
from clientscope.bounded_http import refusals
from clientscope.commands.registry import COMMANDS
from clientscope.config_types import split_address
from clientscope.errors import SettingsError
from clientscope.local.process import free_port
from sinks.dashboard.api.app import create_app
from sinks.dashboard.api.deciding import Deciding
from sinks.dashboard.http import assets
from sinks.dashboard.http.access import Access, Token
from sinks.dashboard.http.security import is_loopback

ADMIN, READER = Token("alice", "admin", "a" * 32), Token("reader", "reader", "r" * 32)
OURS, THEIRS = {"sec-fetch-site": "same-origin"}, {"sec-fetch-site": "cross-site", "origin": "https://evil.example"}
OPEN = {"/api/v1/me", "/api/v1/login", "/api/v1/logout"}
"""Of the API, what everybody gets: who one is, and signing in and out."""

BESIDE_THE_API = [
    "/metrics",
    "/api/v1/openapi.json",
    "/data-docs/",
    "/data-docs/x",
    "/nothing",
    "/api/v1/nothing",
    "/static",
    "/metrics/",
    "/%2Fmetrics",
]
CLOSE = f"/api/v1/findings/{1:032x}/close"


@pytest.fixture
def app(tmp_path: Path) -> FastAPI:
    state, access, deciding = live(found(1, kind="leak")), Access((ADMIN, READER)), Deciding(lambda *written: None)
    parts = {"access": access, "deciding": deciding, "data_docs_dir": tmp_path / "docs", "stopping": lambda: True}
    return create_app(state, assets.load(), lambda: 0, loopback_only=False, **parts)  # type: ignore[arg-type]


def browser(app: FastAPI, token: Token | None = None) -> TestClient:
    """With the cookie of a token, or of nobody."""
    http = TestClient(app, base_url="http://page.example", raise_server_exceptions=False)
    if token is not None:
        assert http.post("/api/v1/login", json={"token": token.secret}, headers=OURS).status_code == 204
    return http


def every(app: FastAPI) -> Iterator[tuple[str, str]]:
    """Each method and path of the API, with something in the place of what varies."""
    for path, methods in app.openapi()["paths"].items():
        for method in methods:
            yield method.upper(), re.sub(r"\{\w+\}", f"{1:032x}", path)
    yield from (("GET", path) for path in BESIDE_THE_API)


def test_f38_who_has_not_signed_in_gets_the_page_and_probes_alone(app: FastAPI) -> None:
    http = browser(app)
    asked = list(every(app))
    assert len(asked) > 30
    for method, path in asked:
        if path not in OPEN:
            assert http.request(method, path, json={}, headers=OURS).status_code == 401, (method, path)
    assert http.get("/api/v1/me").json()["role"] is None
    for path in ("/", "/healthz", "/readyz", *(f"/static/{name}" for name in assets.load())):
        assert http.get(path).status_code == 200, path


def test_f38_a_reader_reads_everything_and_changes_nothing(app: FastAPI) -> None:
    http = browser(app, READER)
    for method, path in every(app):
        if method in ("GET", "HEAD"):
            assert http.request(method, path).status_code not in (401, 403), (method, path)
        elif path not in OPEN:
            answer = http.request(method, path, json={"resolution": "rotated", "why": "w", "until": "2030-01-01"}, headers=OURS)
            assert answer.status_code == 403, (method, path)


def test_f38_an_admin_decides_from_our_own_page_alone(app: FastAPI) -> None:
    http = browser(app, ADMIN)
    body = {"resolution": "rotated", "why": "w"}
    changing = [(method, path) for method, path in every(app) if method not in ("GET", "HEAD")]
    assert len(changing) == 5
    for headers in (
        THEIRS,
        {},
        {"sec-fetch-site": "same-site"},
        {"sec-fetch-site": "none"},
        {"origin": "null"},
        {"origin": "https://evil.example"},
    ):
        for method, path in changing:
            sent = {"token": ADMIN.secret} if path.endswith("/login") else {**body, "until": "2030-01-01"}
            assert http.request(method, path, json=sent, headers=headers).status_code == 403, path
    for content_type in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data"):
        sent = http.post(CLOSE, content=b'{"resolution": "rotated", "why": "w"}', headers={**OURS, "content-type": content_type})
        assert sent.status_code == 422, "what a form can send is no JSON"
    assert http.post(CLOSE, json=body, headers=OURS).status_code == 200


def test_f38_reading_changes_nothing_and_other_methods_are_none(app: FastAPI) -> None:
    http = browser(app, ADMIN)
    for method, path in every(app):
        for other in ("PUT", "DELETE", "PATCH", "TRACE", "OPTIONS", "CONNECT"):
            if other != method:
                assert http.request(other, path, headers=OURS).status_code in (404, 405), (other, path)


def test_f38_there_is_nothing_for_debugging(app: FastAPI) -> None:
    http = browser(app, ADMIN)
    assert app.debug is False
    for path in (
        "/docs",
        "/redoc",
        "/openapi.json",
        "/debug",
        "/debug/pprof",
        "/console",
        "/__debug__",
        "/env",
        "/threads",
        "/api/v1/reload",
    ):
        assert http.get(path).status_code == 404, path

    @app.get("/fails")
    def fails() -> None:
        raise ValueError("canary-of-an-error")

    answer = http.get("/fails")
    assert (answer.status_code, answer.text) == (500, "Internal Server Error"), "no traceback, and no text of an error"


@pytest.mark.parametrize("cls", [command.settings for command in COMMANDS])
def test_f38_everything_listens_on_loopback_by_default(cls: type[config.Settings]) -> None:
    for name, field in cls.model_fields.items():
        if name == "listen" or name.endswith("_listen"):
            assert is_loopback(split_address(str(field.default))[0]), name
        assert name not in {"debug", "debug_listen"}


def answered(setting: str, served: Mapping[str, pages.App]) -> Iterator[str]:
    address = f"127.0.0.1:{free_port()}"
    stop = pages.serve(setting, address, served, refusals(CollectorRegistry()))
    try:
        until(lambda: get(f"http://{address}/nothing")[0], 404)
        yield f"http://{address}"
    finally:
        stop()


@pytest.fixture
def gateways_pages() -> Iterator[str]:
    def fails(environ: dict[str, Any], start_response: Any) -> list[bytes]:
        raise ValueError("canary-of-an-error")

    registry = CollectorRegistry()
    yield from answered("metrics-listen", {"/metrics": make_wsgi_app(registry), "/healthz": pages.probe(lambda: ""), "/fails": fails})


def test_f38_machines_pages_have_counts_and_nothing_for_debugging(gateways_pages: str) -> None:
    assert get(f"{gateways_pages}/metrics")[0] == 200
    for path in ("/debug", "/debug/pprof", "/reload", "/-/reload", "/-/quit", "/v1/connections", "/v1/bypass", "/env", "/threads"):
        assert get(f"{gateways_pages}{path}") == (404, "there is /metrics, /healthz, /fails\n")
    assert get(f"{gateways_pages}/fails") == (500, "Internal Server Error")


@pytest.mark.parametrize("address", ["0.0.0.0:9465", "[::]:9465", "192.0.2.1:9465", "gateway.example:9465", "10.0.0.1:9465"])
def test_f38_pages_without_authentication_are_for_loopback_alone(address: str) -> None:
    with pytest.raises(SettingsError, match="loopback"):
        pages.require_loopback("admin-listen", address)
