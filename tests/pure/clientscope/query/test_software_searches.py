"""Searches for software, by the announced name and by the library underneath: one table for all evaluators, and searches that are shown."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from page_state import NOW_MS, found, live, opened, pushed, result
from past_tables import HOUR_MS, append, connection

from clientscope.api.gateway import GatewayConnection
from clientscope.profiles.client_patterns import ClientPattern
from clientscope.profiles.owners import NO_OWNERS, Owner, Owners
from clientscope.query import READINESS, parse
from clientscope.readiness.rows import JudgedClient
from clientscope.readiness.searching import searched
from clientscope.records.layouts import Kind
from clientscope.report.connections import matching
from sinks.dashboard.past import clients
from sinks.dashboard.past.tables import Span, Tables
from sinks.dashboard.state.state import State

ROOT = Path(__file__).parents[4]

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
RDKAFKA = {"python", "go", "dotnet", "javascript", "node-rdkafka"}
EVERYONE = {*ANNOUNCED}

CASES = {
    "software:librdkafka": RDKAFKA,
    "software:LIBRDKAFKA": RDKAFKA,
    "software:librd*": RDKAFKA,
    "software:librdkafka version:<9": RDKAFKA,
    "version:<9 software:librdkafka": RDKAFKA,
    "software:librdkafka version:>=2.16": {"python"},
    "software:librdkafka version:>2.16.0": set(),
    "software:librdkafka version:<2.6": {"go", "node-rdkafka"},
    "software:librdkafka version:>=2.5.3,<2.4": {"python", "go", "dotnet", "javascript", "node-rdkafka"},
    "software:librdkafka version:2.16.0": {"python"},
    "software:librdkafka version:2.16.1": set(),
    "software:librdkafka version:2.6.*": {"dotnet", "javascript"},
    "software:librdkafka -version:<2.6": {"python", "dotnet", "javascript"},
    "software:confluent-kafka-python": {"python"},
    "software:confluent-kafka-python version:<9": {"python"},
    "software:confluent-kafka-python version:>2.16.0": {"python"},
    "software:confluent-kafka-python version:2.16.1": {"python"},
    "software:confluent-kafka-python version:2.16.0": set(),
    "software:confluent-kafka-python version:2.16.1-rdkafka-2.16.0": {"python"},
    'software:confluent-kafka-python version:"2.16.1-rdkafka-2.16.0"': {"python"},
    "software:confluent-* version:<2": {"javascript"},
    "software:confluent-kafka-javascript version:v1.0.0": {"javascript"},
    "software:confluent-kafka-go version:v2.5.0": {"go"},
    "software:confluent-kafka-go version:>2.5.0": set(),
    "-software:librdkafka": EVERYONE - RDKAFKA,
    "-software:confluent-kafka-python": EVERYONE - {"python"},
    "software:confluent-kafka-python -software:librdkafka": set(),
    "-(software:librdkafka version:<2.6)": EVERYONE - {"go", "node-rdkafka"},
    "software:confluent-* -(software:librdkafka version:<2.6)": {"python", "dotnet", "javascript"},
    "software:librdkafka -(version:<2.4 OR version:>2.6)": {"go", "dotnet"},
    "software:librdkafka (version:<2.4 OR version:>2.6.1)": {"node-rdkafka", "python"},
    "software:librdkafka (client_id:go OR version:>2.6.1)": {"go", "python"},
    "(software:librdkafka OR software:sarama) version:<2.4": {"node-rdkafka", "sarama"},
    "(software:librdkafka version:<2.4) OR (software:sarama version:>1)": {"node-rdkafka", "sarama"},
    "software:librdkafka,sarama version:<2.4": {"node-rdkafka", "sarama"},
    "client_id:python software:librdkafka version:<9": {"python"},
    "version:2.6.*": {"dotnet", "javascript"},
    "-version:2.*": {"kgo", "kafka-python", "sarama", "unknown"},
    "version:unknown": {"unknown"},
    "software:java": {"java"},
    "software:apache-kafka-java version:<3": {"java"},
    "software:franz-go version:<2": {"kgo"},
    "software:kgo": {"kgo"},
    "software:unknown": {"unknown"},
    'software:""': set(),
    '-software:""': EVERYONE,
    "software:*": EVERYONE,
    "software:* version:>=2.16": {"python"},
    "software:nothing version:<9": set(),
}


def fleet() -> State:
    return live(
        *(
            opened(number, client_id=name, client_software_name=software, client_software_version=version)
            for number, (name, (software, version)) in enumerate(ANNOUNCED.items(), start=1)
        )
    )


FLEET = fleet()


def on_page(q: str) -> set[str | None]:
    return {client.client_id for client in FLEET.clients(100, q=q, now_ms=NOW_MS).items}


def in_connections_of_page(q: str) -> set[str | None]:
    return {each.client_id for each in FLEET.connections(100, q=q, now_ms=NOW_MS).items}


def on_command_line(q: str) -> set[str | None]:
    at = {"client_address": "10.0.0.1", "principal": None, "listener": "CLIENT", "security_protocol": "PLAINTEXT", "opened_ms": 0}
    every = [
        GatewayConnection(client_id=name, client_name=software, client_version=version, inferred=None, connection_id=1, **cast(Any, at))
        for name, (software, version) in ANNOUNCED.items()
    ]
    return {each.client_id for each in matching(every, [q])}


def in_readiness(q: str) -> set[str | None]:
    every = [
        JudgedClient(
            cast(Any, SimpleNamespace(readiness=SimpleNamespace(value="fine"))), name, "", "unknown software" if software == "unknown"
            else f"{software} {version}", "", False, "", "",
        )
        for name, (software, version) in ANNOUNCED.items()
    ]  # fmt: skip
    return {each.application for each in searched(every, parse(q.replace("client_id:", "application:"), READINESS))}


def past(folder: Path, *rows: dict[str, Any], owners: Owners = NO_OWNERS) -> Callable[[str], set[str | None]]:
    append(folder, "connections", rows)
    every = clients.clients(Tables(folder), Span(NOW_MS - 2 * HOUR_MS, NOW_MS), owners)
    return lambda q: {item["client_id"] for item in clients.page(every, q, "", 0, 100, NOW_MS)["items"]}


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], set[str | None]]:
    rows = [
        connection(NOW_MS - HOUR_MS, Kind.CLOSED, number, client_id=name, client_software_name=software, client_software_version=version)
        for number, (name, (software, version)) in enumerate(ANNOUNCED.items())
    ]
    return past(tmp_path_factory.mktemp("history"), *rows)


@pytest.mark.parametrize("evaluator", [on_page, in_connections_of_page, on_command_line, in_readiness])
@pytest.mark.parametrize(("q", "names"), CASES.items())
def test_finds_announced_name_and_library(q: str, names: set[str], evaluator: Callable[[str], set[str | None]]) -> None:
    assert evaluator(q) == names


@pytest.mark.parametrize(("q", "names"), CASES.items())
def test_finds_announced_name_and_library_in_history(q: str, names: set[str], history: Callable[[str], set[str | None]]) -> None:
    assert history(q) == names


OWNERS = Owners(((ClientPattern(principal=("User:anna*",)), Owner("payments", "")),))
JAVA = {"client_software_name": "apache-kafka-java", "client_software_version": "2.8.1", "principal": "User:anna-1", "client_id": "bills"}
ORDERS = {"client_software_name": "confluent-kafka-python", "client_software_version": "2.5.1-rdkafka-2.5.0", "client_id": "orders-1"}


def offered() -> set[str]:
    """Searches for clients in the page's hints, in commands' help and in docs, as far as they name software."""
    texts = [path.read_text("utf-8") for folder in ("clientscope", "sinks/dashboard") for path in (ROOT / folder).rglob("*.py")]
    texts += [
        path.read_text("utf-8").replace("+version", " version")
        for path in (ROOT / "README.md", *ROOT.glob("docs/*.md"))
        if path.stem != "benchmarks"
    ]
    texts += [path.read_text("utf-8") for path in ROOT.glob("sinks/dashboard/static/views/*.js")]
    term = r"""(?:-?[a-z_]+:[<>=]*[\w.*-]+|'[a-z_]+:[<>=]*[\w.*-]+')"""
    found = {match[0] for text in texts for match in re.finditer(rf"{term}(?: {term})*", text)}
    return {q.replace("'", "") for q in found if re.search(r"(?<![\w-])-?software:[a-z]", q)}


def examples(view: str, name: str) -> list[str]:
    """The searches that a view of the page offers."""
    text = (ROOT / f"sinks/dashboard/static/views/{view}.js").read_text("utf-8")
    return re.findall(r'"([^"]+)"', text[text.index(name) :].partition("[")[2].partition("]")[0])


def test_each_search_that_is_shown_finds_something(tmp_path: Path) -> None:
    who = {"client_id": "orders-1", "address": "10.0.0.1", "principal": None}
    records = [opened(number, broker_id=1, **ORDERS) for number in range(1, 13)]
    records += [opened(20, **JAVA), opened(21, client_id="gone"), opened(21, client_id="gone", kind=Kind.CLOSED, at_ms=NOW_MS - 5_000)]
    records += [found(1, code="AN101", severity="high", clients=[who], application=who)]
    records += [pushed(1, client_id="orders-1"), result(1, client_id="orders-1", rules=["AN101"])]
    state = live(*records, owners=OWNERS)
    rows = [connection(NOW_MS - HOUR_MS, Kind.CLOSED, number, **of) for number, of in enumerate((JAVA, ORDERS))]
    history = past(tmp_path, *rows, owners=OWNERS)
    of_clients, of_history = {*examples("clients", "EXAMPLES"), *offered()}, examples("history", '"": [')
    assert {"software:librdkafka version:<2.6", "software:apache-kafka-java version:<3"} <= of_clients and len(of_history) > 4
    assert {q for q in of_clients if not state.clients(10, q=q, now_ms=NOW_MS).items} == set()
    assert {q for q in of_history if not history(q)} == set()
