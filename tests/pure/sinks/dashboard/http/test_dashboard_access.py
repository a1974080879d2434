"""F38: access to the page, its API and all metrics: tokens, cookies, proxies, rights, other sites and hosts; and where it listens."""

from __future__ import annotations

import re
from collections.abc import Iterator
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI
from golden import cases
from http_attacks import get
from page_app import LOCAL, page_app
from page_state import found, live
from patience import until
from private_files import private
from prometheus_client import CollectorRegistry
from refusals import refused
from starlette.testclient import TestClient

from clientscope import config, pages
from clientscope.bounded_http import refusals
from clientscope.commands.registry import COMMANDS
from clientscope.config import ServeSettings
from clientscope.config_types import is_loopback, split_address
from clientscope.errors import SettingsError
from clientscope.local.process import free_port
from sinks.dashboard.http import files
from sinks.dashboard.http.access import COOKIE, SESSION_SECONDS, Access, Proxy, Token, Visitor, access_of
from sinks.dashboard.http.middleware import HEADERS

ADMIN, READER = Token("alice", "a" * 32, "admin"), Token("reader", "r" * 32, "reader")


OURS = {"sec-fetch-site": "same-origin"}


class Clock:
    now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


def serving(access: Access, *, address: str = "192.0.2.7", url: str = "http://page.example", **parts: Any) -> TestClient:
    app = page_app(live(found(1, kind="leak")), lambda: 0, access=access, **parts)
    return TestClient(app, base_url=url, client=(address, 50_000))


CLOCK = Clock()


def tokens(external_url: str = "", *given: Token, loopback_only: bool = False) -> Access:
    return Access(given or (ADMIN, READER), external_url=external_url, clock=CLOCK, loopback_only=loopback_only)


def login(http: TestClient, secret: str) -> Any:
    return http.post("/api/v1/login", json={"token": secret}, headers=OURS)


def me(http: TestClient) -> Any:
    """Who one is to the page."""
    return http.get("/api/v1/me").json()


def test_a_token_becomes_a_cookie_that_no_script_reads_and_no_other_site_sends() -> None:
    http = serving(tokens())
    response = login(http, ADMIN.secret)
    assert response.status_code == 204
    cookie = response.headers["set-cookie"]
    assert {part.strip().lower() for part in cookie.split(";")[1:]} == {
        "httponly",
        f"max-age={SESSION_SECONDS}",
        "path=/",
        "samesite=strict",
    }
    assert ADMIN.secret not in cookie
    assert me(http)["name"] == "alice"
    assert http.get("/api/v1/overview").status_code == 200
    assert http.post("/api/v1/logout", headers=OURS).status_code == 204
    assert http.get("/api/v1/overview").status_code == 401


def test_the_cookie_is_only_for_the_pages_own_path_and_for_tls() -> None:
    http = serving(tokens("https://page.example/clients/"), url="https://page.example")
    cookie = login(http, READER.secret).headers["set-cookie"].lower()
    assert "path=/clients/;" in cookie + ";"
    assert "secure" in cookie


def test_a_session_ends_and_another_copy_with_the_same_tokens_takes_it() -> None:
    cookie = login(serving(tokens()), READER.secret).cookies[COOKIE]
    other = serving(tokens())
    other.cookies.set(COOKIE, cookie)
    assert me(other)["role"] == "reader"
    changed = serving(tokens("", Token("reader", "n" * 32, "reader")))
    changed.cookies.set(COOKIE, cookie)
    assert me(changed)["role"] is None
    CLOCK.now += SESSION_SECONDS
    assert me(other)["role"] is None


@pytest.mark.parametrize("tamper", ["", ".", "x", "9" * 2_000, "{0}x", "x{0}", "9{0}", "é"])
def test_a_cookie_that_is_not_ours_opens_nothing(tamper: str) -> None:
    cookie = login(serving(tokens()), READER.secret).cookies[COOKIE]
    http = serving(tokens())
    assert http.get("/api/v1/overview", headers=[(b"cookie", f"{COOKIE}={tamper.format(cookie)}".encode())]).status_code == 401


