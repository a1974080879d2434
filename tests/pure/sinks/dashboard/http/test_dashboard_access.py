"""Access to the page: tokens, cookies, proxies, other sites; and that the page never listens to others without authentication."""

from __future__ import annotations

from ipaddress import ip_network
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from page_state import found, live

from clientscope.config import ServeSettings
from clientscope.errors import SettingsError
from sinks.dashboard.api.app import create_app
from sinks.dashboard.api.deciding import Deciding
from sinks.dashboard.http import assets
from sinks.dashboard.http.access import COOKIE, SESSION_SECONDS, Access, Proxy, Token, Visitor
from sinks.dashboard.http.admission import access_of

ADMIN, READER = Token("alice", "admin", "a" * 32), Token("reader", "reader", "r" * 32)
OURS = {"sec-fetch-site": "same-origin"}


class Clock:
    now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


def serving(
    access: Access, *, address: str = "192.0.2.7", loopback_only: bool = False, url: str = "http://page.example", **parts: Any
) -> TestClient:
    app = create_app(live(found(1, kind="leak")), assets.load(), lambda: 0, loopback_only=loopback_only, access=access, **parts)
    return TestClient(app, base_url=url, client=(address, 50_000))


@pytest.fixture
def clock() -> Clock:
    return Clock()


def tokens(clock: Clock, external_url: str = "", *given: Token) -> Access:
    return Access(given or (ADMIN, READER), external_url=external_url, clock=clock)


def login(http: TestClient, secret: str) -> Any:
    return http.post("/api/v1/login", json={"token": secret}, headers=OURS)


def test_who_has_no_token_is_asked_for_one(clock: Clock) -> None:
    http = serving(tokens(clock))
    assert (http.get("/metrics").status_code, http.get("/metrics").json()) == (401, {"detail": "sign in first"})
    me = http.get("/api/v1/me").json()
    assert (me["name"], me["role"], me["authentication"], me["external_url"]) == (None, None, "token", None)
    assert ADMIN.secret not in repr(ADMIN)


def test_a_token_becomes_a_cookie_that_no_script_reads_and_no_other_site_sends(clock: Clock) -> None:
    http = serving(tokens(clock))
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
    assert http.get("/api/v1/me").json()["name"] == "alice"
    assert http.get("/api/v1/overview").status_code == 200
    assert http.post("/api/v1/logout", headers=OURS).status_code == 204
    assert http.get("/api/v1/overview").status_code == 401


def test_the_cookie_is_only_for_the_pages_own_path_and_for_tls(clock: Clock) -> None:
    http = serving(tokens(clock, "https://page.example/clients/"), url="https://page.example")
    cookie = login(http, READER.secret).headers["set-cookie"].lower()
    assert "path=/clients/;" in cookie + ";"
    assert "secure" in cookie


def test_a_session_ends_and_another_copy_with_the_same_tokens_takes_it(clock: Clock) -> None:
    cookie = login(serving(tokens(clock)), READER.secret).cookies[COOKIE]
    other = serving(tokens(clock))
    other.cookies.set(COOKIE, cookie)
    assert other.get("/api/v1/me").json()["role"] == "reader"
    changed = serving(tokens(clock, "", Token("reader", "reader", "n" * 32)))
    changed.cookies.set(COOKIE, cookie)
    assert changed.get("/api/v1/me").json()["role"] is None
    clock.now += SESSION_SECONDS
    assert other.get("/api/v1/me").json()["role"] is None


@pytest.mark.parametrize("tamper", ["", ".", "x", "9" * 2_000, "{0}x", "x{0}", "9{0}", "é"])
def test_a_cookie_that_is_not_ours_opens_nothing(clock: Clock, tamper: str) -> None:
    cookie = login(serving(tokens(clock)), READER.secret).cookies[COOKIE]
    http = serving(tokens(clock))
    assert http.get("/api/v1/overview", headers=[(b"cookie", f"{COOKIE}={tamper.format(cookie)}".encode())]).status_code == 401


def test_wrong_tokens_are_refused_and_soon_not_even_looked_at(clock: Clock) -> None:
    http = serving(tokens(clock))
    for _ in range(10):
        response = login(http, "guess" * 5)
        assert response.status_code == 401
        assert "guess" not in response.text
    assert login(http, ADMIN.secret).status_code == 429
    clock.now += 61
    assert login(http, ADMIN.secret).status_code == 204


