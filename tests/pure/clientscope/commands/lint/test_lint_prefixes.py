"""Settings under the prefixes of Kafka Connect, Kafka Streams, Spring Boot and Quarkus: their clients, and that no default is judged."""

from __future__ import annotations

from typing import Any

import pytest
from command_runs import Document
from golden import cases, is_golden, texts
from lint_reports import judged

from clientscope.catalog.configs import ClientType
from clientscope.catalog.frameworks import clients
from clientscope.commands.lint.findings import MOST, read_comments
from clientscope.profiles.client_patterns import ClientPattern
from clientscope.profiles.suppressions import ENDLESS, Suppression


def codes(document: dict[str, Any]) -> set[str]:
    return {finding["code"] for finding in document["findings"]}


@pytest.mark.parametrize(("name", "client_type", "kafka_name"), cases(__file__, "prefixes.txt"))
def test_a_prefix_says_whose_it_is(name: str, client_type: str, kafka_name: str) -> None:
    (group,) = clients({name: "1"})
    assert (group.client_type, dict(group.names)) == (ClientType(client_type), {kafka_name: name})


CONNECTS = {
    "acks": "1", "retries": "0", "max.in.flight.requests.per.connection": "10", "linger.ms": "5",
}  # fmt: skip
"""Beside Connect's own enable.idempotence=false (Worker.baseProducerConfigs) the producer starts with all of these."""


@pytest.mark.parametrize("prefix", ["producer.", "producer.override."])
@pytest.mark.parametrize("version", ["3.9.2", "4.1.0", ""])
def test_what_a_frameworks_own_setting_allows_is_not_refused(prefix: str, version: str, lint: Document) -> None:
    text = "".join(f"{prefix}{key}={value}\n" for key, value in CONNECTS.items()) + "consumer.override.enable.auto.commit=true\n"
    if prefix == "producer.override.":  # Debezium's connectors are configured so
        text += "connector.class=io.debezium.connector.postgresql.PostgresConnector\n"
    flags = ["--software-version", version] if version else []
    document = lint("x.properties", text, *flags)
    assert not {"CF104", "AN102", "AN104"} & codes(document)
    said = codes(lint("x.properties", f"{text}{prefix}enable.idempotence=true\n", *flags))
    assert "CF104" in said, "with that, the producer does refuse"


def test_the_same_leak_of_two_clients_is_two_findings(lint: Document) -> None:
    document = lint(
        "x.properties",
        "producer.ssl.key.password=hunter2\nproducer.acks=all\nconsumer.ssl.key.password=hunter2\nconsumer.group.id=g\n",
    )
    leaks = [finding for finding in document["findings"] if finding["code"] == "SK001"]
    assert [finding["line"] for finding in leaks] == [1, 3]
    assert len({finding["fingerprint"] for finding in leaks}) == 2


def test_finds_in_each_kind_of_file(lint: Document) -> None:
    """Each begins in the text with a line that has its title, its name and flags of the command."""
    text = ""
    for title, name, *flags, source in texts(__file__, "files.txt"):
        text += f"{title}\n{judged(lint(name, source, *' '.join(flags).split()))}\n"
    assert "canary" not in text and is_golden(text, __file__, "files.txt")


def test_comments_are_bounded_and_a_value_of_a_properties_file_is_none() -> None:
    ignored, notes = read_comments("a.yaml", b"# clientscope: ignore[CF103] why\nacks=2\n" * (MOST + 5), "yaml")
    first = (2, Suppression("CF103", ClientPattern(), "why", ENDLESS, "a.yaml:1"))
    assert (len(ignored), ignored[0], len(notes)) == (MOST, first, 1)
    assert read_comments("a.properties", b"client.id=a # clientscope: ignore[CF103] b\n", "properties") == ([], [])