def test_wrong_tokens_are_refused_and_soon_not_even_looked_at() -> None:
    http = serving(tokens())
    for _ in range(10):
        response = login(http, "guess" * 5)
        assert response.status_code == 401
        assert "guess" not in response.text
    assert login(http, ADMIN.secret).status_code == 429
    CLOCK.now += 61
    assert login(http, ADMIN.secret).status_code == 204


def behind(address: str = "10.0.0.5") -> TestClient:
    return serving(Access((ADMIN, READER), clock=CLOCK, trusted=[ip_network("10.0.0.0/24"), ip_network("fd00::5/128")]), address=address)


def came_by(http: TestClient, secret: str, *hops: str) -> int:
    sent = [("x-forwarded-for", hop) for hop in hops]
    return http.post("/api/v1/login", json={"token": secret}, headers=[*OURS.items(), *sent]).status_code


def guessed(http: TestClient, hop: str) -> None:
    """So often that its address is locked out; the hop's text may have a number."""
    for number in range(10):
        assert came_by(http, "guess" * 5, hop.format(number)) == 401


def test_f38_wrong_tokens_behind_a_proxy_lock_out_an_address_and_not_everyone() -> None:
    http = behind()
    guessed(http, "198.51.100.{}, 203.0.113.7")  # what the client writes itself stands further left
    for same in ("203.0.113.7", "203.0.113.7, 10.0.0.9", "203.0.113.7:5000", "::ffff:203.0.113.7"):
        assert came_by(http, ADMIN.secret, same) == 429
    assert came_by(http, ADMIN.secret, "198.51.100.1, 203.0.113.7", "10.0.0.9") == 429, "two headers"
    for other in ("203.0.113.8", "203.0.113.7, 203.0.113.8", "203.0.113.7, nonsense", ""):
        assert came_by(http, ADMIN.secret, other) == 204
    assert came_by(http, ADMIN.secret) == 204, "the proxy itself"


def test_f38_nobody_but_a_trusted_proxy_says_where_a_request_comes_from() -> None:
    for http in (behind(address="203.0.113.7"), serving(tokens(), address="10.0.0.5")):
        guessed(http, "198.51.100.{}")
        assert came_by(http, ADMIN.secret, "198.51.100.99") == 429


def test_f38_with_ipv6_a_network_of_64_bits_is_one_address() -> None:
    http = behind("fd00::5")
    guessed(http, "[2001:db8:1:2::{}]:5000")
    assert came_by(http, ADMIN.secret, "2001:db8:1:2:ffff::1") == 429
    assert came_by(http, ADMIN.secret, "2001:db8:1:3::1") == 204


def test_a_program_sends_its_token_with_each_request() -> None:
    http = serving(tokens())
    bearer = {"authorization": f"Bearer {ADMIN.secret}"}
    assert http.get("/metrics", headers=bearer).status_code == 200
    body = {"resolution": "rotated", "why": "w"}
    assert http.post(f"/api/v1/findings/{1:032x}/close", json=body, headers=bearer).json()["by"] == "alice"
    reader = {"authorization": f"Bearer {READER.secret}"}
    assert http.post(f"/api/v1/findings/{1:032x}/close", json=body, headers=reader).status_code == 403
    for wrong in ("Bearer ", f"Basic {ADMIN.secret}", "Bearer x"):
        assert http.get("/metrics", headers={"authorization": wrong}).status_code == 401


PROXY = Proxy("X-Forwarded-User", frozenset({"alice"}))


def test_a_proxys_word_counts_from_the_proxy_alone() -> None:
    access = Access(proxy=PROXY, trusted=[ip_network("10.0.0.5/32")])
    http = serving(access, address="10.0.0.5")
    alice = http.get("/api/v1/me", headers={"x-forwarded-user": "alice"}).json()
    assert (alice["name"], alice["role"], alice["authentication"]) == ("alice", "admin", "proxy")
    other = http.get("/api/v1/me", headers=[(b"x-forwarded-user", "zoë\x1b".encode())]).json()
    assert (other["name"], other["role"]) == ("zoë\ufffd", "reader")
    for headers in ([], [("x-forwarded-user", " ")], [("x-forwarded-user", "alice"), ("x-forwarded-user", "bob")]):
        assert http.get("/api/v1/overview", headers=headers).status_code == 401
    for address in ("10.0.0.6", "not-an-address"):
        assert serving(access, address=address).get("/api/v1/overview", headers={"x-forwarded-user": "alice"}).status_code == 401
    assert serving(access, address="::ffff:10.0.0.5").get("/api/v1/overview", headers={"x-forwarded-user": "alice"}).status_code == 200


