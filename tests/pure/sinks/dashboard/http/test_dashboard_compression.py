"""Compressed answers, and HEAD, of the whole application: what is compressed, for which requests, and what never is."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from page_state import browser, found, live, opened, pushed, result

GZIP = {"accept-encoding": "br, gzip;q=0.8"}
MANY = [opened(number, client_id=f"app-{number}", address=f"10.0.0.{number}") for number in range(1, 40)]


@pytest.fixture(scope="module")
def client() -> TestClient:
    state = live(*MANY, pushed(1), result(1, rules=["AN101"]), *(found(number) for number in range(1, 30)))
    return browser(state, stopping=lambda: True, data_docs_dir=Path("none"))


@pytest.mark.parametrize("path", ["/static/vendor/uPlot.js", "/static/styles/base.css"])
def test_a_file_is_compressed_for_those_who_take_it(client: TestClient, path: str) -> None:
    with client.stream("GET", path, headers=GZIP) as answer:
        raw = b"".join(answer.iter_raw())
    assert answer.headers["content-encoding"] == "gzip"
    assert int(answer.headers["content-length"]) == len(raw)
    plain = client.get(path, headers={"accept-encoding": "identity"})
    assert "content-encoding" not in plain.headers
    assert gzip.decompress(raw) == plain.content
    assert len(raw) < len(plain.content) / 2
    assert "accept-encoding" in answer.headers["vary"].lower() and "accept-encoding" in plain.headers["vary"].lower()


@pytest.mark.parametrize("path", ["clients", "findings", "results", "clients/export?format=json", "history", "me", "events"])
def test_what_is_of_clients_or_of_the_user_is_not(client: TestClient, path: str) -> None:
    assert "content-encoding" not in client.get(f"/api/v1/{path}", headers=GZIP).headers


def test_head_is_get_without_a_body(client: TestClient) -> None:
    for path in ("/", "/static/app.js", "/api/v1/clients", "/healthz", "/metrics"):
        head, get = client.head(path), client.get(path)
        assert (head.status_code, head.content) == (get.status_code, b"")
        assert head.headers["content-type"] == get.headers["content-type"]
    assert client.head("/nothing").status_code == 404
    assert client.head("/api/v1/clients?q=nope:1").status_code == 400
    stream = client.head("/api/v1/events")
    assert (stream.status_code, stream.content) == (200, b"")
    assert stream.headers["content-type"].startswith("text/event-stream")
    assert client.head("/api/v1/login").status_code == 405


def test_a_file_that_has_not_changed_is_not_sent_again(client: TestClient) -> None:
    first = client.get("/static/app.js", headers=GZIP)
    again = client.get("/static/app.js", headers={**GZIP, "if-none-match": f'"other", {first.headers["etag"]}'})
    assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", first.headers["etag"])
    assert again.headers["cache-control"] == "no-cache"
    assert client.get("/static/app.js", headers={"if-none-match": 'W/"other"'}).status_code == 200


def test_policies_of_documents_are_on_documents(client: TestClient) -> None:
    assert "content-security-policy" in client.get("/").headers
    assert "content-security-policy" in client.get("/static/icon.svg").headers
    part = client.get("/static/app.js").headers
    assert "content-security-policy" not in part
    assert (part["x-content-type-options"], part["cross-origin-resource-policy"]) == ("nosniff", "same-origin")
