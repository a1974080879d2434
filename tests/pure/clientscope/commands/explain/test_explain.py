"""The command ``clientscope explain``."""

from __future__ import annotations

import json
from typing import Any

from command_runs import Run


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


def test_a_setting_that_is_gone(clientscope: Run) -> None:
    out = clientscope("explain", "auto.include.jmx.reporter", "--software", "java").printed
    assert "since 4.0.0: gone" in out
    assert "deprecated" in out


def test_a_sensitive_one_says_so(clientscope: Run) -> None:
    assert all(each["sensitive"] for each in explained(clientscope, "sasl.jaas.config"))
    assert not any(each["sensitive"] for each in explained(clientscope, "linger.ms"))


def test_what_nobody_knows_has_a_hint(clientscope: Run) -> None:
    assert "did you mean linger.ms" in clientscope("explain", "linger.msec").refused