def test_a_host_from_elsewhere_is_answered_on_loopback_only_where_somebody_asks_who_it_is() -> None:
    outside = "https://page.example/x/"
    known = tokens(outside, loopback_only=True)
    assert serving(known).get("/api/v1/me").status_code == 200
    assert serving(known, url="http://evil.example").get("/api/v1/me").status_code == 421
    anyone = Access(anyone=Visitor("me", "admin"), external_url=outside, loopback_only=True)
    assert serving(anyone).get("/api/v1/me").status_code == 421


def test_the_origin_of_the_outer_address_is_ours() -> None:
    http = serving(tokens("https://outer.example/x/"), url="http://inner.example")
    body = {"token": ADMIN.secret}
    assert http.post("/api/v1/login", json=body, headers={"origin": "https://outer.example"}).status_code == 204
    assert http.post("/api/v1/login", json=body, headers={"origin": "http://outer.example"}).status_code == 403


@pytest.mark.parametrize(
    "length", ["209715200", "00000000000209715200", "0" * 5_000 + "9", "9" * 5_000, "65537", "-1", "1e9", "0x10", "\u0661"]
)
def test_f45_a_length_is_compared_as_a_whole_number(length: str) -> None:
    headers = [*((name.encode(), value.encode()) for name, value in OURS.items()), (b"content-length", length.encode())]
    answer = serving(tokens()).post("/api/v1/login", content=b"{}", headers=headers)
    assert answer.status_code == (422 if length == "0" * 5_000 + "9" else 413)


@pytest.mark.parametrize("content", [b"x" * 70_000, iter([b"x"])], ids=["long", "of no length"])
def test_a_large_body_is_not_read(content: Any) -> None:
    assert serving(tokens()).post("/api/v1/login", content=content, headers=OURS).status_code == 413


def settings(**given: Any) -> ServeSettings:
    return ServeSettings.model_validate(given)


def test_it_listens_to_others_only_with_tokens_or_a_proxy(tmp_path: Path) -> None:
    for host in ("0.0.0.0", "192.0.2.1", "::", "page.example"):  # noqa: S104
        with refused("have no authentication"):
            access_of(settings(), host)
    file = private(tmp_path / "admin", "# people\nalice " + "x" * 20 + "\n" + "y" * 20 + "\n")
    access = access_of(settings(admin_token_file=file), "0.0.0.0")  # noqa: S104
    http = serving(access)
    assert login(http, "x" * 20).status_code == 204
    assert me(http)["name"] == "alice"
    assert access_of(settings(proxy_user_header="X-User", trusted_proxies="10.0.0.5"), "192.0.2.1").authentication == "proxy"
    both = access_of(settings(admin_token_file=file, trusted_proxies="10.0.0.5"), "0.0.0.0")  # noqa: S104
    assert (both.authentication, both.address({"client": ("10.0.0.5", 1), "headers": [(b"x-forwarded-for", b"1.2.3.4")]})) == (
        "token",
        "1.2.3.4",
    )


def test_on_loopback_every_request_is_the_serving_user_by_default() -> None:
    who = me(serving(access_of(settings(), "127.0.0.1"), url="http://localhost"))
    assert (who["role"], who["authentication"]) == ("admin", "none")
    assert who["name"]
    reader = access_of(settings(loopback_role="reader"), "127.0.0.1")
    assert me(serving(reader, url="http://localhost"))["role"] == "reader"
    assert serving(reader).get("/api/v1/me").status_code == 421


@pytest.mark.parametrize(
    ("text", "mode", "message"),
    [
        ("x" * 20, 0o604, "every user"),
        ("short", 0o600, "line 1 is no token"),
        ("a b " + "x" * 20, 0o600, "line 1 is no token"),
        ("# nothing\n", 0o600, "no tokens"),
        ("é" * 20, 0o600, "line 1 is no token"),
        ("x" * 20 + "\n" + "x" * 20, 0o600, "token files twice"),
    ],
)
def test_a_token_file_that_is_none_is_refused_and_not_quoted(tmp_path: Path, text: str, mode: int, message: str) -> None:
    file = private(tmp_path / "tokens", text, mode)
    with refused(message) as caught:
        access_of(settings(reader_token_file=file), "127.0.0.1")
    assert "xxx" not in str(caught.value)


