"""``clientscope rules``: the search of every list, its formats, and a rule that is explained."""

from __future__ import annotations

import json

import pytest
from command_runs import Run
from golden import asked, is_golden, session

from udfs.rules.registry import EVERY_RULE


def names(clientscope: Run, *words: str) -> list[str]:
    return clientscope("rules", "-o", "name", *words).printed.split()


def test_all_are_listed_unless_something_is_searched_for(clientscope: Run) -> None:
    assert names(clientscope) == [rule.code for rule in EVERY_RULE]
    assert set(names(clientscope, "type:consumer", "-type:producer")) < {rule.code for rule in EVERY_RULE}
    assert "AN101" in names(clientscope, "acknowledgement") or "AN101" in names(clientscope, "acks"), "words are in its documentation"


def test_one_of_them_in_json_is_an_object(clientscope: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "140")
    one = json.loads(clientscope("rules", "AN108", "-o", "json").printed)
    assert (one["client_types"], one["limits"]) == (["producer", "consumer", "share-consumer"], {"minimum_ms": 10000})
    assert one["sources"]
    assert [rule["code"] for rule in json.loads(clientscope("rules", "code:AN101", "-o", "json").printed)] == ["AN101"]
    headings, first, *_ = clientscope("rules", "risk:loss").printed.splitlines()
    assert headings.split()[:4] == ["CODE", "SEVERITY", "RISKS", "NAME"] and first.split()[:4] == ["AN101", "high", "loss", "acks_zero"]


@pytest.mark.parametrize("name", ["AN101", "an101", "acks_zero", "acks-zero"])
def test_one_is_explained(name: str, clientscope: Run) -> None:
    out = clientscope("rules", name).printed
    assert out.startswith("AN101 acks_zero: a producer doesn't wait") and "https://github.com/confluentinc/librdkafka/issues/1467" in out
    assert [
        section for section in ("What", "Why", "Example", "Use instead", "Source", "Says", "Facts") if f"\n{section}\n" not in out
    ] == []


def test_the_search_of_every_list_and_what_is_wrong(clientscope: Run) -> None:
    assert is_golden(session(lambda *words: clientscope("rules", *words), asked(__file__, "searches.txt")), __file__, "searches.txt")
