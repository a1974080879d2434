"""`clientscope clients`: what it shows of a real page, and what it says where there is none."""

from __future__ import annotations

import json
import re
import urllib.request
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

import alert_receivers
import pytest
from alert_receivers import status
from command_runs import Run
from golden import asked, is_golden, session
from page_state import NOW_MS, found, live, opened, pushed, result
from private_files import private
from served_page import serving

from clientscope.api.clients import ClientList, ClientRow
from clientscope.config import PageSettings
from clientscope.errors import EnvironmentProblem
from clientscope.local.process import free_port
from clientscope.report.api import Api
from clientscope.report.clients import FIELDS
from sinks.dashboard.http.access import Access, Token
from sinks.dashboard.state.known import TopicRecord

HOSTILE = "a\x1b[31mb[red]c"
SECRET = "0123456789abcdef0123"


def records() -> Iterator[TopicRecord]:
    yield opened(1, software_name="java", software_version="2.8.1")
    yield opened(2, client_id="other", address="10.0.0.2", software_name="java", software_version="4.4.0")
    yield opened(3, client_id=HOSTILE, address="10.0.0.3", software_name="go", software_version="1.0")
    yield pushed(0)
    yield result(0, rules=["AN101"])
    yield found(1)
    yield found(2, severity="low")
    yield found(3, severity="critical", confidence="low")
    yield found(4, state="closed")


@pytest.fixture(scope="module")
def page() -> Iterator[str]:
    with serving(live(*records()), at_ms=NOW_MS) as url:
        yield url


@pytest.fixture(scope="module")
def locked() -> Iterator[str]:
    with serving(live(*records()), at_ms=NOW_MS, access=Access([Token("ann", SECRET, "reader")])) as url:
        yield url


@pytest.fixture
def clients(clientscope: Run) -> Run:
    return lambda page, *flags: clientscope("clients", "--url", page, *flags)


def test_what_is_printed(page: str, clients: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Clients with what is wrong with each, by the search and in the formats of the API.

    Negated terms are no flags: -owner:… is not -o wner:….
    """
    monkeypatch.setenv("COLUMNS", "160")
    said = re.sub(r" +(SINCE|\d+ (?:s|min|h|d)\b)", " SINCE", session(lambda *words: clients(page, *words), asked(__file__, "clients.txt")))
    assert "\x1b" not in said and is_golden(said, __file__, "clients.txt")
    assert clients(page, "-x").status == 2


def test_a_page_that_wants_a_token(locked: str, tmp_path: Path, clients: Run) -> None:
    assert "hint: --token-file" in clients(locked).failed
    token = private(tmp_path / "token", SECRET, 0o644)
    assert "every user of this machine may use it" in clients(locked, "--token-file", str(token)).refused
    token.chmod(0o600)
    assert len(clients(locked, "--token-file", str(token), "-o", "name").printed.splitlines()) == 3


def test_nobody_answers(clients: Run) -> None:
    assert "error: no clientscope serve answers" in clients(f"http://127.0.0.1:{free_port()}").failed


def answered(content: bytes) -> ClientList:
    """What a server's answer to one request for clients is taken for."""

    with alert_receivers.serving(always=status(200, content)) as server:
        return Api(PageSettings(url=f"http://127.0.0.1:{server.port}")).get("clients", {}, ClientList)


CLIENTS = {"version": 1, "feed": "live", "total": 0, "items": []}


def test_what_a_later_release_adds_to_an_answer_is_ignored() -> None:
    assert answered(json.dumps({**CLIENTS, "later": {"more": 1}}).encode()).total == 0


@pytest.mark.parametrize(
    ("content", "field"),
    [
        ({**CLIENTS, "items": [{HOSTILE: HOSTILE}]}, "items: missing"),
        ({**CLIENTS, "total": HOSTILE}, "total: int_parsing"),
        ({**CLIENTS, "feed": HOSTILE}, "feed: literal_error"),
        ([HOSTILE], "as a whole: dataclass_type"),
    ],
)
def test_an_answer_of_another_form_is_refused_and_never_quoted(content: object, field: str) -> None:
    with pytest.raises(EnvironmentProblem) as caught:
        answered(json.dumps(content).encode())
    assert field in str(caught.value) and "release" in (caught.value.hint or "")
    assert HOSTILE not in str(caught.value)


@pytest.mark.parametrize("content", [b"<!doctype html><p>something else", b"\xff", b"", b"[" * 100_000])
def test_what_is_no_json_comes_from_no_clientscope(content: bytes) -> None:
    with pytest.raises(EnvironmentProblem, match=r"no clientscope serve answers at .*: the answer is no JSON"):
        answered(content)


def test_what_commands_print_is_what_the_api_says(page: str, clients: Run) -> None:
    with urllib.request.urlopen(f"{page}/api/v1/clients?limit=10") as response:
        said = json.load(response)["items"]
    assert json.loads(clients(page, "-o", "json").printed) == said
    assert {field.partition(".")[0] for field in FIELDS} <= {field.name for field in fields(ClientRow)}


def test_a_narrow_terminal_has_fewer_columns_rather_than_folded_names(page: str, clients: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    headings, *rows = clients(page).printed.splitlines()
    assert headings.split() == ["CLIENT.ID", "SOFTWARE", "VERSION", "CONNECTIONS", "SINCE", "FINDINGS"] and len(rows) == 3
    monkeypatch.delenv("COLUMNS")
    assert "10.0.0.2" in clients(page).printed, "a pipe is as wide as it needs to be"