def behind(clock: Clock, address: str = "10.0.0.5") -> TestClient:
    return serving(Access((ADMIN, READER), clock=clock, trusted=[ip_network("10.0.0.0/24"), ip_network("fd00::5/128")]), address=address)


def came_by(http: TestClient, secret: str, *hops: str) -> int:
    sent = [("x-forwarded-for", hop) for hop in hops]
    return http.post("/api/v1/login", json={"token": secret}, headers=[*OURS.items(), *sent]).status_code


def test_f38_wrong_tokens_behind_a_proxy_lock_out_an_address_and_not_everyone(clock: Clock) -> None:
    http = behind(clock)
    for number in range(10):
        assert came_by(http, "guess" * 5, f"198.51.100.{number}, 203.0.113.7") == 401, "what the client writes itself stands further left"
    assert came_by(http, ADMIN.secret, "203.0.113.7") == 429
    assert came_by(http, ADMIN.secret, "203.0.113.7, 10.0.0.9") == 429, "two proxies"
    assert came_by(http, ADMIN.secret, "198.51.100.1, 203.0.113.7", "10.0.0.9") == 429, "two headers"
    assert came_by(http, ADMIN.secret, "203.0.113.7:5000") == 429
    assert came_by(http, ADMIN.secret, "::ffff:203.0.113.7") == 429
    for other in ("203.0.113.8", "203.0.113.7, 203.0.113.8", "203.0.113.7, nonsense", ""):
        assert came_by(http, ADMIN.secret, other) == 204
    assert came_by(http, ADMIN.secret) == 204, "the proxy itself"


def test_f38_nobody_but_a_trusted_proxy_says_where_a_request_comes_from(clock: Clock) -> None:
    http = behind(clock, address="203.0.113.7")
    for number in range(10):
        assert came_by(http, "guess" * 5, f"198.51.100.{number}") == 401
    assert came_by(http, ADMIN.secret, "198.51.100.99") == 429
    unnamed = serving(tokens(clock), address="10.0.0.5")
    for number in range(10):
        assert came_by(unnamed, "guess" * 5, f"198.51.100.{number}") == 401
    assert came_by(unnamed, ADMIN.secret, "198.51.100.99") == 429


def test_f38_with_ipv6_a_network_of_64_bits_is_one_address(clock: Clock) -> None:
    http = behind(clock, "fd00::5")
    for number in range(10):
        assert came_by(http, "guess" * 5, f"[2001:db8:1:2::{number}]:5000") == 401
    assert came_by(http, ADMIN.secret, "2001:db8:1:2:ffff::1") == 429
    assert came_by(http, ADMIN.secret, "2001:db8:1:3::1") == 204


def test_a_program_sends_its_token_with_each_request(clock: Clock) -> None:
    http = serving(tokens(clock), deciding=Deciding(lambda *written: None))
    bearer = {"authorization": f"Bearer {ADMIN.secret}"}
    assert http.get("/metrics", headers=bearer).status_code == 200
    body = {"resolution": "rotated", "why": "w"}
    assert http.post(f"/api/v1/findings/{1:032x}/close", json=body, headers=bearer).json()["by"] == "alice"
    reader = {"authorization": f"Bearer {READER.secret}"}
    assert http.post(f"/api/v1/findings/{1:032x}/close", json=body, headers=reader).status_code == 403
    for wrong in ("Bearer ", f"Basic {ADMIN.secret}", "Bearer x"):
        assert http.get("/metrics", headers={"authorization": wrong}).status_code == 401


PROXY = Proxy("X-Forwarded-User", [ip_network("10.0.0.5/32")], frozenset({"alice"}))


def test_a_proxys_word_counts_from_the_proxy_alone() -> None:
    access = Access(proxy=PROXY)
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


def test_a_host_from_elsewhere_is_answered_on_loopback_only_where_somebody_asks_who_it_is(clock: Clock) -> None:
    outside = "https://page.example/x/"
    assert serving(tokens(clock, outside), loopback_only=True).get("/api/v1/me").status_code == 200
    assert serving(tokens(clock, outside), loopback_only=True, url="http://evil.example").get("/api/v1/me").status_code == 421
    assert serving(Access(anyone=Visitor("me", "admin"), external_url=outside), loopback_only=True).get("/api/v1/me").status_code == 421


