"""Headers on every answer, and the Host names that a loopback server answers to."""

from __future__ import annotations

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from sinks.dashboard.http.access import LOCAL
from sinks.dashboard.http.security import HEADERS, SecurityMiddleware, is_loopback


def client(loopback_only: bool) -> TestClient:
    app = Starlette()
    app.add_middleware(SecurityMiddleware, loopback_only=loopback_only, access=LOCAL)
    return TestClient(app)


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST", "localhost.", "127.0.0.1", "127.8.9.1", "[::1]", "::1"])
def test_loopback_names(host: str) -> None:
    assert is_loopback(host)


@pytest.mark.parametrize("host", ["", "evil.example", "localhost.evil.example", "127.0.0.1.nip.io", "0.0.0.0", "10.0.0.1", "2130706433"])  # noqa: S104
def test_other_names(host: str) -> None:
    assert not is_loopback(host)


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("127.0.0.1:8324", 404),
        ("localhost", 404),
        ("[::1]:8324", 404),
        ("evil.example", 421),
        ("evil.example:8324", 421),
        ("127.0.0.1:8324.evil.example", 421),
        ("", 421),
    ],
)
def test_only_a_loopback_host_is_answered(host: str, status: int) -> None:
    assert client(True).get("/", headers={"host": host}).status_code == status
    assert client(False).get("/", headers={"host": host}).status_code == 404


def test_two_hosts_are_none() -> None:
    response = client(True).get("/", headers=[("host", "localhost"), ("host", "evil.example")])
    assert response.status_code == 421


@pytest.mark.parametrize("host", ["localhost", "evil.example"])
def test_every_answer_carries_the_headers(host: str) -> None:
    response = client(True).get("/nothing", headers={"host": host})
    assert {name: response.headers[name] for name in HEADERS} == HEADERS


def test_the_policy_allows_nothing_inline_and_nothing_from_elsewhere() -> None:
    policy = HEADERS["content-security-policy"]
    assert "unsafe" not in policy
    assert "http" not in policy
    assert "*" not in policy
    for directive in ("default-src 'none'", "script-src 'self'", "style-src 'self'", "frame-ancestors 'none'"):
        assert directive in policy.split("; ")
