"""Data Docs as they are served: only pages, only from their folder, and shut off from everything."""

from __future__ import annotations

from pathlib import Path

import pytest
from every import every
from page_state import browser
from starlette.testclient import TestClient

from sinks.dashboard.http.middleware import HEADERS
from sinks.dashboard.state.state import State


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "history" / "data-docs"


@pytest.fixture
def client(folder: Path) -> TestClient:
    return browser(State(), data_docs_dir=folder)


def test_without_docs_there_is_nothing(client: TestClient) -> None:
    assert client.get("/api/v1/data-docs").json() == {"built_ms": None}
    assert client.get("/data-docs/").status_code == 404


def test_pages_are_served_under_a_policy_of_their_own(client: TestClient, folder: Path) -> None:
    folder.mkdir(parents=True)
    for name in ("index.html", "clientscope.configs-20270115T080000Z-failed.html"):
        (folder / name).write_text(name)
    assert client.get("/api/v1/data-docs").json()["built_ms"] == int((folder / "index.html").stat().st_mtime * 1000)
    assert client.get("/data-docs").url.path == "/data-docs/"
    for path, text in (("", "index.html"), ("index.html", "index.html"), ("clientscope.configs-20270115T080000Z-failed.html",) * 2):
        answer = client.get(f"/data-docs/{path}")
        assert (answer.status_code, answer.text, answer.headers["content-type"]) == (200, text, "text/html; charset=utf-8")
        policy = answer.headers["content-security-policy"].split("; ")
        assert policy[:3] == ["sandbox", "default-src 'none'", "style-src 'unsafe-inline'"]
        assert not any("script" in each or "self" in each or "http" in each for each in every(policy))
        others = [name for name in HEADERS if name != "content-security-policy"]
        assert {name: answer.headers[name] for name in others} == {name: HEADERS[name] for name in others}
    assert client.get("/").headers["content-security-policy"] == HEADERS["content-security-policy"]


@pytest.mark.parametrize(
    "name",
    [
        "..%2Fpushes.html",
        "%2e%2e%2fpushes.html",
        "sub%2Fa.html",
        "a.txt",
        ".html",
        "a..html",
        "-a.html",
        "a.html.part",
        "a%00.html",
        "%2Fetc.html",
    ],
)
def test_nothing_else_is_served(client: TestClient, folder: Path, name: str) -> None:
    (folder / "sub").mkdir(parents=True)
    for path in (folder.parent / "pushes.html", folder / "sub" / "a.html", folder / "a.txt", folder / ".html", folder / "a.html.part"):
        path.write_text("secret")
    answer = client.get(f"/data-docs/{name}")
    assert (answer.status_code, "secret" in answer.text) == (404, False)