@pytest.mark.parametrize("given", cases(__file__, "halves.txt"))
def test_half_of_it_is_refused(given: list[str]) -> None:
    said = dict(each.split("=") for each in given[0].split())
    with pytest.raises(ValueError if "external_url" in said else SettingsError):
        access_of(settings(**said), "127.0.0.1")


THEIRS = {"sec-fetch-site": "cross-site", "origin": "https://evil.example"}


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
    parts = {"data_docs_dir": tmp_path / "docs", "stopping": lambda: True}
    return serving(Access((ADMIN, READER)), **parts).app  # type: ignore[arg-type, return-value]


def browser(app: FastAPI, token: Token | None = None) -> TestClient:
    """With the cookie of a token, or of nobody."""
    http = TestClient(app, base_url="http://page.example", raise_server_exceptions=False)
    if token is not None:
        assert login(http, token.secret).status_code == 204
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
            answer = http.request(method, path, json={}, headers=OURS)
            assert (answer.status_code, answer.json()) == (401, {"detail": "sign in first"}), (method, path)
    assert me(http) == {"name": None, "role": None, "authentication": "token", "external_url": None}
    assert ADMIN.secret not in repr(ADMIN)
    for path in ("/", "/healthz", "/readyz", *(f"/static/{name}" for name in files.load())):
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
    assert len(changing) == 4
    elsewhere = ({"sec-fetch-site": site} for site in ("same-site", "none"))
    for headers in (THEIRS, {}, *elsewhere, {"origin": "null"}, {"origin": THEIRS["origin"]}):
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


def test_f38_machines_pages_have_counts_and_nothing_for_debugging() -> None:
    def fails(request: pages.Request) -> pages.Page:
        raise ValueError("canary-of-an-error")

    address = f"127.0.0.1:{free_port()}"
    served = {"/metrics": pages.metrics(CollectorRegistry()), "/healthz": pages.probe(lambda: ""), "/fails": fails}
    stop = pages.serve("metrics-listen", address, served, refusals(CollectorRegistry()))
    try:
        until(lambda: get(f"http://{address}/metrics")[0], 200)
        for path in ("/debug", "/debug/pprof", "/reload", "/-/reload", "/-/quit", "/v1/connections", "/v1/bypass", "/env", "/threads"):
            assert get(f"http://{address}{path}") == (404, "there is /metrics, /healthz, /fails\n")
        assert get(f"http://{address}/fails") == (500, "Internal Server Error")
    finally:
        stop()


@pytest.mark.parametrize("address", ["0.0.0.0:9465", "[::]:9465", "192.0.2.1:9465", "gateway.example:9465", "10.0.0.1:9465"])
def test_f38_pages_without_authentication_are_for_loopback_alone(address: str) -> None:
    with refused("loopback"):
        pages.require_loopback("admin-listen", address)


@pytest.mark.parametrize(("hosts", "loopback"), cases(__file__, "hosts.txt"))
def test_only_a_loopback_host_is_answered(hosts: str, loopback: str) -> None:
    headers = [("host", host) for host in hosts.split(", ")]
    for access, status in ((LOCAL, 200 if loopback == "yes" else 421), (tokens(), 200)):
        assert serving(access).get("/healthz", headers=headers).status_code == status


@pytest.mark.parametrize("host", ["localhost", "evil.example"])
def test_every_answer_carries_the_headers_which_allow_nothing_inline_or_from_elsewhere(host: str) -> None:
    response = serving(LOCAL).get("/nothing", headers={"host": host})
    assert {name: response.headers[name] for name in HEADERS} == HEADERS
    policy = HEADERS["content-security-policy"]
    assert not re.search(r"unsafe|http|\*", policy)
    assert {"default-src 'none'", "script-src 'self'", "style-src 'self'", "frame-ancestors 'none'"} <= set(policy.split("; "))
