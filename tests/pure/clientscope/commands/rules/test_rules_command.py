"""``clientscope rules``: the search of every list, its formats, and a rule that is explained."""

from __future__ import annotations

import csv
import io
import json

import pytest

from clientscope import cli
from udfs.rules.registry import EVERY_RULE


def names(capsys: pytest.CaptureFixture[str], *words: str) -> list[str]:
    assert cli.main(["rules", "-o", "name", *words]) == 0
    return capsys.readouterr().out.split()


def test_all_are_listed_unless_something_is_searched_for(capsys: pytest.CaptureFixture[str]) -> None:
    assert names(capsys) == [rule.code for rule in EVERY_RULE]
    assert names(capsys, "risk:secret", "severity:critical") == ["SK001", "SK002"]
    assert names(capsys, "key:acks OR code:SK001") == ["AN101", "AN102", "AN116", "SK001"]
    assert set(names(capsys, "type:consumer", "-type:producer")) < {rule.code for rule in EVERY_RULE}
    assert names(capsys, "name:acks_*") == ["AN101", "AN116"]
    assert "AN101" in names(capsys, "acknowledgement") or "AN101" in names(capsys, "acks"), "words are in its documentation"
    assert names(capsys, "library:sarama", "code:AN101") == names(capsys, "AN101") == ["AN101"]


def test_formats(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "140")
    assert cli.main(["rules", "key:acks", "-o", "csv", "--columns", "code,severity,risks", "--sort=-severity,-code", "--limit", "2"]) == 0
    rows = list(csv.reader(io.StringIO(capsys.readouterr().out)))
    assert rows[0] == ["code", "severity", "risks"] and [row[0] for row in rows[1:]] == ["AN102", "AN101"]
    assert cli.main(["rules", "risk:loss"]) == 0
    headings, first, *_ = capsys.readouterr().out.splitlines()
    assert headings.split()[:4] == ["CODE", "SEVERITY", "RISKS", "NAME"] and first.split()[:4] == ["AN101", "high", "loss", "acks_zero"]
    assert cli.main(["rules", "AN101", "-o", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["code"] == "AN101", "one rule is one object"
    assert cli.main(["rules", "code:AN101", "-o", "json"]) == 0
    assert [rule["code"] for rule in json.loads(capsys.readouterr().out)] == ["AN101"]


@pytest.mark.parametrize("name", ["AN101", "an101", "acks_zero", "acks-zero"])
def test_one_is_explained(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["rules", name]) == 0
    out = capsys.readouterr().out
    assert out.startswith("AN101 acks_zero: ") and "\nUse instead\n" in out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["AN999"], "error: unknown rule 'AN999'\nhint: did you mean "),
        (["acks_zeor"], "error: unknown rule 'acks_zeor'\nhint: did you mean AN101"),
        (["riks:loss"], "error: the search is wrong at character 1: there is no field riks\nhint: expected: risk"),
        (["key:acks", "severity:wrong"], "error: the search is wrong at character 19: "),
        (["--watch"], "error: --watch is not for rules"),
        (["key:acks", "--columns", "cod"], "error: --columns: unknown column 'cod'\nhint: did you mean code?"),
    ],
)
def test_what_is_wrong_is_said(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["rules", *words]) == 2
    assert capsys.readouterr().err.startswith(said)


def test_nothing_is_found(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["rules", "key:nothing"]) == 0
    assert capsys.readouterr().err == "no rule matches\n"