def test_the_origin_of_the_outer_address_is_ours(clock: Clock) -> None:
    http = serving(tokens(clock, "https://outer.example/x/"), url="http://inner.example")
    body = {"token": ADMIN.secret}
    assert http.post("/api/v1/login", json=body, headers={"origin": "https://outer.example"}).status_code == 204
    assert http.post("/api/v1/login", json=body, headers={"origin": "http://outer.example"}).status_code == 403


@pytest.mark.parametrize(
    "length", ["209715200", "00000000000209715200", "0" * 5_000 + "9", "9" * 5_000, "65537", "-1", "1e9", "0x10", "\u0661"]
)
def test_f45_a_length_is_compared_as_a_whole_number(clock: Clock, length: str) -> None:
    headers = [*((name.encode(), value.encode()) for name, value in OURS.items()), (b"content-length", length.encode())]
    answer = serving(tokens(clock)).post("/api/v1/login", content=b"{}", headers=headers)
    assert answer.status_code == (422 if length == "0" * 5_000 + "9" else 413)


def test_a_large_body_is_not_read(clock: Clock) -> None:
    http = serving(tokens(clock))
    assert http.post("/api/v1/login", content=b"x" * 70_000, headers=OURS).status_code == 413
    assert http.post("/api/v1/login", content=iter([b"x"]), headers=OURS).status_code == 413


def settings(**given: Any) -> ServeSettings:
    return ServeSettings.model_validate(given)


def written(path: Path, text: str, mode: int = 0o600) -> Path:
    path.write_text(text)
    path.chmod(mode)
    return path


def test_it_listens_to_others_only_with_tokens_or_a_proxy(tmp_path: Path) -> None:
    for host in ("0.0.0.0", "192.0.2.1", "::", "page.example"):  # noqa: S104
        with pytest.raises(SettingsError, match="have no authentication"):
            access_of(settings(), host)
    file = written(tmp_path / "admin", "# people\nalice " + "x" * 20 + "\n" + "y" * 20 + "\n")
    access = access_of(settings(admin_token_file=file), "0.0.0.0")  # noqa: S104
    http = serving(access)
    assert login(http, "x" * 20).status_code == 204
    assert http.get("/api/v1/me").json()["name"] == "alice"
    assert access_of(settings(proxy_user_header="X-User", trusted_proxies="10.0.0.5"), "192.0.2.1").authentication == "proxy"
    both = access_of(settings(admin_token_file=file, trusted_proxies="10.0.0.5"), "0.0.0.0")  # noqa: S104
    assert (both.authentication, both.address({"client": ("10.0.0.5", 1), "headers": [(b"x-forwarded-for", b"1.2.3.4")]})) == (
        "token",
        "1.2.3.4",
    )


def test_on_loopback_every_request_is_the_serving_user_by_default() -> None:
    me = serving(access_of(settings(), "127.0.0.1"), loopback_only=True, url="http://localhost").get("/api/v1/me").json()
    assert (me["role"], me["authentication"]) == ("admin", "none")
    assert me["name"]
    reader = access_of(settings(loopback_role="reader"), "127.0.0.1")
    assert serving(reader, loopback_only=True, url="http://localhost").get("/api/v1/me").json()["role"] == "reader"


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
    file = written(tmp_path / "tokens", text, mode)
    with pytest.raises(SettingsError, match=message) as caught:
        access_of(settings(reader_token_file=file), "127.0.0.1")
    assert "xxx" not in str(caught.value)


@pytest.mark.parametrize(
    "given",
    [
        {"proxy_user_header": "X-User"},
        {"trusted_proxies": "10.0.0.5"},
        {"proxy_user_header": "X-User", "trusted_proxies": "0.0.0.0/0"},
        {"reader_token_file": Path("/nowhere/tokens")},
        *(
            {"external_url": url}
            for url in ("page.example", "ftp://page.example", "https://me@page.example", "https://a.example/?a", "https://")
        ),
    ],
)
def test_half_of_it_is_refused(given: dict[str, Any]) -> None:
    with pytest.raises(ValueError if "external_url" in given else SettingsError):
        access_of(settings(**given), "127.0.0.1")
