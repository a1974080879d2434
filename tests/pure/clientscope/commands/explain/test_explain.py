"""The command ``clientscope explain``."""

from __future__ import annotations

import json
from typing import Any

import pytest
from command_runs import Run
from every import every


def explained(clientscope: Run, *arguments: str) -> Any:
    return json.loads(clientscope("explain", *arguments, "-o", "json").printed)


def test_every_library_that_has_the_setting_is_there(clientscope: Run) -> None:
    found = {each["library"]: each["name"] for each in explained(clientscope, "linger.ms")}
    assert found == {
        "java": "linger.ms",
        "librdkafka": "linger.ms",
        "kafka-python": "linger_ms",
        "aiokafka": "linger_ms",
        "franz-go": "ProducerLinger",
        "sarama": "Producer.Flush.Frequency",
    }
    sensitive = {key: {each["sensitive"] for each in explained(clientscope, key)} for key in ("linger.ms", "sasl.jaas.config")}
    assert sensitive == {"linger.ms": {False}, "sasl.jaas.config": {True}}


def test_its_history_is_that_of_the_releases(clientscope: Run) -> None:
    (java,) = explained(clientscope, "acks", "--software", "java")
    assert [(each["since"], each["default"]) for each in java["history"]["producer"]] == [(None, "1"), ("3.0.0", "all")]
    assert java["history"]["producer"][0]["allowed"] == "all, -1, 0 or 1"
    assert "CF103 value_not_allowed" not in java["rules"]
    assert "AN101 acks_zero" in java["rules"]


def test_a_release_has_what_holds_in_it(clientscope: Run) -> None:
    (found,) = explained(clientscope, "enable.metrics.push", "--software", "librdkafka", "--software-version", "2.5.0")
    assert [period["default"] for periods in found["history"].values() for period in periods] == ["true"]
    (before,) = explained(clientscope, "enable.metrics.push", "--software", "librdkafka", "--software-version", "2.4.0")
    assert before["history"] == {}


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        ("auto.include.jmx.reporter --software java", 0, ["since 4.0.0: gone", "deprecated"]),
        ("linger.msec", 2, ["did you mean linger.ms"]),
        ("an101", 2, ["hint: that is a rule: clientscope rules an101"]),
        ("acks --software java", 0, ["since 2.0.0 or earlier: string; default 1; allowed: all, -1, 0 or 1\n", "since 3.0.0: string;"]),
    ],
)
def test_a_setting_that_is_gone_or_that_nobody_knows(words: str, status: int, said: list[str], clientscope: Run) -> None:
    found = clientscope("explain", *words.split())
    assert found.status == status and all(text in found.out + found.err for text in every(said))
