"""Headers on every answer, and the Host names that a loopback server answers to."""

from __future__ import annotations

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from sinks.dashboard.http.access import LOCAL
from sinks.dashboard.http.security import HEADERS, SecurityMiddleware


def client(loopback_only: bool) -> TestClient:
    app = Starlette()
    app.add_middleware(SecurityMiddleware, loopback_only=loopback_only, access=LOCAL)
    return TestClient(app)


@pytest.mark.parametrize(
    ("hosts", "loopback"),
    [
        *(([host], True) for host in ("localhost", "LOCALHOST", "localhost.", "127.0.0.1:8324", "127.8.9.1", "[::1]", "[::1]:8324")),
        *(([host], False) for host in ("", "evil.example:8324", "localhost.evil.example", "127.0.0.1.nip.io", "0.0.0.0", "2130706433")),  # noqa: S104
        (["127.0.0.1:8324.evil.example"], False),
        (["localhost", "evil.example"], False),
    ],
)
def test_only_a_loopback_host_is_answered(hosts: list[str], loopback: bool) -> None:
    headers = [("host", host) for host in hosts]
    assert client(True).get("/", headers=headers).status_code == (404 if loopback else 421)
    assert client(False).get("/", headers=headers).status_code == 404


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
