"""The line of a finding is that of the setting that it is about, with the value that stands there."""

from __future__ import annotations

import re

import pytest
from command_runs import Document
from golden import cases

from udfs.rules.engine.rule import FIRED, Case, Rule
from udfs.rules.registry import RULES

FIRING = [(rule, case) for rule in RULES for case in rule.cases if case.outcome == FIRED and any(case.settings.values())]


@pytest.mark.parametrize(("rule", "case"), FIRING, ids=[rule.code for rule, _ in FIRING])
def test_finding_is_at_the_line_of_the_setting_that_it_names_first(lint: Document, rule: Rule, case: Case) -> None:
    settings = {**case.settings, "bootstrap.servers": "b:9092"}
    lines = [f"{key}={value}" for key, value in settings.items()]
    library = ["--dialect", case.software] if case.software in ("librdkafka", "kafka-python", "aiokafka", "sarama") else []
    report = lint("a.properties", "\n".join(lines), "--software-version", case.version, *library)
    for found in report["findings"]:
        if found["line"] is None:
            continue
        about = found["settings"][0]
        is_hidden = "redacted" in about["value"] and rule.code in ("AN311", "CF109", "SK001", "SK002", "SK004", "SK005")
        assert f"{about['key']}={about['value']}" == lines[found["line"] - 1] or is_hidden
        assert about["origin"] == "set" and about["line"] == found["line"]
        named = [name for name in re.findall(r"[\w.]*\w", found["message"]) if name in settings]
        assert not named or named[0] == about["key"]


def test_says_what_is_in_effect_in_place_of_what_the_file_has(lint: Document) -> None:
    report = lint("a.properties", "enable.idempotence=true\nacks=1\n")
    (found,) = [each for each in report["findings"] if each["code"] == "AN105"]
    assert [(each["key"], each["value"], each["origin"], each["note"]) for each in found["settings"]] == [
        ("enable.idempotence", "true", "set", "in effect: false"),
        ("max.in.flight.requests.per.connection", "5", "default", None),
        ("retries", "2147483647", "default", None),
    ]


@pytest.mark.parametrize(("code", "line"), cases(__file__, "quoted.txt"))
def test_short_word_or_number_of_a_known_setting_is_quoted(lint: Document, code: str, line: str) -> None:
    report = lint("a.properties", f"acks=all\n{line}\n")
    found = [f"{each['settings'][0]['key']}={each['settings'][0]['value']}" for each in report["findings"] if each["code"] == code]
    assert found == [line]


@pytest.mark.parametrize("line", ["ssl.key.password=1234", "sasl.pin=1234", "ssl.keystore.key=true"])
def test_number_under_another_key_may_be_one(lint: Document, line: str) -> None:
    assert line.partition("=")[2] not in str([each["settings"] for each in lint("a.properties", f"acks=0\n{line}\n")["findings"]])
