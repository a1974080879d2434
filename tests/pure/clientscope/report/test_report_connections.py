"""report: search, table and columns of ``clientscope connections``."""

from __future__ import annotations

from typing import Any

import pytest
from alert_receivers import serving, status
from command_runs import Run
from golden import asked, cases, is_golden, session
from printed import printed

from clientscope.api.gateway import GATEWAY_CONNECTIONS, GatewayConnection
from clientscope.errors import EnvironmentProblem
from clientscope.model.codec import adapter
from clientscope.report.connections import fetch, table
from clientscope.report.text import age


def connection(name: str, version: str, client_id: str | None = "app", **more: Any) -> GatewayConnection:
    values = {
        "ClientId": client_id, "ClientName": name, "ClientVersion": version, "Inferred": None, "ClientAddress": "10.0.0.7",
        "Principal": None, "Listener": "CLIENT", "SecurityProtocol": "PLAINTEXT", "ConnectionId": 1, "OpenedMs": 0, **more,
    }  # fmt: skip
    return adapter(GatewayConnection).validate_python(values)


ALL = [
    connection("librdkafka", "2.3.0"),
    connection("apache-kafka-java", "3.9.2", "orders-1", Principal="User:alice"),
    connection("apache-kafka-java", "2.8.1", "orders-2"),
    connection("unknown", "unknown", None),
]


def shown(connections: list[GatewayConnection]) -> str:
    return printed(table(connections, 3600 * 5), 140)


def test_the_table_marks_what_is_inferred() -> None:
    text = shown([connection("unknown", "unknown", "fr", Inferred=["franz-go", "1.22"]), *ALL])
    assert "5 connections" in text
    assert "franz-go (inferred)  1.22" in text
    assert "5 h" in text


def test_hostile_names_are_text_alone() -> None:
    text = shown([connection("[red]x[/red]\x1b[31m", "1\n2", "\u202eevil")])
    assert "[red]x[/red]�[31m" in text
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert len(text.splitlines()) == 3


@pytest.mark.parametrize(("seconds", "text"), cases(__file__, "ages.txt"))
def test_ages(seconds: str, text: str) -> None:
    assert age(float(seconds)) == text


def test_nobody_there_is_said() -> None:
    with pytest.raises(EnvironmentProblem, match=r"no gateway answers at 127\.0\.0\.1:1"):
        fetch("127.0.0.1:1")


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        (b'[{"ClientName": "canary-1"}]', r"another form \(ClientId: missing\)"),
        (b'{"canary-1": 1}', r"another form \(as a whole: list_type\)"),
        (b"canary-1", r"another form \(as a whole: json_invalid\)"),
    ],
)
def test_an_answer_of_another_form_is_said_and_not_quoted(body: bytes, problem: str) -> None:
    with serving(always=status(200, body)) as server, pytest.raises(EnvironmentProblem, match=problem) as caught:
        fetch(f"127.0.0.1:{server.port}")
    assert "canary" not in str(caught.value)


def test_a_gateways_connections_are_searched_as_in_every_list(clientscope: Run) -> None:
    with serving(always=status(200, GATEWAY_CONNECTIONS.dump_json(ALL, by_alias=True))) as server:
        admin = ("connections", "--admin", f"127.0.0.1:{server.port}", "-o", "csv", "--columns", "ClientId")
        said = session(lambda *words: clientscope(*admin, *words), asked(__file__, "connections.txt"))
        assert is_golden(said, __file__, "connections.txt")
