"""Commands where every bootstrap server refuses connections: they end at once, with a sentence."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

import pytest
from command_runs import Run
from golden import cases
from kafka.net.manager import KafkaConnectionManager


@pytest.fixture(autouse=True)
def _no_second_try(monkeypatch: pytest.MonkeyPatch) -> None:
    """kafka-python, which tries a refused address again until its time is up, gets no turn."""

    def bootstrap(*_: Any, **__: Any) -> None:
        pytest.fail("kafka-python was started")

    monkeypatch.setattr(KafkaConnectionManager, "bootstrap", bootstrap)
    monkeypatch.setattr(KafkaConnectionManager, "bootstrap_async", bootstrap)


@pytest.fixture
def nobody() -> str:
    with socket.create_server(("127.0.0.1", 0)) as bound:
        return f"127.0.0.1:{bound.getsockname()[1]}"


@pytest.mark.parametrize(("words", "status"), cases(__file__, "of_topics.txt"))
def test_refused_everywhere_ends_at_once(clientscope: Run, nobody: str, words: str, status: str) -> None:
    said = clientscope(*words.split(), "--bootstrap-servers", f"{nobody},nosuch.invalid:9092")
    reason = f"({nobody} refuses connections; nosuch.invalid has no address)"
    assert said.status == int(status) and reason in said.err and "hint: is the broker up" in said.err


def test_push_to_nobody_ends_at_once(clientscope: Run, nobody: str) -> None:
    Path("c.properties").write_text(f"bootstrap.servers={nobody}\nclient.id=till\n")
    assert clientscope("push", "--properties", "c.properties").failed == (
        f"error: not pushed: {nobody} refuses connections\nhint: start the gateway, or check the addresses\n"
    )


def test_one_that_listens_is_enough(clientscope: Run, nobody: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent, pytest.raises(pytest.fail.Exception, match="kafka-python was started"):
        clientscope("topics", "--bootstrap-servers", f"{nobody},127.0.0.1:{silent.getsockname()[1]}")
