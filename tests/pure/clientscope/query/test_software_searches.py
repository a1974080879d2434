"""Searches for software, by the announced name and by the library underneath: one table for both evaluators."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from golden import cases
from page_state import NOW_MS, opened

from clientscope.api.gateway import GatewayConnection
from clientscope.report.connections import matching
from sinks.dashboard.state.state import State

ANNOUNCED = {
    "python": ("confluent-kafka-python", "2.16.1-rdkafka-2.16.0"),
    "go": ("confluent-kafka-go", "v2.5.0-rdkafka-2.5.3"),
    "dotnet": ("confluent-kafka-dotnet", "2.6.0"),
    "javascript": ("confluent-kafka-javascript", "v1.0.0-librdkafka-2.6.1"),
    "node-rdkafka": ("librdkafka", "2.3.0"),
    "java": ("apache-kafka-java", "2.8.1"),
    "sarama": ("sarama", "1.43.0"),
    "kgo": ("kgo", "1.18.0"),
    "kafka-python": ("kafka-python", "1.9"),
    "unknown": ("unknown", "unknown"),
}


@pytest.fixture(scope="module")
def searches() -> list[Callable[[str], set[str | None]]]:
    """The page's clients in SQL, and a gateway's connections on the command line in memory."""
    state, every = State(), []
    at = {"client_address": "10.0.0.1", "principal": None, "listener": "CLIENT", "security_protocol": "PLAINTEXT", "opened_ms": 0}
    for number, (name, (software, version)) in enumerate(ANNOUNCED.items()):
        state.apply([opened(number, client_id=name, software_name=software, software_version=version)])
        made = {"client_id": name, "client_name": software, "client_version": version, "inferred": None, "connection_id": 1}
        every.append(GatewayConnection(**made, **at))  # type: ignore[arg-type]
    state.live()
    return [
        lambda q: {client.client_id for client in state.clients(100, q=q, now_ms=NOW_MS).items},
        lambda q: {each.client_id for each in matching(every, [q])},
    ]


@pytest.mark.parametrize(("q", "names"), cases(__file__, "software.txt"))
def test_finds_announced_name_and_library(q: str, names: str, searches: list[Callable[[str], set[str | None]]]) -> None:
    assert [search(q) for search in searches] == [set(names.split())] * 2
