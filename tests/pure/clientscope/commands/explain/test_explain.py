"""The command ``clientscope explain``."""

from __future__ import annotations

import json
from typing import Any

import pytest

from clientscope.cli import main


def explained(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    assert main(["explain", *arguments, "-o", "json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_every_library_that_has_the_setting_is_there(capsys: pytest.CaptureFixture[str]) -> None:
    found = {each["library"]: each["name"] for each in explained(capsys, "linger.ms")}
    assert found == {
        "java": "linger.ms",
        "librdkafka": "linger.ms",
        "kafka-python": "linger_ms",
        "aiokafka": "linger_ms",
        "franz-go": "ProducerLinger",
        "sarama": "Producer.Flush.Frequency",
    }


def test_its_history_is_that_of_the_releases(capsys: pytest.CaptureFixture[str]) -> None:
    (java,) = explained(capsys, "acks", "--software", "java")
    assert [(each["since"], each["default"]) for each in java["history"]["producer"]] == [(None, "1"), ("3.0.0", "all")]
    assert java["history"]["producer"][0]["allowed"] == "all, -1, 0 or 1"
    assert "CF103 value_not_allowed" not in java["rules"]
    assert "AN101 acks_zero" in java["rules"]


def test_a_release_has_what_holds_in_it(capsys: pytest.CaptureFixture[str]) -> None:
    (found,) = explained(capsys, "enable.metrics.push", "--software", "librdkafka", "--software-version", "2.5.0")
    assert [period["default"] for periods in found["history"].values() for period in periods] == ["true"]
    (before,) = explained(capsys, "enable.metrics.push", "--software", "librdkafka", "--software-version", "2.4.0")
    assert before["history"] == {}


def test_a_setting_that_is_gone(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "auto.include.jmx.reporter", "--software", "java"]) == 0
    out = capsys.readouterr().out
    assert "since 4.0.0: gone" in out
    assert "deprecated" in out


def test_a_sensitive_one_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert all(each["sensitive"] for each in explained(capsys, "sasl.jaas.config"))
    assert not any(each["sensitive"] for each in explained(capsys, "linger.ms"))


def test_what_nobody_knows_has_a_hint(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "linger.msec"]) == 2
    assert "did you mean linger.ms" in capsys.readouterr().err
